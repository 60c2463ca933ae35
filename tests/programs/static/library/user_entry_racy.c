// What getpwnam answers is in memory that the next call of any thread writes.
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>

static void *reader(void *name) {
  struct passwd *entry = getpwnam(name); // RACE!
  if (entry)
    printf("%u\n", entry->pw_uid); // RACE!
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, reader, "root");
  struct passwd *own = getpwuid(1); // RACE!
  unsigned shell = own ? own->pw_gid : 0; // RACE!
  pthread_join(thread, 0);
  return (int)shell;
}
