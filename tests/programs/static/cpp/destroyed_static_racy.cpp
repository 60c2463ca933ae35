// The object is destroyed after main while the detached thread still uses it.
#include <thread>
struct Log {
  int lines = 0;
  ~Log() { lines = -1; } // RACE!
};
Log log;
int main() {
  std::thread([] { log.lines++; }).detach(); // RACE!
}
