// A precision keeps printf away from the rest of the string.
#include "../program.h"
char text[] = "some words";
void *printer(void *_) {
  fprintf(stderr, "%.*s %.2s\n", 4, text, text); // NORACE
  done();
  return 0;
}
void *changer(void *_) {
  step(1);
  text[6] = '-'; // NORACE
  return 0;
}
int main(void) { both(printer, changer); }
