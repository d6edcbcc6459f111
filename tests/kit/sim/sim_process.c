/*
 * sim_process.c - see sim_process.h.
 *
 * Memory comes from a heap that knows all its blocks, so that a crash can give back
 * what nobody will.
 */
#include "kit/sim/sim_process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "db/db.h"
#include "kit/test.h"
#include "ward/executor.h"
#include "ward/sim.h"
#include "weir/notifier.h"
#include "weir/ward.h"
#include "weir/worker.h"

/* What a host that dies may take to get out of SQLite: its longest wait between two
 * looks. */
#define DYING_NS WEIR_MILLISECONDS(25)

struct block {
    struct weir_list link;
    max_align_t memory[];
};

struct main_state {
    struct sim_process *sim_process;
    struct weir_notifier *begin; /* a worker needs a signal to run for the first time */
    uint32_t index;
};

struct sim_process {
    struct sim_process_options options;
    struct weir_heap heap;
    struct weir_list blocks;
    int64_t block_count;
    struct weir_fault_points points;
    struct weir_sim *sim;
    struct weir_ward *ward;
    struct weir_db *db;
    struct main_state *mains;
    uint32_t returned;
    bool dying;
};

/* ---- memory ------------------------------------------------------------------------ */

static struct block *block_of(void *memory)
{
    return WEIR_CONTAINER_OF(memory, struct block, memory);
}

static void *resize(void *state, void *memory, size_t size)
{
    struct sim_process *self = state;
    struct block *block = memory != NULL ? block_of(memory) : NULL;

    if (block != NULL)
        weir_list_remove(&block->link);
    else
        self->block_count++;
    if (size == 0) {
        free(block);
        self->block_count--;
        return NULL;
    }
    block = realloc(block, sizeof *block + size);
    check(block != NULL);
    weir_list_init(&block->link);
    weir_list_append(&self->blocks, &block->link);
    return block->memory;
}

static void drop_memory(struct sim_process *self)
{
    struct weir_list *link;

    while ((link = weir_list_take_first(&self->blocks)) != NULL)
        free(WEIR_CONTAINER_OF(link, struct block, link));
}

/* ---- life -------------------------------------------------------------------------- */

static enum weir_status run_main(struct weir_context *context, void *state,
                                 struct weir_directive *out, struct weir_error *error)
{
    struct main_state *main = state;
    struct sim_process *self = main->sim_process;

    (void)error;
    self->options.main(self, context, main->index, self->options.argument);
    self->returned++;
    weir_worker_cancel(weir_context_worker(context));
    *out = weir_idle();
    return WEIR_OK;
}

static void spawn_main(struct sim_process *self, uint32_t index)
{
    struct weir_worker_options options;

    self->mains[index] = (struct main_state){.sim_process = self, .index = index};
    check_status(
        weir_notifier_create(sim_process_executor(self), &self->mains[index].begin),
        WEIR_OK);
    weir_worker_options_init(&options);
    options.name = "main";
    options.action = run_main;
    options.state = &self->mains[index];
    options.notifiers = &self->mains[index].begin;
    options.notifier_count = 1;
    check_status(weir_ward_spawn(self->ward, &options, NULL, NULL), WEIR_OK);
    weir_notifier_notify_one(self->mains[index].begin);
}

struct sim_process *sim_process_boot(const struct sim_process_options *options)
{
    struct sim_process *self = calloc(1, sizeof *self);
    struct weir_db_options db;

    check(self != NULL);
    self->options = *options;
    self->heap = (struct weir_heap){.resize = resize, .state = self};
    weir_list_init(&self->blocks);
    weir_fault_points_init(&self->points);
    weir_fault_points_set_oracle(&self->points, options->oracle,
                                 options->oracle_argument);
    check_status(weir_sim_create(&(struct weir_sim_options){.heap = &self->heap,
                                                            .seed = options->seed},
                                 &self->sim, NULL),
                 WEIR_OK);
    weir_sim_jump(self->sim, options->now_ns);
    weir_db_options_init(&db);
    db.url = options->url;
    db.executor = sim_process_executor(self);
    check_status(weir_db_create(&db, &self->db, NULL), WEIR_OK);
    weir_db_set_fault_points(self->db, &self->points);
    check_status(weir_ward_create(sim_process_executor(self),
                                  &(struct weir_ward_options){.name = options->name},
                                  &self->ward, NULL),
                 WEIR_OK);
    self->mains = calloc(options->mains, sizeof *self->mains);
    check(self->mains != NULL);
    for (uint32_t i = 0; i < options->mains; i++)
        spawn_main(self, i);
    return self;
}

static void free_sim_process(struct sim_process *self)
{
    free(self->mains);
    free(self);
}

int64_t sim_process_end(struct sim_process *self)
{
    int64_t left;

    check(sim_process_is_done(self));
    weir_ward_destroy(self->ward);
    for (uint32_t i = 0; i < self->options.mains; i++)
        weir_notifier_destroy(self->mains[i].begin);
    weir_db_destroy(self->db);
    weir_sim_destroy(self->sim);
    left = self->block_count;
    drop_memory(self);
    free_sim_process(self);
    return left;
}

void sim_process_crash(struct sim_process *self)
{
    self->dying = true;
    weir_sim_run_until(self->sim, weir_sim_now(self->sim) + DYING_NS);
    weir_db_cut_off(self->db);
    weir_sim_destroy(self->sim);
    drop_memory(self);
    free_sim_process(self);
}

/* ---- asking ------------------------------------------------------------------------ */

bool sim_process_is_dying(const struct sim_process *self)
{
    return self->dying;
}

bool sim_process_is_done(const struct sim_process *self)
{
    return self->returned == self->options.mains;
}

int64_t sim_process_next_ns(const struct sim_process *self)
{
    return weir_sim_next_ns(self->sim);
}

void sim_process_run_until(struct sim_process *self, int64_t time_ns)
{
    weir_sim_run_until(self->sim, time_ns);
}

void sim_process_jump(struct sim_process *self, int64_t time_ns)
{
    weir_sim_jump(self->sim, time_ns);
}

void sim_process_jump_boot(struct sim_process *self, int64_t duration_ns)
{
    weir_sim_jump_boot(self->sim, duration_ns);
}

void sim_process_set_wall_error(struct sim_process *self, int64_t error_us)
{
    weir_sim_set_wall_error(self->sim, error_us);
}

const char *sim_process_name(const struct sim_process *self)
{
    return self->options.name;
}

struct weir_db *sim_process_db(struct sim_process *self)
{
    return self->db;
}

struct weir_executor *sim_process_executor(struct sim_process *self)
{
    return weir_sim_executor(self->sim);
}

struct weir_fault_points *sim_process_points(struct sim_process *self)
{
    return &self->points;
}

size_t sim_process_count_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    check(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count;
}
