// airline: sellers stop when the plane is full, but look at the number without a lock.
#include "program.h"
enum { SEATS = 4, SELLERS = 5 };
static int sold, stop;
static void *seller(void *unused) {
  if (!stop) {
    sold = sold + 1;
    if (sold > SEATS - 1)
      stop = 1;
  }
  return unused;
}
int main(void) {
  pthread_t threads[SELLERS];
  for (int i = 0; i < SELLERS; i++) {
    pthread_create(&threads[i], NULL, seller, NULL);
    usleep(3000);
  }
  for (int i = 0; i < SELLERS; i++)
    pthread_join(threads[i], NULL);
  printf("%d of %d\n", sold, SEATS);
  return 0;
}
