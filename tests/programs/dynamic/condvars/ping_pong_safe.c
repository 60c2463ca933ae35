// Two threads hand a buffer back and forth.
#include "../program.h"
int buffer, turn;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *player(void *argument) {
  int me = (int)(long)argument;
  for (int i = 0; i < 20; i++) {
    pthread_mutex_lock(&lock);
    while (turn != me) // NORACE
      pthread_cond_wait(&cv, &lock);
    pthread_mutex_unlock(&lock);
    buffer++; // NORACE
    pthread_mutex_lock(&lock);
    turn = !me; // NORACE
    pthread_cond_signal(&cv);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
int main(void) {
  pthread_t a = start(player, (void *)0), b = start(player, (void *)1);
  join(a);
  join(b);
}
