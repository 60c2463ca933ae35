// Two streams write through one buffer of the program's own; the library calls its function.
#include <ostream>
#include <streambuf>
#include <thread>
int written;
struct Counting : std::streambuf {
  int overflow(int character) override {
    written++; // RACE! miss(static): called by the library's streams
    return character;
  }
};
int main() {
  Counting one, other;
  std::thread a([&one] {
    std::ostream out(&one);
    out << "first";
  });
  std::thread b([&other] {
    std::ostream out(&other);
    out << "second";
  });
  a.join();
  b.join();
}
