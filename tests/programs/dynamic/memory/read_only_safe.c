// Many readers of what was written before they began.
#include "../program.h"
int table[100];
void *reader(void *_) {
  for (int i = 0; i < 100; i++)
    use(table[i]); // NORACE
  return 0;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 100; i++)
    table[i] = i; // NORACE
  for (int i = 0; i < 4; i++)
    threads[i] = start(reader, NULL);
  for (int i = 0; i < 4; i++)
    join(threads[i]);
  table[0] = 1; // NORACE
}
