// Whoever reads from a pipe learns the address that was written to it.
#include <pthread.h>
#include <unistd.h>
int ends[2];
void *reader(void *arg) {
  int *p;
  if (read(ends[0], &p, sizeof p) == sizeof p) *p = 1; // RACE!
  return 0;
}
int main(void) {
  int x = 0;
  int *p = &x;
  pthread_t t;
  pipe(ends);
  pthread_create(&t, 0, reader, 0);
  write(ends[1], &p, sizeof p);
  x = 2; // RACE!
  pthread_join(t, 0);
  return x;
}
