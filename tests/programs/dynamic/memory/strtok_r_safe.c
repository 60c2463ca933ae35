// A string without separators is only read by strtok_r, so two threads may take it apart at once.
#include "../program.h"
char word[] = "word";
void *split(void *_) {
  char *rest;
  use((long)strtok_r(word, " ,", &rest)); // NORACE alarm(static): strtok_r is taken to write
  return 0;
}
int main(void) { both(split, split); }
