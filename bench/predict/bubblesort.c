// bubble sort: threads swap neighbours under a lock each, but compare without it.
#include "program.h"
enum { LENGTH = 6, THREADS = 3 };
static int numbers[LENGTH] = {6, 5, 4, 3, 2, 1};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *pass(void *unused) {
  for (int i = 0; i + 1 < LENGTH; i++)
    if (numbers[i] > numbers[i + 1]) {
      pthread_mutex_lock(&lock);
      int kept = numbers[i];
      numbers[i] = numbers[i + 1];
      numbers[i + 1] = kept;
      pthread_mutex_unlock(&lock);
    }
  return unused;
}
int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    pthread_create(&threads[i], NULL, pass, NULL);
    usleep(3000);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  printf("%d\n", numbers[0]);
  return 0;
}
