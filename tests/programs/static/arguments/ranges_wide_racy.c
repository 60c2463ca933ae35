// Every second byte, but two bytes at once.
#include <pthread.h>
char bytes[100];
void *first(void *_) {
  for (int i = 0; i < 98; i += 2)
    *(short *)&bytes[i] = 1; // RACE!
  return 0;
}
void *second(void *_) {
  for (int i = 1; i < 98; i += 2)
    bytes[i] = 1; // RACE!
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
