// The object is published before it is filled in; readers look without the lock.
// verdict(1): harmful assertion
#include <cassert>
#include <mutex>
#include <thread>
#include <unistd.h>

struct Settings {
    int limit = 0; // RACE!
};

static Settings *settings;
static std::mutex guard;

static void load() {
    std::lock_guard<std::mutex> hold(guard);
    settings = new Settings; // RACE! pair(1 write)
    settings->limit = 10; // RACE!
}

static void use() {
    Settings *mine = settings; // RACE! pair(1 read)
    if (mine)
        assert(mine->limit == 10); // RACE!
}

int main() {
    std::thread loader(load);
    usleep(60000);
    std::thread user(use);
    loader.join();
    user.join();
    delete settings;
    return 0;
}
