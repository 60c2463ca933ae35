// flags: -std=c++20
// Three threads take turns.
#include <semaphore>
#include <thread>
static std::binary_semaphore first(1), second(0), third(0);
static int turn;
int main() {
    std::thread a([] { for (int i = 0; i < 5; i++) { first.acquire(); turn++; second.release(); } });  // NORACE
    std::thread b([] { for (int i = 0; i < 5; i++) { second.acquire(); turn++; third.release(); } });  // NORACE
    std::thread c([] { for (int i = 0; i < 5; i++) { third.acquire(); turn++; first.release(); } });   // NORACE
    a.join();
    b.join();
    c.join();
    return turn;
}
