// The object is used after it was let go.
#include <pthread.h>
#include <stdatomic.h>
struct object { atomic_int count; int value; } object = {2, 1};
void *user(void *unused) {
  if (atomic_fetch_sub(&object.count, 1) == 1) object.value = 0; // RACE!
  int seen = object.value; // RACE!
  (void)seen;
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, user, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
