#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Account {
    std::string owner;
    long balance = 0;
    std::mutex lock;
};

static std::vector<Account> accounts(4);
static std::mutex print_lock;
static long moved = 0;

static void deposit(Account &account, long amount) {
    std::lock_guard<std::mutex> guard(account.lock);
    account.balance += amount;
}

static void transfer(Account &from, Account &to, long amount) {
    std::scoped_lock both(from.lock, to.lock);
    from.balance -= amount;
    to.balance += amount;
    moved += amount;
}

static void work(int number) {
    for (int round = 0; round < 100; round++) {
        transfer(accounts[number], accounts[(number + 1) % 4], round);
        deposit(accounts[number], 1);
    }
    std::lock_guard<std::mutex> guard(print_lock);
    std::cout << "worker " << number << " is done" << std::endl;
}

int main() {
    for (std::size_t index = 0; index < accounts.size(); index++) {
        accounts[index].owner = "owner " + std::to_string(index);
        accounts[index].balance = 1000;
    }
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; number++)
        threads.emplace_back(work, number);
    for (auto &thread : threads)
        thread.join();
    for (auto &account : accounts)
        std::cout << account.owner << ": " << account.balance << "\n";
    std::cout << "moved " << moved << "\n";
    return 0;
}
