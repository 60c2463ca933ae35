// Each thread lets go twice.
#include <pthread.h>
#include <stdatomic.h>
struct object { atomic_int count; int value; } object = {4, 1};
void *user(void *unused) {
  for (int i = 0; i < 2; i++) {
    int seen = object.value; // RACE!
    if (atomic_fetch_sub(&object.count, 1) == 3) object.value = seen - 1; // RACE!
  }
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, user, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
