// Two long loops over one array, each with elements of its own; then one that is ordered by a lock.
#include "program.h"
enum { SIZE = 200 };
static float cells[2 * SIZE];
static float mirror[SIZE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;
static void *first(void *unused) {
  for (int i = 0; i < 2 * SIZE; i += 2)
    cells[i] = (float)i; // NORACE
  pthread_mutex_lock(&lock);
  done = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}
static void *second(void *unused) {
  late();
  for (int i = 1; i < 2 * SIZE; i += 2)
    cells[i] = (float)i; // NORACE
  pthread_mutex_lock(&lock);
  int may_read = done;
  pthread_mutex_unlock(&lock);
  if (may_read)
    for (int i = 0; i < SIZE; i++)
      mirror[i] = cells[2 * i]; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  printf("%f\n", (double)mirror[SIZE - 1]);
  return 0;
}
