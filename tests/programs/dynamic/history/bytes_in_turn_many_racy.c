// As bytes_in_turn, with more bytes than a word has room for in place.
#include "../program.h"
_Alignas(8) unsigned char word[8][8];
pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static void end_segment(void) {
  pthread_mutex_lock(&own);
  pthread_mutex_unlock(&own);
}
void *first(void *_) {
  for (int again = 0; again < 8; again++) {
    for (int byte = 0; byte < 8; byte++) {
      word[again][byte] = 1; // RACE!
      end_segment();
    }
    word[again][again] = 2; // RACE!
    end_segment();
  }
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  use(word[0][0]); // RACE!
  use(word[1][1]); // RACE!
  use(word[2][2]); // RACE!
  use(word[3][3]); // RACE!
  use(word[4][4]); // RACE!
  use(word[5][5]); // RACE!
  use(word[6][6]); // RACE!
  use(word[7][7]); // RACE!
  use(word[1][0]); // RACE!
  use(word[2][1]); // RACE!
  use(word[3][2]); // RACE!
  use(word[4][3]); // RACE!
  use(word[5][4]); // RACE!
  use(word[6][5]); // RACE!
  use(word[7][6]); // RACE!
  use(word[0][7]); // RACE!
  use(word[4][0]); // RACE!
  use(word[5][1]); // RACE!
  use(word[6][2]); // RACE!
  use(word[7][3]); // RACE!
  use(word[0][4]); // RACE!
  use(word[1][5]); // RACE!
  use(word[2][6]); // RACE!
  use(word[3][7]); // RACE!
  return 0;
}
int main(void) { both(first, second); }
