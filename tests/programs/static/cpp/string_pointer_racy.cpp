// A pointer into a string is written through while the string is copied.
#include <string>
#include <thread>
struct Record {
  int id = 1;
  std::string name = "nobody";
};
Record record;
int main() {
  char *first = record.name.data();
  std::thread a([first] { *first = 'N'; }); // RACE!
  std::string copy(record.name);            // RACE!
  record.id++;
  a.join();
  return copy.empty();
}
