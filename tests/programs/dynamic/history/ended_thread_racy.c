// The first thread ended, and 80 more came and went.
#include "../program.h"
int value;
void *first(void *_) {
  value = 1; // RACE!
  done();
  return 0;
}
void *nothing(void *_) { return 0; }
void *last(void *_) {
  value = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t early = start(first, NULL);
  step(1);
  for (int i = 0; i < 80; i++)
    join(start(nothing, NULL));
  pthread_t late = start(last, NULL);
  join(early);
  join(late);
}
