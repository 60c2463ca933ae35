// What many places did to a word's bytes goes with the block, also when the next owner of the memory
// is another thread and many places touch it again.
#include "../program.h"
void fill(char *word) {
  word[0] = 1;  // NORACE
  use(word[1]); // NORACE
  word[2] = 1;  // NORACE
  use(word[3]); // NORACE
}
void *owner(void *_) {
  for (int round = 0; round < 200; round++) {
    char *word = malloc(8);
    fill(word); // NORACE
    memset(word, 0, 8); // NORACE
    fill(word); // NORACE
    free(word);
  }
  return 0;
}
int main(void) {
  both(owner, owner);
  both(owner, owner);
}
