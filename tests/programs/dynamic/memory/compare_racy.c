// Rarer readers of memory: bcmp, memrchr, strspn, strtol.
// FLAGS: -O1
#include "../program.h"
#include <strings.h>
char a[16] = "1234", b[16] = "1234", c[16] = "1234";
volatile long result;
void *reader(void *_) {
  result = memcmp(a, "1234567", 5) == 0;   // RACE!
  result = (long)memrchr(b, '1', 4);       // RACE!
  result = strtol(c, NULL, 10);            // RACE!
  done();
  return 0;
}
void *writer(void *_) {
  step(1);
  a[1] = 'x'; // RACE!
  b[3] = 'x'; // RACE!
  c[2] = 'x'; // RACE!
  return 0;
}
int main(void) { both(reader, writer); }
