// flags: -std=c++20
// Whoever leaves lets two in.
#include <semaphore>
#include <thread>
static std::counting_semaphore<8> gate(1);
static int count;
static void visit() {
    gate.acquire();
    count++; // RACE!
    gate.release(2);
}
int main() {
    std::thread a(visit), b(visit), c(visit);
    a.join();
    b.join();
    c.join();
    return count;
}
