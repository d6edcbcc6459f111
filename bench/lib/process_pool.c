/*
 * process_pool.c - see process_pool.h.
 */
#include "lib/process_pool.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/server/process.h"
#include "kit/temp_dir.h"
#include "lib/clock.h"
#include "lib/must.h"

#define WAIT_LIMIT_NS WEIR_SECONDS(120)
#define LOOK_NS WEIR_MILLISECONDS(1)
#define FLOW_NS WEIR_MILLISECONDS(50)
#define GRACE_NS WEIR_SECONDS(30)

static struct bench_board *map_board(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct bench_board *board;

    bench_must(file >= 0 && ftruncate(file, sizeof *board) == 0, "no file for the board");
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    bench_must(board != MAP_FAILED, "no shared memory");
    (void)close(file);
    return board;
}

/* ---- a member ---------------------------------------------------------------------- */

struct seat {
    struct bench_board *board;
    uint32_t number;
};

/* Whoever reads the member finds its time there. */
static void take_env(struct bench_env *env, uint32_t member, int64_t now_ns)
{
    if (atomic_load(&env->member) == member)
        return;
    atomic_store(&env->since_ns, now_ns);
    atomic_store(&env->member, member);
}

/* One process at a time is in here for a partition, unless one has lost its lease. */
static void note_seq(struct bench_board *board, struct bench_env *env, int64_t seq)
{
    int64_t highest = atomic_load(&env->seq);

    if (seq <= highest) {
        (void)atomic_fetch_add(&board->repeats, 1);
        return;
    }
    if (seq > highest + 1)
        (void)atomic_fetch_add(&board->disorder, 1);
    atomic_store(&env->seq, seq);
    (void)atomic_fetch_add(&board->taken, 1);
}

static enum weir_outcome take(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    struct seat *self = state;
    struct bench_board *board = self->board;
    struct bench_env *env = &board->desks[message->partition];
    int64_t now_ns = bench_now_ns();
    int64_t none = 0;

    (void)context;
    (void)reason;
    (void)atomic_compare_exchange_strong(&board->first_ns, &none, now_ns);
    take_env(env, self->number, now_ns);
    if (board->wait_ns > 0)
        bench_sleep_ns(board->wait_ns);
    atomic_store(&board->last_ns, bench_now_ns());
    note_seq(board, env, message->seq);
    return WEIR_DONE;
}

static struct weir_outbox *serve(struct seat *self, struct weir_db *db)
{
    struct weir_outbox_options options;
    struct weir_handler_options handler;
    struct weir_outbox *outbox;
    struct weir_error error;

    weir_outbox_options_init(&options);
    options.db = db;
    options.profile = self->board->profile;
    if (self->board->handlers > 0)
        options.handlers = self->board->handlers;
    bench_must_ok(weir_outbox_create(&options, &outbox, &error), &error,
                  "create the outbox");
    weir_handler_options_init(&handler);
    handler.queue = BENCH_QUEUE;
    handler.on_message = take;
    handler.state = self;
    bench_must_ok(weir_outbox_add_handler(outbox, &handler, &error), &error,
                  "add the handler");
    bench_must_ok(weir_outbox_start(outbox, &error), &error, "start");
    return outbox;
}

/* `program --team BOARD NUMBER`: serve until SIGTERM. */
static int work(char **arguments)
{
    struct seat self = {.board = map_board(arguments[2]),
                        .number = (uint32_t)strtoul(arguments[3], NULL, 10)};
    struct weir_db_options options;
    struct weir_outbox *outbox;
    struct weir_db *db;
    struct weir_error error;
    sigset_t wanted;
    int got;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    weir_db_options_init(&options);
    options.url = self.board->url;
    bench_must_ok(weir_db_create(&options, &db, &error), &error, "open the database");
    outbox = serve(&self, db);
    (void)sigwait(&wanted, &got);
    bench_must(weir_outbox_stop(outbox, GRACE_NS) == 0, "the outbox does not stop");
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    return EXIT_SUCCESS;
}

/* Before main(), which knows nothing of it. */
__attribute__((constructor)) static void work_instead(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--team") == 0)
        exit(work(argv));
}

/* ---- life -------------------------------------------------------------------------- */

void bench_process_pool_open(struct bench_process_pool *self,
                             const struct bench_process_pool_options *options)
{
    static size_t opened;
    struct bench_outbox_load_options producer = {.url = options->url};

    memset(self, 0, sizeof *self);
    (void)snprintf(self->path, sizeof self->path, "%s/board-%zu", temp_dir_of_program(),
                   opened++);
    self->board = map_board(self->path);
    (void)snprintf(self->board->url, sizeof self->board->url, "%s", options->url);
    self->board->profile = options->profile;
    self->board->handlers = options->handlers;
    self->board->wait_ns = options->wait_ns;
    bench_outbox_load_open(&self->line, &producer);
}

