// A threaded test of SQLite through its public interface: connections of several threads share one
// cache, put rows in, count them and take them out again. An argument says how many rows each; with a
// second one each thread has a cache of its own, so that how long it works is not a matter of luck.
#include "sqlite3.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3

static int rows = 20;

static int apart;

static sqlite3 *open_shared(long number) {
    sqlite3 *database;
    char place[80];
    snprintf(place, sizeof place, "file:shared%ld?mode=memory&cache=shared", apart ? number : 0);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    if (sqlite3_open_v2(place, &database, flags, 0) != SQLITE_OK)
        exit(2);
    sqlite3_busy_timeout(database, 2000);
    return database;
}

// Another connection may hold the table: that is no failure, only a reason to try again.
static void run(sqlite3 *database, const char *text) {
    for (int attempt = 0; attempt < 2000; attempt++) {
        int status = sqlite3_exec(database, text, 0, 0, 0);
        if (status == SQLITE_OK)
            return;
        if (status != SQLITE_BUSY && status != SQLITE_LOCKED) {
            fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(database));
            exit(2);
        }
        sqlite3_sleep(1);
    }
}

static void *work(void *number) {
    sqlite3 *database = open_shared((long)number);
    char text[120];
    run(database, "create table if not exists items (id integer primary key, name text)");
    for (int row = 0; row < rows; row++) {
        int key = (int)(long)number * 1000000 + row;
        snprintf(text, sizeof text, "insert into items values (%d, 'item %d')", key, key);
        run(database, text);
    }
    run(database, "select count(*) from items");
    for (int row = 0; row < rows; row++) {
        int key = (int)(long)number * 1000000 + row;
        snprintf(text, sizeof text, "delete from items where id = %d", key);
        run(database, text);
    }
    sqlite3_close(database);
    return 0;
}

int main(int count, char **arguments) {
    if (count > 1)
        rows = atoi(arguments[1]);
    apart = count > 2;
    pthread_t threads[THREADS];
    sqlite3_enable_shared_cache(1);
    sqlite3 *database = open_shared(0);
    run(database, "create table items (id integer primary key, name text)");
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    sqlite3_close(database);
    sqlite3_shutdown();
    return 0;
}
