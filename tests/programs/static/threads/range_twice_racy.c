// The same array gets handles twice: those of the first round are lost.
#include <pthread.h>
int x;
void *work(void *_) {
  x++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 4; i++)
      pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 4; i++)
    pthread_join(t[i], 0);
  x = 1; // RACE!
  return 0;
}
