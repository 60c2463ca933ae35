// An address that is copied byte by byte is the same address.
#include <pthread.h>
char bytes[sizeof(int *)];
static void copy(char *to, const char *from, int length) {
  for (int i = 0; i < length; i++) to[i] = from[i];
}
void *worker(void *arg) {
  int *p;
  copy((char *)&p, bytes, sizeof p);
  *p = 1; // RACE!
  return 0;
}
int main(void) {
  int x = 0;
  int *p = &x;
  pthread_t t;
  copy(bytes, (char *)&p, sizeof p);
  pthread_create(&t, 0, worker, 0);
  x = 2; // RACE!
  pthread_join(t, 0);
  return x;
}
