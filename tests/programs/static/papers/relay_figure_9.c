// RELAY Figure 9, unsharing: taken off the shared list, then written to.
#include <pthread.h>
struct entry { struct entry *next; void *virtual; };
struct entry *pool, *used;
pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER, used_lock = PTHREAD_MUTEX_INITIALIZER;
struct entry storage[8];
void *set_page_address(void *virtual) {
  pthread_mutex_lock(&pool_lock);
  struct entry *pam = pool;
  if (pam) pool = pam->next;
  pthread_mutex_unlock(&pool_lock);
  if (!pam) return 0;
  pam->virtual = virtual; // NORACE alarm(static): removal from the list is not followed
  pthread_mutex_lock(&used_lock);
  pam->next = used;
  used = pam;
  pthread_mutex_unlock(&used_lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  for (int i = 0; i < 8; i++) {
    storage[i].next = pool;
    pool = &storage[i];
  }
  pthread_create(&t, 0, set_page_address, 0);
  pthread_create(&u, 0, set_page_address, 0);
  return 0;
}
