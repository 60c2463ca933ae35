// The same, when the thread has ended.
#include <fstream>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <thread>
std::ifstream input;
std::ostringstream output;
std::locale place;
std::runtime_error failure("none");
static void work() {
  input.clear();                         // NORACE
  output.width(5);                       // NORACE
  place = std::locale("C");              // NORACE
  failure = std::runtime_error("other"); // NORACE
}
int main() {
  std::thread thread(work);
  thread.join();
  bool good = input.good();        // NORACE
  output.width(2);                 // NORACE
  std::locale copy(place);         // NORACE
  const char *text = failure.what(); // NORACE
  return good && text;
}
