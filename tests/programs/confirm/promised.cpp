// A promise hands the value over.
// verdict(1): unproved
#include <future>
#include <thread>

static int value;

int main() {
    std::promise<void> ready;
    std::future<void> wait = ready.get_future();
    std::thread worker([&ready] {
        value = 3; // NORACE pair(1 write)
        ready.set_value();
    });
    wait.get();
    int seen = value; // NORACE pair(1 read)
    worker.join();
    return seen == 3 ? 0 : 1;
}
