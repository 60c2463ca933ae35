// SQLite by several threads, each with a database of its own in memory: rows go in, are looked up,
// changed and counted. What they share is the library: its allocator's figures, caches and mutexes.
#include "sqlite3.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rows = 2000;

static void run(sqlite3 *database, const char *text) {
    if (sqlite3_exec(database, text, 0, 0, 0) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(database));
        exit(2);
    }
}

static int count(void *sum, int columns, char **values, char **names) {
    (void)columns;
    (void)names;
    *(long *)sum += values[0] ? atol(values[0]) : 0;
    return 0;
}

static void *work(void *sum) {
    sqlite3 *database;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
        exit(2);
    run(database, "create table items (id integer primary key, name text, weight integer)");
    run(database, "create index by_name on items (name)");
    char text[160];
    for (int row = 0; row < rows; row++) {
        snprintf(text, sizeof text, "insert into items values (%d, 'item %d', %d)", row,
                 row * 7919 % rows, row % 97);
        run(database, text);
    }
    for (int row = 0; row < rows; row += 3) {
        snprintf(text, sizeof text, "update items set weight = weight + 1 where name = 'item %d'",
                 row);
        run(database, text);
    }
    sqlite3_exec(database, "select sum(weight) from items group by id % 10", count, sum, 0);
    sqlite3_close(database);
    return 0;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    if (argc > 2)
        rows = atoi(argv[2]);
    if (threads < 1 || threads > 64 || rows < 1)
        return 2;
    pthread_t ids[64];
    long sums[64] = {0}, sum = 0;
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], 0, work, &sums[i]);
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], 0);
        sum += sums[i];
    }
    printf("database %ld\n", sum);
    sqlite3_shutdown();
    return 0;
}
