// A semaphore of System V hands over data; who waits until nothing is left of another comes after who took it.
#include "../program.h"
#include <sys/ipc.h>
#include <sys/sem.h>
int data, more, set;
static void change(int number, int amount) {
  struct sembuf operation = {number, amount, 0};
  if (semop(set, &operation, 1))
    abort();
}
void *poster(void *_) {
  data = 1; // NORACE
  change(0, 1);
  change(1, 0);
  more++; // NORACE
  return 0;
}
void *taker(void *_) {
  change(0, -1);
  data++;   // NORACE
  more = 1; // NORACE
  change(1, -1);
  return 0;
}
int main(void) {
  set = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
  if (set < 0)
    return 1;
  change(1, 1);
  both(poster, taker);
  semctl(set, 0, IPC_RMID);
}
