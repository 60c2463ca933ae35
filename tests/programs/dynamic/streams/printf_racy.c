// printf reads the string that %s stands for.
#include "../program.h"
char text[] = "some words";
void *printer(void *_) {
  fprintf(stderr, "%d %.3f %s\n", 1, 2.0, text); // RACE!
  done();
  return 0;
}
void *changer(void *_) {
  step(1);
  text[3] = '-'; // RACE!
  return 0;
}
int main(void) { both(printer, changer); }
