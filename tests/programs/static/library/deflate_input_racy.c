// Each thread compresses from one buffer into another; where they are is kept in the stream.
#include <pthread.h>
#include <string.h>
typedef struct {
    unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
} z_stream;
int deflateInit_(z_stream *, int, const char *, int);
int deflate(z_stream *, int);
int deflateEnd(z_stream *);
static unsigned char input[64], output[64];
static void *worker(void *number) {
    unsigned char own[64];
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (deflateInit_(&stream, 6, "1.2.13", sizeof stream)) return 0;
    stream.next_in = input;
    stream.avail_in = sizeof input;
    stream.next_out = own;
    stream.avail_out = sizeof own;
    deflate(&stream, 4); // RACE!
    deflateEnd(&stream);
    return own[0] && number ? &input : 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, input);
    pthread_create(&b, 0, worker, 0);
    input[1] = 7; // RACE!
    pthread_join(a, 0);
    pthread_join(b, 0);
    return output[0];
}
