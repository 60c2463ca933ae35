// The counter comes round: the first thread's number is the third one's as well.
#include <thread>
#include <vector>

static int hits[2];

int main() {
    std::vector<std::thread> threads;
    unsigned number = 0;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([number] {
            if (number < 2)
                hits[number]++; // RACE!
        });
        number += 0x80000000u;
    }
    for (std::thread &thread : threads)
        thread.join();
    return 0;
}
