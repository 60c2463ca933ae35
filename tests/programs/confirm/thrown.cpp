// The worker throws when it comes too early, and nobody catches that.
// verdict(1): harmful crash
#include <stdexcept>
#include <thread>
#include <unistd.h>

static bool ready;

static void work() {
    usleep(60000);
    bool go = ready; // RACE! pair(1 read)
    if (!go)
        throw std::logic_error("not ready");
}

int main() {
    std::thread worker(work);
    ready = true; // RACE! pair(1 write)
    worker.join();
    return 0;
}
