// What the programs for `predict` share. late() lets the other thread go first in the recorded run
// without ordering anything: every other schedule stays possible.
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void late(void) { usleep(30000); }

static inline void both(void *(*first)(void *), void *(*second)(void *)) {
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
