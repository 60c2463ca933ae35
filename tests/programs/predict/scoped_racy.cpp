// The other side of the test writes under another lock.
#include "program.h"
#include <mutex>
#include <thread>
class Account {
public:
  void pay(int sum) {
    std::lock_guard<std::mutex> hold(lock);
    balance += sum; // RACE!
    open = true;
  }
  void close() {
    bool was;
    {
      std::lock_guard<std::mutex> hold(lock);
      was = open;
    }
    if (!was) {
      std::lock_guard<std::mutex> hold(other);
      balance = 0; // RACE!
    }
  }

private:
  std::mutex lock, other;
  int balance = 1;
  bool open = false;
};
static Account account;
int main() {
  prepare();
  std::thread first([] {
    account.pay(5);
    finished();
  });
  std::thread second([] {
    late();
    account.close();
  });
  first.join();
  second.join();
}
