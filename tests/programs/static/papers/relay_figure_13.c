// RELAY Figure 13: the size is read after the list's lock was given up.
#include <pthread.h>
struct area { struct area *next; void *addr; unsigned long size; };
struct area *vmlist;
struct area storage[2];
pthread_rwlock_t vmlist_lock = PTHREAD_RWLOCK_INITIALIZER;
unsigned long sum;
void *iounmap(void *addr) {
  struct area *p;
  pthread_rwlock_rdlock(&vmlist_lock);
  for (p = vmlist; p; p = p->next) {
    if (p->addr == addr) break;
  }
  pthread_rwlock_unlock(&vmlist_lock);
  if (p) return (void *)(p->size >> 12); // RACE!
  return 0;
}
void *remove_vm_area(void *addr) {
  struct area *t;
  pthread_rwlock_wrlock(&vmlist_lock);
  for (t = vmlist; t != 0; t = t->next) {
    if (t->addr == addr) break;
  }
  if (t) t->size -= 4096; // RACE!
  pthread_rwlock_unlock(&vmlist_lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  storage[0].next = &storage[1];
  vmlist = &storage[0];
  pthread_create(&t, 0, iounmap, 0);
  pthread_create(&u, 0, remove_vm_area, 0);
  return 0;
}
