// Three hundred threads at once; two in the middle race.
#include "../program.h"
enum { N = 300 };
int values[N];
void *work(void *argument) {
  long me = (long)argument;
  values[me] = 1; // RACE!
  done();
  step(N);
  if (me == 280)
    use(values[270]); // RACE!
  return 0;
}
int main(void) {
  pthread_t threads[N];
  for (long i = 0; i < N; i++)
    threads[i] = start(work, (void *)i);
  for (int i = 0; i < N; i++)
    join(threads[i]);
}
