// A write of whole words, then single bytes read by many places in a later segment: the old write and
// the new reads all count.
#include "../program.h"
#include <semaphore.h>
_Alignas(8) char word[8];
sem_t passed;
void *first(void *_) {
  memset(word, 1, sizeof word); // RACE!
  sem_post(&passed);
  use(word[0]); // NORACE
  use(word[1]); // RACE!
  use(word[2]); // NORACE
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  word[1] = 2;  // RACE!
  use(word[7]); // RACE!
  return 0;
}
int main(void) {
  sem_init(&passed, 0, 0);
  both(first, second);
}
