// Nobody knows the border.
#include <pthread.h>
int numbers[100];
int border = 60;
void *first(void *_) {
  for (int i = 0; i < border; i++)
    numbers[i] = i; // RACE!
  return 0;
}
void *second(void *_) {
  for (int i = 50; i < 100; i++)
    numbers[i] = i; // RACE!
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
