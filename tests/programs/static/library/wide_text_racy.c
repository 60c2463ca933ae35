// Wide text that one thread lengthens while another measures it.
#include <pthread.h>
#include <wchar.h>

static wchar_t line[64];

static void *writer(void *arg) {
  wcscat(line, L"more"); // RACE!
  return arg;
}

int main(void) {
  pthread_t thread;
  wcscpy(line, L"some"); // NORACE
  pthread_create(&thread, 0, writer, 0);
  size_t length = wcslen(line); // RACE!
  pthread_join(thread, 0);
  return (int)(length + wcsnlen(line, 64)); // NORACE
}
