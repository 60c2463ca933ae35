#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char text[32];
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *one(void *arg) {
  snprintf(text, sizeof text, "%d", 3); // RACE!
  return 0;
}
void *two(void *arg) {
  pthread_mutex_lock(&m);
  puts(text); // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
