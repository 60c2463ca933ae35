// RELAY Figure 8, initialisation: filled in while nobody else knows it, then put on the queue.
#include <pthread.h>
#include <stdlib.h>
struct connection { struct connection *next; int timeout, family, used; };
struct connection *queue;
pthread_rwlock_t conn_idlock = PTHREAD_RWLOCK_INITIALIZER;
static struct connection *create_connection(void) {
  struct connection *conn = malloc(sizeof *conn);
  if (!conn) abort();
  conn->timeout = 30; // NORACE
  return conn;
}
void *rxrpc_create_connection(void *unused) {
  struct connection *conn = create_connection();
  conn->family = 2; // NORACE
  pthread_rwlock_wrlock(&conn_idlock);
  conn->next = queue; // NORACE
  queue = conn;       // NORACE
  pthread_rwlock_unlock(&conn_idlock);
  return 0;
}
void *rxrpc_use_connection(void *unused) {
  pthread_rwlock_wrlock(&conn_idlock);
  if (queue) queue->used += queue->family + queue->timeout; // NORACE
  pthread_rwlock_unlock(&conn_idlock);
  return 0;
}
int main(void) {
  pthread_t t, u, v;
  pthread_create(&t, 0, rxrpc_create_connection, 0);
  pthread_create(&u, 0, rxrpc_create_connection, 0);
  pthread_create(&v, 0, rxrpc_use_connection, 0);
  return 0;
}
