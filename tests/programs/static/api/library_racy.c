// api
#include <pthread.h>
static int calls;
void record(void) {
  calls++; // RACE!
}
