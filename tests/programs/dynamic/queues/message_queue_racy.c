// The data is written after the message was sent.
#include "../program.h"
#include <sys/ipc.h>
#include <sys/msg.h>
struct message {
  long kind;
  char text[8];
};
int data, queue;
void *sender(void *_) {
  struct message message = {1, "full"};
  if (msgsnd(queue, &message, sizeof message.text, 0))
    abort();
  data = 1; // RACE!
  done();
  return 0;
}
void *receiver(void *_) {
  struct message message;
  if (msgrcv(queue, &message, sizeof message.text, 0, 0) < 0)
    abort();
  step(1);
  data++; // RACE!
  return 0;
}
int main(void) {
  queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  if (queue < 0)
    return 1;
  both(sender, receiver);
  msgctl(queue, IPC_RMID, 0);
}
