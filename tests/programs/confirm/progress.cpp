// The main thread shows how far the worker has come; a stale number does no harm.
// verdict(1): confirmed
#include <thread>

static int done;

int main() {
    std::thread worker([] {
        for (int i = 0; i < 50; i++)
            done = i + 1; // RACE! pair(1 write)
    });
    int shown = done; // RACE! pair(1 read)
    worker.join();
    return shown >= 0 ? 0 : 1;
}
