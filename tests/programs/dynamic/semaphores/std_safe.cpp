// std::counting_semaphore and std::binary_semaphore.
#include "../program.h"
#include <semaphore>
#include <thread>
int data;
std::binary_semaphore ready(0);
std::counting_semaphore<4> permit(1);
int main() {
  std::thread other([] {
    ready.acquire();
    data++; // NORACE
    permit.acquire();
    data++; // NORACE
    permit.release();
  });
  data = 1; // NORACE
  ready.release();
  other.join();
}
