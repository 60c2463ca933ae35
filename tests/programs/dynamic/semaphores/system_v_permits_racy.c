// Two permits let both in.
#include "../program.h"
#include <sys/ipc.h>
#include <sys/sem.h>
int data, set;
static void change(int amount) {
  struct sembuf operation = {0, amount, 0};
  if (semop(set, &operation, 1))
    abort();
}
void *first(void *_) {
  change(-1);
  data = 1; // RACE!
  done();
  step(2);
  change(1);
  return 0;
}
void *second(void *_) {
  step(1);
  change(-1);
  data++; // RACE!
  done();
  change(1);
  return 0;
}
int main(void) {
  set = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
  if (set < 0)
    return 1;
  change(2);
  both(first, second);
  semctl(set, 0, IPC_RMID);
}
