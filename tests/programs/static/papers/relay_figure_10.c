// RELAY Figure 10, threads that never run in parallel: RELAY warns of two copies of the thread,
// which its filter for warnings within one thread entry then hides. The race is reported and ranked
// lower for that reason.
#include <pthread.h>
#include <semaphore.h>
enum { NONE, MASTER };
int state;
sem_t startup;
void *sync_thread(void *unused) {
  state = MASTER; // NORACE alarm(static): that the state is checked before a start is not followed
  sem_post(&startup);
  return 0;
}
static int start_sync_thread(void) {
  pthread_t id;
  if (state == MASTER) return -17; // NORACE alarm(static): as above
  while (pthread_create(&id, 0, sync_thread, 0) != 0) ;
  sem_wait(&startup);
  return 0;
}
int main(void) {
  sem_init(&startup, 0, 0);
  start_sync_thread();
  start_sync_thread();
  return 0;
}
