// With a separator in the string, each thread overwrites it.
#include "../program.h"
char words[] = "two words";
void *split(void *_) {
  char *rest;
  use((long)strtok_r(words, " ,", &rest)); // RACE!
  return 0;
}
int main(void) { both(split, split); }
