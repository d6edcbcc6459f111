/*
 * busy_handler.c - see sqlite/busy_handler.h.
 *
 *   I1  a statement that is done is never reported as timed out or cancelled
 *
 * SQLite asks the progress handler once more when a statement has finished and, outside
 * of a transaction, committed; saying "stop" there would turn a commit into an error.
 * So the handler looks whether its statement is still busy.
 *
 * The spread of the waits comes from the clock. Threads never read the same nanosecond
 * twice, and in a simulation the same seed gives the same waits.
 */
#include "db/sqlite/busy_handler.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/fault_point.h"
#include "base/random.h"
#include "db/clock.h"
#include "db/driver.h"
#include "db/sqlite/write_waiters.h"
#include "ward/context.h"
#include "ward/executor.h"

enum {
    STEPS_BETWEEN_LOOKS = 1000, /* 20 to 50 microseconds */
    WAIT_US_FIRST = 200,
    WAIT_US_MAX = 20000,
};

static int wait_for_lock(void *argument, int attempt);
static int look_at_clock(void *argument);

void weir_sqlite_busy_handler_init(struct weir_sqlite_busy_handler *self,
                                   struct weir_link *link)
{
    *self = (struct weir_sqlite_busy_handler){
        .link = link,
        .lock_timeout_ns = link->config->lock_timeout_ns,
        .statement_timeout_ns = link->config->statement_timeout_ns,
    };
}

void weir_sqlite_busy_handler_install(struct weir_sqlite_busy_handler *self,
                                      struct sqlite3 *db)
{
    (void)sqlite3_busy_handler(db, wait_for_lock, self);
    sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, look_at_clock, self);
}

static bool called_off(const struct weir_sqlite_busy_handler *self)
{
    return atomic_load_explicit(&self->link->cancelled, memory_order_relaxed);
}

static void note_writers(struct weir_sqlite_busy_handler *self)
{
    const struct weir_write_waiters *writers = self->link->config->writers;

    if (writers != NULL)
        self->writers_seen = weir_write_waiters_count(writers);
}

void weir_sqlite_busy_handler_start(struct weir_sqlite_busy_handler *self)
{
    self->spent_ns = 0;
    self->looked = false;
    self->verdict = WEIR_SQLITE_UNDECIDED;
    note_writers(self);
    if (called_off(self)) /* reading is cheap, writing is not */
        atomic_store_explicit(&self->link->cancelled, false, memory_order_relaxed);
}

void weir_sqlite_busy_handler_enter(struct weir_sqlite_busy_handler *self,
                                    struct sqlite3_stmt *stmt)
{
    self->stmt = stmt;
    self->attending = true;
}

void weir_sqlite_busy_handler_leave(struct weir_sqlite_busy_handler *self)
{
    if (self->looked)
        self->spent_ns += weir_clock_now_ns() - self->looked_ns;
    self->looked = false;
    self->stmt = NULL;
    self->attending = false;
}

enum weir_status
weir_sqlite_busy_handler_status(const struct weir_sqlite_busy_handler *self, int code,
                                enum weir_status status)
{
    int family = code & 0xff;

    if (family != SQLITE_INTERRUPT && family != SQLITE_BUSY)
        return status;
    if (self->verdict == WEIR_SQLITE_TIMED_OUT)
        return WEIR_TIMEOUT;
    if (self->verdict == WEIR_SQLITE_CALLED_OFF)
        return WEIR_CANCELLED;
    return status;
}

int64_t weir_sqlite_wait_ns(int attempt, int64_t now_ns)
{
    int64_t most_us = attempt < 7 ? (int64_t)WAIT_US_FIRST << attempt : WAIT_US_MAX;
    uint64_t bits = weir_mix_u64((uint64_t)now_ns + (uint64_t)attempt);

    return (most_us / 2) * 1000 + (int64_t)(bits % (uint64_t)(most_us / 2 * 1000 + 1));
}

/* Has the operation used up its time? Begins to count at the first look of a step. */
static bool out_of_time(struct weir_sqlite_busy_handler *self, int64_t now_ns)
{
    if (!self->looked) {
        self->looked = true;
        self->looked_ns = now_ns;
    }
    return self->statement_timeout_ns > 0 &&
           self->spent_ns + (now_ns - self->looked_ns) >= self->statement_timeout_ns;
}

static int stop(struct weir_sqlite_busy_handler *self, enum weir_sqlite_verdict verdict,
                int answer)
{
    self->verdict = verdict;
    return answer;
}

/* Wait, at most until one of this process has ended its transaction; false when the
 * worker was cancelled meanwhile. */
static bool wait_for_writers(struct weir_sqlite_busy_handler *self, int64_t wait_ns)
{
    struct weir_write_waiters *writers = self->link->config->writers;
    struct weir_context *context = weir_context_current();

    if (writers == NULL || (context != NULL && context->executor->simulated))
        return weir_clock_sleep(wait_ns);
    weir_write_waiters_wait(writers, self->writers_seen, wait_ns);
    note_writers(self);
    return context == NULL || !weir_context_cancelled(context);
}

/* The busy handler: 0 gives up, anything else tries again. */
static int wait_for_lock(void *argument, int attempt)
{
    struct weir_sqlite_busy_handler *self = argument;
    int64_t now_ns = weir_clock_now_ns();
    int64_t wait_ns = weir_sqlite_wait_ns(attempt, now_ns);

    if (attempt == 0)
        self->lock_ns = now_ns;
    if (self->lock_timeout_ns > 0) {
        int64_t left_ns = self->lock_timeout_ns - (now_ns - self->lock_ns);

        if (left_ns <= 0)
            return 0;
        wait_ns = left_ns < wait_ns ? left_ns : wait_ns;
    }
    if (WEIR_POINT(self->link->config->points, "db.busy"))
        return 0;
    if (self->attending && called_off(self))
        return stop(self, WEIR_SQLITE_CALLED_OFF, 0);
    if (self->attending && out_of_time(self, now_ns))
        return stop(self, WEIR_SQLITE_TIMED_OUT, 0);
    if (!wait_for_writers(self, wait_ns)) /* the worker was cancelled */
        return stop(self, WEIR_SQLITE_CALLED_OFF, 0);
    return 1;
}

/* The progress handler: anything but 0 interrupts. */
static int look_at_clock(void *argument)
{
    struct weir_sqlite_busy_handler *self = argument;

    if (self->stmt == NULL || !sqlite3_stmt_busy(self->stmt)) /* I1 */
        return 0;
    if (called_off(self)) /* sqlite3_interrupt() came before the statement began */
        return stop(self, WEIR_SQLITE_CALLED_OFF, 1);
    if (self->statement_timeout_ns > 0 && out_of_time(self, weir_clock_now_ns()))
        return stop(self, WEIR_SQLITE_TIMED_OUT, 1);
    return 0;
}
