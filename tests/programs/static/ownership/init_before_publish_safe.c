// Filled in before anyone else knows it (RELAY Figure 8).
#include <pthread.h>
#include <stdlib.h>
struct conn { struct conn *next; int family; };
struct conn *conns;
pthread_mutex_t conn_lock = PTHREAD_MUTEX_INITIALIZER;
static void make(struct conn **out) {
  struct conn *c = malloc(sizeof *c);
  c->next = 0; // NORACE
  *out = c;
}
void *creator(void *unused) {
  struct conn *conn;
  make(&conn);
  conn->family = 2; // NORACE
  pthread_mutex_lock(&conn_lock);
  conn->next = conns;
  conns = conn;
  pthread_mutex_unlock(&conn_lock);
  return 0;
}
void *user(void *unused) {
  pthread_mutex_lock(&conn_lock);
  if (conns) conns->family = 3;
  pthread_mutex_unlock(&conn_lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, creator, 0);
  pthread_create(&u, 0, user, 0);
  return 0;
}
