// A string's length is shared like any variable, although the library's code changes it.
#include "../program.h"
#include <string>
std::string text = "long enough to live on the heap, not inside";
void *changer(void *) {
  text += " the string"; // RACE!
  done();
  return 0;
}
void *reader(void *) {
  step(1);
  use(text.size()); // RACE!
  return 0;
}
int main() { both(changer, reader); }
