#include <pthread.h>
union word { int whole; char bytes[4]; };
union word shared;
void *worker(void *unused) {
  shared.whole = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  shared.bytes[2] = 1; // RACE!
  return 0;
}
