// How a stream stands and what it is set to is part of the stream.
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
  input.clear();                         // RACE!
  output.width(5);                       // RACE!
  place = std::locale("C");              // RACE!
  failure = std::runtime_error("other"); // RACE!
}
int main() {
  std::thread thread(work);
  bool good = input.good();        // RACE!
  output.width(2);                 // RACE!
  std::locale copy(place);         // RACE!
  const char *text = failure.what(); // RACE!
  thread.join();
  return good && text;
}
