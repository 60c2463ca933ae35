// What the annotated programs share: threads, and an order that no detector can see.
//
// step(n) waits until n calls of done() have happened. Both are locked instructions in inline
// assembly, which compile-time instrumentation does not touch; Valgrind's tools are asked to
// ignore the counter. So an order made with them decides the schedule without synchronising.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<valgrind/helgrind.h>)
#include <valgrind/helgrind.h>
#define HIDDEN_DRD_SUPPRESS VG_USERREQ_TOOL_BASE('D', 'R') + 2 // DRD's "start suppression"
#endif

static int hidden_counter;

static inline int hidden_add(int amount) {
  __asm__ volatile("lock xaddl %0, %1" : "+r"(amount), "+m"(hidden_counter));
  return amount;
}

static inline void done(void) { hidden_add(1); }

static inline void step(int number) {
  while (hidden_add(0) < number)
    syscall(SYS_sched_yield);
}

__attribute__((constructor)) static void hide_counter(void) {
#ifdef HIDDEN_DRD_SUPPRESS
  VALGRIND_HG_DISABLE_CHECKING(&hidden_counter, sizeof hidden_counter);
  VALGRIND_DO_CLIENT_REQUEST_STMT(HIDDEN_DRD_SUPPRESS, &hidden_counter, sizeof hidden_counter, 0, 0,
                                  0);
#endif
}

// Keeps a value alive, so that reading it is not optimised away.
static inline void use(long value) { __asm__ volatile("" : : "r"(value)); }

typedef void *(*thread_function)(void *);

static inline pthread_t start(thread_function function, void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, function, argument) != 0)
    abort();
  return thread;
}

static inline void join(pthread_t thread) { pthread_join(thread, NULL); }

// Runs two threads and joins them.
static inline void both(thread_function first, thread_function second) {
  pthread_t a = start(first, NULL), b = start(second, NULL);
  join(a);
  join(b);
}
