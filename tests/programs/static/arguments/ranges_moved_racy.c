// The counter moves in the loop, too.
#include <pthread.h>
int numbers[100] = {[99] = 1};
void *first(void *_) {
  for (int i = 0; i < 50; i++) {
    if (numbers[99])
      i += 10;
    numbers[i] = i; // RACE!
  }
  return 0;
}
void *second(void *_) {
  numbers[54] = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
