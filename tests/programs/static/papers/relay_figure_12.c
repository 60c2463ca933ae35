// RELAY Figure 12: each filter leaves a larger share of real races. What a filter speaks of is
// ranked below the race that none does.
#include <pthread.h>
#include <stdlib.h>
int real, booted, same;
struct box { int v; } *shown;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *one(void *unused) {
  real = 1;   // RACE!
  booted = 1; // RACE!
  return 0;
}
void *two(void *unused) {
  real = 2; // RACE!
  same = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, one, 0);
  for (int i = 0; i < 3; i++) pthread_create(&t, 0, two, 0);
  booted = 2; // RACE!
  return 0;
}
