// Sources of this kind are preprocessed: every declaration is their own.
typedef unsigned long int pthread_t;
union pthread_attr_t { char __size[56]; long int __align; };
typedef union pthread_attr_t pthread_attr_t;
typedef union { struct { int lock; unsigned count; int owner; } data; char size[40]; long align; } pthread_mutex_t;
typedef union { char size[4]; int align; } pthread_mutexattr_t;
extern int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
extern int pthread_join(pthread_t, void **);
extern int pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *);
extern int pthread_mutex_lock(pthread_mutex_t *);
extern int pthread_mutex_unlock(pthread_mutex_t *);
extern void __assert_fail(const char *, const char *, unsigned int, const char *) __attribute__((__noreturn__));
extern int printf(const char *, ...);
extern _Bool __VERIFIER_nondet_bool(void);

static pthread_mutex_t mutex;
static unsigned int total;

static void *thread(void *unused) {
  for (unsigned i = 0; i < 3; i++) {
    if (!__VERIFIER_nondet_bool()) continue;
    total = total + i; // RACE!
  }
  return (void *)0;
}

int main(void) {
  pthread_t id1, id2;
  pthread_mutex_init(&mutex, (void *)0);
  pthread_create(&id1, (void *)0, thread, (void *)0);
  pthread_create(&id2, (void *)0, thread, (void *)0);
  pthread_join(id1, (void *)0);
  pthread_join(id2, (void *)0);
  if (total > 6) __assert_fail("total <= 6", "a.c", 30, "main"); // NORACE
  printf("%u\n", total); // NORACE
  return 0;
}
