// A message in a queue with a name hands over data, whichever descriptor it is sent by.
#include "../program.h"
#include <fcntl.h>
#include <mqueue.h>
int data;
mqd_t in, out;
void *sender(void *_) {
  data = 1; // NORACE
  if (mq_send(in, "full", 4, 0))
    abort();
  return 0;
}
void *receiver(void *_) {
  char text[16];
  unsigned priority;
  if (mq_receive(out, text, sizeof text, &priority) != 4)
    abort();
  data += text[0]; // NORACE
  return 0;
}
int main(void) {
  struct mq_attr room = {.mq_maxmsg = 4, .mq_msgsize = 16};
  char name[32];
  snprintf(name, sizeof name, "/racewarden-%d", getpid());
  in = mq_open(name, O_CREAT | O_WRONLY, 0600, &room);
  out = mq_open(name, O_RDONLY);
  mq_unlink(name);
  if (in == (mqd_t)-1 || out == (mqd_t)-1)
    return 0;
  both(sender, receiver);
}
