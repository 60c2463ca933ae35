// The same by pthread_exit.
#include <pthread.h>
int x;
pthread_t first;
void *one(void *unused) {
  x = 1; // RACE!
  return 0;
}
void *two(void *hurry) {
  if (hurry)
    pthread_exit(0);
  pthread_join(first, 0);
  return 0;
}
int main(int count, char **words) {
  pthread_t t;
  pthread_create(&first, 0, one, 0);
  pthread_create(&t, 0, two, count > 1 ? words : 0);
  pthread_join(t, 0);
  return x; // RACE!
}
