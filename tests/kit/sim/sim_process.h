/*
 * sim_process.h - a process of a simulation: executor, memory and database handle of
 * its own.
 *
 * All hosts live in this one thread, each in a simulation of its own (weir/sim.h), and
 * a database file is all that they share, as processes on one machine would. Whoever
 * drives them runs the one whose next event is the earliest, so that they have one
 * time.
 *
 * A host begins with a few workers, its *mains*, which do whatever a program would:
 * open the database, make an outbox, start it. It ends in one of two ways: all mains
 * have returned and sim_process_end() finds that nothing is left over; or
 * sim_process_crash(), after which nothing that it was about to do ever happens.
 *
 * Every fault point of the library asks the host's oracle. At "db.lose", which every
 * call of the database passes, the oracle may let time pass: that is where hosts
 * overtake each other.
 *
 * Crashing in the middle of SQLite would leave its mutexes locked, and its files open.
 * So a host that is to crash is *dying* first: for a moment of its time the oracle,
 * which asks sim_process_is_dying(), makes every call of the database fail and lets
 * nobody wait for a lock. Then everything is cut off.
 *
 * Failure  Out of memory ends the program.
 */
#ifndef WEIR_TEST_SIM_PROCESS_H
#define WEIR_TEST_SIM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault_point.h"
#include "weir/context.h"
#include "weir/db.h"

struct sim_process;

/* `index` tells the mains of a host apart. */
typedef void (*sim_process_main_fn)(struct sim_process *sim_process,
                                    struct weir_context *context, uint32_t index,
                                    void *argument);

struct sim_process_options {
    const char *name;
    uint64_t seed;
    int64_t now_ns;
    const char *url; /* borrowed, as all of these */
    weir_oracle_fn oracle;
    void *oracle_argument;
    sim_process_main_fn main;
    void *argument;
    uint32_t mains; /* at least 1 */
};

struct sim_process *sim_process_boot(const struct sim_process_options *options);

/* All mains have returned: free everything. Returns the blocks of memory that nobody
 * gave back. */
int64_t sim_process_end(struct sim_process *self);

/* Cut it off; see above. */
void sim_process_crash(struct sim_process *self);
bool sim_process_is_dying(const struct sim_process *self);

bool sim_process_is_done(const struct sim_process *self); /* all mains have returned */

/* When something happens in it next (WEIR_FOREVER: never by itself), and run it up to
 * then. */
int64_t sim_process_next_ns(const struct sim_process *self);
void sim_process_run_until(struct sim_process *self, int64_t time_ns);

/* It was stopped and is continued: its clock jumps, nothing has run. */
void sim_process_jump(struct sim_process *self, int64_t time_ns);
void sim_process_jump_boot(struct sim_process *self,
                           int64_t duration_ns); /* weir_sim_jump_boot() */
void sim_process_set_wall_error(struct sim_process *self, int64_t error_us);

/* Open file descriptors of this program, whichever host opened them. */
size_t sim_process_count_files(void);

const char *sim_process_name(const struct sim_process *self);
struct weir_db *sim_process_db(struct sim_process *self);
struct weir_executor *sim_process_executor(struct sim_process *self);
struct weir_fault_points *sim_process_points(struct sim_process *self);

#endif
