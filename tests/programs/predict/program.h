// What the programs for `predict` share. In the recorded run, and only there, late() waits until
// the other thread is done. A pipe tells it so by system calls that are made directly: no memory is
// shared and nothing that the recorder knows takes place, so every other schedule stays possible.
#pragma once
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READ_END = 200, WRITE_END = 201 };

static inline int is_recorded(void) { return getenv("RACEWARDEN_RECORD") != NULL; }

static inline void prepare(void) {
  int ends[2];
  if (is_recorded() && pipe(ends) == 0) {
    dup2(ends[0], READ_END);
    dup2(ends[1], WRITE_END);
    syscall(SYS_close, ends[0]);
    syscall(SYS_close, ends[1]);
  }
}

static inline void finished(void) {
  if (is_recorded())
    syscall(SYS_close, WRITE_END);
}

static inline void late(void) {
  struct pollfd other = {READ_END, 0, 0};
  if (is_recorded())
    syscall(SYS_poll, &other, 1, 20000);
}

static void *lead(void *routine) {
  void *result = ((void *(*)(void *))routine)(NULL);
  finished();
  return result;
}

static inline void both(void *(*first)(void *), void *(*second)(void *)) {
  pthread_t a, b;
  prepare();
  pthread_create(&a, NULL, lead, (void *)first);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
