/*
 * host.h - a process of a simulation: executor, memory and database handle of its own.
 *
 * All hosts live in this one thread, each in a simulation of its own (weir/sim.h), and a database
 * file is all that they share, as processes on one machine would. Whoever drives them runs the one
 * whose next event is the earliest, so that they have one time.
 *
 * A host begins with a few workers, its *mains*, which do whatever a program would: open the
 * database, make an outbox, start it. It ends in one of two ways: all mains have returned and
 * host_end() finds that nothing is left over; or host_crash(), after which nothing that it was
 * about to do ever happens.
 *
 * Every fault point of the library asks the host's oracle. At "db.lose", which every call of the
 * database passes, the oracle may let time pass: that is where hosts overtake each other.
 *
 * Crashing in the middle of SQLite would leave its mutexes locked, and its files open. So a host
 * that is to crash is *dying* first: for a moment of its time the oracle, which asks
 * host_is_dying(), makes every call of the database fail and lets nobody wait for a lock. Then
 * everything is cut off.
 *
 * Failure  Out of memory ends the program.
 */
#ifndef WEIR_TEST_HOST_H
#define WEIR_TEST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault_point.h"
#include "weir/context.h"
#include "weir/db.h"

struct host;

/* `index` tells the mains of a host apart. */
typedef void (*host_main_fn)(struct host *host, struct weir_context *context,
                             uint32_t index, void *argument);

struct host_options {
    const char *name;
    uint64_t seed;
    int64_t now_ns;
    const char *url; /* borrowed, as all of these */
    weir_oracle_fn oracle;
    void *oracle_argument;
    host_main_fn main;
    void *argument;
    uint32_t mains; /* at least 1 */
};

struct host *host_boot(const struct host_options *options);

/* All mains have returned: free everything. Returns the blocks of memory that nobody gave back. */
int64_t host_end(struct host *self);

/* Cut it off; see above. */
void host_crash(struct host *self);
bool host_is_dying(const struct host *self);

bool host_is_done(const struct host *self); /* all mains have returned */

/* When something happens in it next (WEIR_FOREVER: never by itself), and run it up to then. */
int64_t host_next_ns(const struct host *self);
void host_run_until(struct host *self, int64_t time_ns);

/* It was stopped and is continued: its clock jumps, nothing has run. */
void host_jump(struct host *self, int64_t time_ns);
void host_jump_boot(struct host *self, int64_t duration_ns); /* weir_sim_jump_boot() */
void host_set_wall_error(struct host *self, int64_t error_us);

const char *host_name(const struct host *self);
struct weir_db *host_db(struct host *self);
struct weir_executor *host_executor(struct host *self);
struct weir_fault_points *host_points(struct host *self);

#endif
