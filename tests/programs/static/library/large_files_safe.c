// The names that functions have where files may be large do what the plain ones do.
#define _FILE_OFFSET_BITS 64
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long blocks;

static void *measure(void *path) {
  struct statfs system;
  struct statvfs volume;
  struct stat file;
  off_t from = 0;
  if (statfs(path, &system) || statvfs(path, &volume) || stat(path, &file))
    return 0;
  sendfile(-1, -1, &from, 0);
  pthread_mutex_lock(&lock);
  blocks += system.f_blocks + volume.f_blocks + (unsigned long)file.st_blocks; // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, measure, "/tmp");
  measure("/");
  pthread_join(thread, 0);
  return blocks == 0; // NORACE
}
