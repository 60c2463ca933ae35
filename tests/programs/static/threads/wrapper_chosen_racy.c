// The handle that is returned is one of two, and the other thread goes on.
#include <pthread.h>
static int data;
static void *worker(void *unused) {
  data++; // RACE!
  return unused;
}
static pthread_t start(int which) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  return which ? a : b;
}
int main(int argc, char **argv) {
  pthread_join(start(argc), 0);
  return data; // RACE!
}
