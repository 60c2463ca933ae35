// Each way either detaches or joins; only who has joined goes on to write.
#include <pthread.h>
int x;
void *work(void *argument) {
  x = 1; // NORACE
  return 0;
}
int main(int count, char **arguments) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  if (count > 1) {
    pthread_detach(t);
    pthread_exit(0);
  }
  pthread_join(t, 0);
  x = 2; // NORACE
  return 0;
}
