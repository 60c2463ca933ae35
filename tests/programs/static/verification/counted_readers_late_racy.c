// The reader reads when it has said that it has.
extern void abort(void);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
typedef unsigned long pthread_t;
extern int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
void assume_abort_if_not(int condition) {
  if (!condition) abort();
}
int writing, reading, data;
void __VERIFIER_atomic_write_begins(void) {
  assume_abort_if_not(writing == 0 && reading == 0);
  writing = 1;
}
void __VERIFIER_atomic_write_ends(void) { writing = 0; }
void __VERIFIER_atomic_read_begins(void) {
  assume_abort_if_not(writing == 0);
  reading = reading + 1;
}
void __VERIFIER_atomic_read_ends(void) { reading = reading - 1; }
void *writer(void *argument) {
  __VERIFIER_atomic_write_begins();
  data = 3; // RACE!
  __VERIFIER_atomic_write_ends();
  return 0;
}
void *reader(void *argument) {
  for (int i = 0; i < 2; i++) {
    __VERIFIER_atomic_read_begins();
    __VERIFIER_atomic_read_ends();
    if (data == 5) abort(); // RACE!
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  return 0;
}
