// Each thread brings the memory that the answer goes to.
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>

static void *reader(void *name) {
  struct passwd entry, *found = 0;
  char text[512];
  if (getpwnam_r(name, &entry, text, sizeof text, &found) == 0 && found) // NORACE
    printf("%u\n", found->pw_uid); // NORACE
  return 0;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, reader, "root");
  pthread_create(&threads[1], 0, reader, "daemon");
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  return 0;
}