void bench_process_pool_close(struct bench_process_pool *self)
{
    (void)bench_process_pool_await(self);
    bench_must(atomic_load(&self->board->disorder) == 0, "messages are out of order");
    for (size_t i = 0; i < BENCH_MEMBERS_MAX; i++) {
        if (self->members[i].number != 0)
            bench_must(process_end(self->members[i].pid, SIGTERM) == 0,
                       "a consuming process does not stop well");
    }
    bench_outbox_load_close(&self->line);
    (void)munmap(self->board, sizeof *self->board);
    (void)unlink(self->path);
}

static struct bench_member *find_member(struct bench_process_pool *self, uint32_t number)
{
    for (size_t i = 0; i < BENCH_MEMBERS_MAX; i++) {
        if (self->members[i].number == number)
            return &self->members[i];
    }
    return NULL;
}

uint32_t bench_process_pool_start(struct bench_process_pool *self)
{
    struct process_options how = {.folder = temp_dir_of_program(),
                                  .death_signal = SIGKILL};
    struct bench_member *member = find_member(self, 0);
    char program[BENCH_PROCESS_POOL_PATH_SIZE] = "";
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    char number[16];
    const char *arguments[] = {program, "--team", self->path, number, NULL};

    bench_must(size > 0, "cannot read /proc/self/exe");
    bench_must(member != NULL, "too many members");
    member->number = ++self->started;
    (void)snprintf(number, sizeof number, "%u", member->number);
    member->pid = process_start(&how, arguments);
    return member->number;
}

int64_t bench_process_pool_kill(struct bench_process_pool *self, uint32_t number)
{
    struct bench_member *member = find_member(self, number);
    int64_t killed_ns = bench_now_ns();

    bench_must(number != 0 && member != NULL, "no such member");
    (void)process_end(member->pid, SIGKILL);
    *member = (struct bench_member){0};
    return killed_ns;
}

/* ---- sending ----------------------------------------------------------------------- */

void bench_process_pool_send(struct bench_process_pool *self, uint64_t count,
                             size_t batch)
{
    bench_outbox_load_send(&self->line, count, batch);
    self->sent += count;
}

void bench_process_pool_send_at_once(struct bench_process_pool *self, uint64_t count)
{
    bench_outbox_load_send_at_once(&self->line, count);
    self->sent += count;
}

/* ---- looking ----------------------------------------------------------------------- */

/* A member that has ended by itself says why in its log. */
static void check_members(struct bench_process_pool *self)
{
    for (size_t i = 0; i < BENCH_MEMBERS_MAX; i++) {
        if (self->members[i].number == 0 || !process_has_ended(self->members[i].pid))
            continue;
        process_print_log(temp_dir_of_program());
        bench_must(false, "a consuming process has ended");
    }
}

static void check_wait_limit(struct bench_process_pool *self, int64_t end_ns,
                             const char *what)
{
    check_members(self);
    if (bench_now_ns() < end_ns)
        return;
    process_print_log(temp_dir_of_program());
    bench_must(false, what);
}

bool bench_process_pool_has_all(const struct bench_process_pool *self)
{
    return atomic_load(&self->board->taken) == self->sent;
}

int64_t bench_process_pool_await(struct bench_process_pool *self)
{
    int64_t end_ns = bench_now_ns() + WAIT_LIMIT_NS;
    int64_t taken_ns;

    while (!bench_process_pool_has_all(self)) {
        check_wait_limit(self, end_ns, "messages do not arrive");
        bench_sleep_ns(LOOK_NS);
    }
    taken_ns = atomic_load(&self->board->last_ns) - atomic_load(&self->board->first_ns);
    atomic_store(&self->board->first_ns, 0);
    return taken_ns;
}

static size_t share_of(const struct bench_process_pool *self, uint32_t member)
{
    size_t share = 0;

    for (size_t i = 0; i < BENCH_PARTITIONS; i++)
        share += atomic_load(&self->board->desks[i].member) == member;
    return share;
}

bool bench_process_pool_is_even(struct bench_process_pool *self)
{
    size_t least = BENCH_PARTITIONS;
    size_t most = 0;
    size_t total = 0;

    check_members(self);
    for (size_t i = 0; i < BENCH_MEMBERS_MAX; i++) {
        size_t share;

        if (self->members[i].number == 0)
            continue;
        share = share_of(self, self->members[i].number);
        least = share < least ? share : least;
        most = share > most ? share : most;
        total += share;
    }
    return total == BENCH_PARTITIONS && most <= least + 1;
}

void bench_process_pool_await_even(struct bench_process_pool *self)
{
    int64_t end_ns = bench_now_ns() + WAIT_LIMIT_NS;

    while (!bench_process_pool_is_even(self)) {
        check_wait_limit(self, end_ns, "the partitions are not shared evenly");
        bench_process_pool_send(self, BENCH_PARTITIONS, BENCH_PARTITIONS);
        bench_sleep_ns(FLOW_NS);
    }
    (void)bench_process_pool_await(self);
}
