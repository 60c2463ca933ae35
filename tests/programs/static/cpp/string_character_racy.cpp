// One character of a string is changed while another thread looks for it.
#include <string>
#include <thread>
std::string text = "somewhere in the middle of a string that is on the heap";
int main() {
  std::thread a([] { text[40] = 'x'; });       // RACE!
  bool found = text.find('x') != text.npos;    // RACE!
  a.join();
  const char *raw = text.c_str();
  return raw[40] == 'x' && found; // NORACE
}
