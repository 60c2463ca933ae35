// The second array is the first one.
#include <pthread.h>
int numbers[100];
int *other = numbers;
void *first(void *_) {
  for (int i = 0; i < 50; i++)
    numbers[i] = i; // RACE!
  return 0;
}
void *second(void *_) {
  for (int i = 50; i < 100; i++)
    other[i - 50] = i; // RACE!
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
