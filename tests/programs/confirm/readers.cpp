// Readers share the lock; the writer has it alone. One reader forgets it.
// verdict(1): likely-false
// verdict(2): confirmed
#include <mutex>
#include <shared_mutex>
#include <thread>

static int setting;
static std::shared_mutex guard;

static int careful() {
    std::shared_lock<std::shared_mutex> hold(guard);
    return setting; // NORACE pair(1 read)
}

static int careless() {
    return setting; // RACE! pair(2 read)
}

int main() {
    std::thread writer([] {
        std::unique_lock<std::shared_mutex> hold(guard);
        setting = 1; // RACE! pair(1 write) pair(2 write)
    });
    std::thread first([] { careful(); });
    std::thread second([] { careless(); });
    writer.join();
    first.join();
    second.join();
    return 0;
}
