// The object is published under the lock when it is ready, and looked at under the lock.
// verdict(1): unproved
#include <cassert>
#include <mutex>
#include <thread>

struct Settings {
    int limit = 0;
};

static Settings *settings;
static std::mutex guard;

static void load() {
    Settings *fresh = new Settings;
    fresh->limit = 10;
    std::lock_guard<std::mutex> hold(guard);
    settings = fresh; // NORACE pair(1 write)
}

static void use() {
    std::lock_guard<std::mutex> hold(guard);
    if (settings) // NORACE pair(1 read)
        assert(settings->limit == 10);
}

int main() {
    std::thread loader(load);
    std::thread user(use);
    loader.join();
    user.join();
    delete settings;
    return 0;
}
