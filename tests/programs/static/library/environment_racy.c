// One thread reads the environment while another changes it, and what it was given may be overwritten.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *reader(void *_) {
  const char *home = getenv("HOME"); // RACE!
  if (home)
    puts(home); // RACE!
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, reader, 0);
  setenv("HOME", "/", 1); // RACE!
  pthread_join(thread, 0);
}
