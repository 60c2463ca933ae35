// The reference count is atomic: both threads come to it at one instant, and that is no data race.
// verdict(1): unproved
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> references{2};
static std::atomic<int> dropped{0};

static void drop() {
    if (__atomic_fetch_sub(reinterpret_cast<int *>(&references), 1, __ATOMIC_ACQ_REL) == 1) // NORACE pair(1 write) pair(1 write)
        dropped = 1;
}

int main() {
    std::thread first(drop), second(drop);
    first.join();
    second.join();
    assert(dropped);
    return 0;
}
