// What library functions put where their last arguments point.
#include <arpa/inet.h>
#include <getopt.h>
#include <pthread.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
struct in_addr address;
socklen_t length;
struct timeval limit;
struct itimerval before;
char text[8];
void *work(void *arg) {
  char *words[] = {"a", "-x", 0}, buffer[8];
  struct sockaddr_storage from;
  struct itimerval none = {{0}};
  struct iovec list = {text, sizeof text};
  inet_aton("1.2.3.4", &address);                                // RACE!
  recvfrom(0, buffer, 8, 0, (struct sockaddr *)&from, &length); // RACE!
  select(0, 0, 0, 0, &limit);                                   // RACE!
  setitimer(ITIMER_REAL, &none, &before);                       // RACE!
  getopt(2, words, "x");                                        // RACE!
  writev(1, &list, 1);                                          // RACE!
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  int sum = address.s_addr;       // RACE!
  sum += length;                  // RACE!
  sum += limit.tv_sec;            // RACE!
  sum += before.it_value.tv_sec;  // RACE!
  sum += optind;                  // RACE!
  text[1] = 1;                    // RACE!
  pthread_join(thread, 0);
  return sum;
}
