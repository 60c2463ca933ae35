// localtime_r writes where it is told.
#include "../program.h"
#include <time.h>
void *worker(void *_) {
  time_t now = 0;
  struct tm parts;
  localtime_r(&now, &parts); // NORACE
  use(parts.tm_hour);
  return 0;
}
int main(void) { both(worker, worker); }
