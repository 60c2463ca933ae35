// account: each account has a lock, but a transfer takes only one of the two.
#include "program.h"
struct account { pthread_mutex_t lock; int amount; };
static struct account accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 100}, {PTHREAD_MUTEX_INITIALIZER, 100}};
static void transfer(struct account *from, struct account *to, int sum) {
  pthread_mutex_lock(&from->lock);
  if (from->amount >= sum) {
    from->amount -= sum;
    to->amount += sum;
  }
  pthread_mutex_unlock(&from->lock);
}
static void *first(void *unused) {
  transfer(&accounts[0], &accounts[1], 10);
  transfer(&accounts[0], &accounts[1], 200);
  return unused;
}
static void *second(void *unused) {
  late();
  transfer(&accounts[1], &accounts[0], 20);
  return unused;
}
int main(void) {
  both(first, second);
  printf("%d\n", accounts[0].amount + accounts[1].amount);
  return 0;
}
