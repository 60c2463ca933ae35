// flags: -std=c++20
// The third turn lets two in.
#include <semaphore>
#include <thread>
static std::counting_semaphore<8> first(1), second(0), third(0);
static int turn;
int main() {
    std::thread a([] { for (int i = 0; i < 5; i++) { first.acquire(); turn++; second.release(); } });  // RACE!
    std::thread b([] { for (int i = 0; i < 5; i++) { second.acquire(); turn++; third.release(2); } }); // RACE!
    std::thread c([] { for (int i = 0; i < 5; i++) { third.acquire(); turn++; first.release(); } });   // RACE!
    a.join();
    b.join();
    c.join();
    return turn;
}
