/*
 * close_last.c - see sqlite/close_last.h.
 *
 * The log has one inode for as long as any connection is open, so that all processes that
 * wait for their turn wait for the same lock.
 */
#include "db/sqlite/close_last.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include "db/clock.h"
#include "db/sqlite/busy_handler.h"
#include "weir/time.h"

#define TURN_WAIT_NS WEIR_SECONDS(1)

/* The log, opened; -1: there is none, or it cannot be had. */
static int open_log(sqlite3 *db)
{
    const char *name = sqlite3_db_filename(db, "main");

    if (name == NULL || *name == '\0')
        return -1;
    return open(sqlite3_filename_wal(name), O_RDONLY | O_CLOEXEC);
}

/* The lock ends with its descriptor. */
static void take_turn(int log)
{
    int64_t limit_ns = weir_clock_now_ns() + TURN_WAIT_NS;
    int64_t now_ns;

    for (int attempt = 0; flock(log, LOCK_EX | LOCK_NB) != 0; attempt++) {
        now_ns = weir_clock_now_ns();
        if (errno != EWOULDBLOCK || now_ns >= limit_ns ||
            !weir_clock_sleep(weir_sqlite_wait_ns(attempt, now_ns)))
            return;
    }
}

/* A cancel() that came when nothing ran would interrupt the checkpoint instead; any
 * statement takes it. */
static void forget_interrupt(sqlite3 *db)
{
    (void)sqlite3_exec(db, "SELECT 1", NULL, NULL, NULL);
}

void weir_sqlite_close_last(sqlite3 *db)
{
    int log = open_log(db);

    if (log >= 0)
        take_turn(log);
    forget_interrupt(db);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    (void)sqlite3_close_v2(db);
    if (log >= 0)
        (void)close(log);
}
