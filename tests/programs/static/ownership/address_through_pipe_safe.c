#include <pthread.h>
#include <unistd.h>
int ends[2];
void *reader(void *arg) {
  int *p;
  if (read(ends[0], &p, sizeof p) == sizeof p) *p = 1; // NORACE
  return 0;
}
int main(void) {
  int x = 0; // NORACE
  int *p = &x;
  pthread_t t;
  pipe(ends);
  pthread_create(&t, 0, reader, 0);
  write(ends[1], &p, sizeof p);
  pthread_join(t, 0);
  return x; // NORACE
}
