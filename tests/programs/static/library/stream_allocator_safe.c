// The stream's own allocator runs in the thread that compresses.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
typedef struct {
    char *next_in;
    unsigned avail_in, total_in_lo32, total_in_hi32;
    char *next_out;
    unsigned avail_out, total_out_lo32, total_out_hi32;
    void *state;
    void *(*bzalloc)(void *, int, int);
    void (*bzfree)(void *, void *);
    void *opaque;
} bz_stream;
int BZ2_bzCompressInit(bz_stream *, int, int, int);
int BZ2_bzCompressEnd(bz_stream *);
static int allocated;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *allocate(void *opaque, int count, int size) {
    (void)opaque;
    pthread_mutex_lock(&lock);
    allocated++; // NORACE
    pthread_mutex_unlock(&lock);
    return malloc((size_t)count * size);
}
static void *worker(void *arg) {
    bz_stream stream;
    (void)arg;
    memset(&stream, 0, sizeof stream);
    stream.bzalloc = allocate;
    BZ2_bzCompressInit(&stream, 9, 0, 30);
    BZ2_bzCompressEnd(&stream);
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, 0);
    pthread_create(&b, 0, worker, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return allocated;
}
