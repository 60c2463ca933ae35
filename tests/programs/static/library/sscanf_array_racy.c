// A string may fill the array to its end.
#include <pthread.h>
#include <stdio.h>
char word[16];
const char *input = "0123456789";
void *one(void *unused) {
  sscanf(input, "%9s", word); // RACE!
  return 0;
}
void *two(void *unused) {
  word[9] = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
