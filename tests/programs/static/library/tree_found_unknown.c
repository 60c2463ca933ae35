// What is found again in the library's tree is not followed, and a note says so.
#include <pthread.h>
#include <search.h>
int compare(const void *a, const void *b) { return 0; }
void *root;
int key;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *work(void *arg) {
  int wanted = 0;
  pthread_mutex_lock(&lock);
  int **found = tfind(&wanted, &root, compare);
  pthread_mutex_unlock(&lock);
  if (found)
    ++**found; // RACE! miss(static): what the library keeps is not followed
  return 0;
}
int main(void) {
  pthread_t a, b;
  tsearch(&key, &root, compare);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
