// The bytes of a word are written in turn, each in a segment of its own, so that each is remembered by
// itself. Then one is written again: whichever it is, the others' writes are not forgotten.
#include "../program.h"
_Alignas(8) unsigned char word[4][8];
pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static void end_segment(void) {
  pthread_mutex_lock(&own);
  pthread_mutex_unlock(&own);
}
void *first(void *_) {
  for (int again = 0; again < 4; again++) {
    word[again][0] = 1; // RACE!
    end_segment();
    word[again][1] = 1; // RACE!
    end_segment();
    word[again][2] = 1; // RACE!
    end_segment();
    word[again][3] = 1; // RACE!
    end_segment();
    word[again][again] = 2; // RACE!
    end_segment();
  }
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  use(word[0][0]); // RACE!
  use(word[0][1]); // RACE!
  use(word[0][2]); // RACE!
  use(word[0][3]); // RACE!
  use(word[1][0]); // RACE!
  use(word[1][1]); // RACE!
  use(word[1][2]); // RACE!
  use(word[1][3]); // RACE!
  use(word[2][0]); // RACE!
  use(word[2][1]); // RACE!
  use(word[2][2]); // RACE!
  use(word[2][3]); // RACE!
  use(word[3][0]); // RACE!
  use(word[3][1]); // RACE!
  use(word[3][2]); // RACE!
  use(word[3][3]); // RACE!
  return 0;
}
int main(void) { both(first, second); }
