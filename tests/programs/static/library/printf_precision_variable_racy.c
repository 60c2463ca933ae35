// How far printf reads is not known here.
#include <pthread.h>
#include <stdio.h>
char text[] = "some words";
int most = 9;
void *one(void *unused) {
  printf("%.*s\n", most, text); // RACE!
  return 0;
}
void *two(void *unused) {
  text[6] = '-'; // RACE!
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
