// std::lock takes the mutexes of guards that hold none yet.
#include <functional>
#include <mutex>
#include <thread>
struct Account {
  std::mutex mutex;
  int balance = 0;
};
void transfer(Account &from, Account &to, int amount) {
  std::unique_lock<std::mutex> one(from.mutex, std::defer_lock);
  std::unique_lock<std::mutex> other(to.mutex, std::defer_lock);
  std::lock(one, other);
  from.balance -= amount; // NORACE
  to.balance += amount; // NORACE
}
int main() {
  Account a, b;
  std::thread t(transfer, std::ref(a), std::ref(b), 3), u(transfer, std::ref(b), std::ref(a), 4);
  t.join();
  u.join();
  return a.balance;
}
