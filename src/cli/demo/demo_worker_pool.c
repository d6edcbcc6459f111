/*
 * demo_worker_pool.c - see demo_worker_pool.h.
 *
 * The pipe carries one byte, which begins the work; after that it only shows
 * that its other end is open. That is main alone, so whatever ends main ends all of
 * them.
 */
#include "cli/demo/demo_worker_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/count.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "base/text.h"
#include "ward/system.h"
#include "weir/time.h"

#define KILL_PERIOD_MIN WEIR_MILLISECONDS(500)
#define KILL_PERIOD_SPREAD WEIR_MILLISECONDS(1000)
#define LAST WEIR_SECONDS(10) /* for workers that were asked to end */

enum { TICK_MS = 20, URL_SIZE = 4 * PATH_MAX };

/* What main and the foreman both see. */
struct board {
    _Atomic bool spared;
    _Atomic uint32_t killed;
    _Atomic uint32_t failed;
    char url[URL_SIZE]; /* written before the byte in the pipe */
};

struct weir_worker_pool {
    pid_t pool_process;
    int life; /* our end of the pipe */
    struct board *board;
};

/* ---- the foreman ------------------------------------------------------------------- */

struct pool_process {
    struct board *board;
    weir_worker_pool_fn work;
    int life;
    pid_t workers[WEIR_WORKER_POOL_WORKERS]; /* 0: none */
    uint32_t number;                         /* of the last that was made */
    uint64_t dice;
};

/* Signals of the terminal are main's affair, and so is what is read and written there. */
static void turn_away(void)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    int nowhere = open("/dev/null", O_RDWR);

    for (size_t i = 0; i < COUNT_OF(SIGNALS); i++)
        signal(SIGNALS[i], SIG_IGN);
    for (int fd = 0; fd <= 2 && nowhere >= 0; fd++)
        dup2(nowhere, fd);
    if (nowhere > 2)
        close(nowhere);
}

/* True: main is still there. */
static bool main_lives(const struct pool_process *self, int timeout_ms)
{
    struct pollfd end = {.fd = self->life, .events = POLLIN};

    return poll(&end, 1, timeout_ms) <= 0;
}

static void hire(struct pool_process *self, pid_t *worker)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit((int)self->work(self->board->url, self->number + 1, self->life));
    self->number++;
    *worker = pid > 0 ? pid : 0;
}

/* A worker that was killed, by the foreman or from another terminal, is no
 * failure. */
static void note_end(struct pool_process *self, pid_t *worker, int how)
{
    bool killed = WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
    bool done = WIFEXITED(how) && (WEXITSTATUS(how) == WEIR_WORKER_POOL_DONE ||
                                   WEXITSTATUS(how) == WEIR_WORKER_POOL_AGAIN);

    *worker = 0;
    atomic_fetch_add(&self->board->killed, killed);
    atomic_fetch_add(&self->board->failed, !killed && !done);
}

/* How many are left. */
static size_t reap(struct pool_process *self)
{
    size_t left = 0;

    for (int i = 0; i < WEIR_WORKER_POOL_WORKERS; i++) {
        pid_t *worker = &self->workers[i];
        int how = 0;

        if (*worker != 0 && waitpid(*worker, &how, WNOHANG) == *worker)
            note_end(self, worker, how);
        left += *worker != 0;
    }
    return left;
}

static uint64_t roll(struct pool_process *self, uint64_t sides)
{
    self->dice = weir_mix_u64(self->dice + 1);
    return self->dice % sides;
}

/* With no warning. */
static void kill_somebody(struct pool_process *self)
{
    pid_t *victim = &self->workers[roll(self, WEIR_WORKER_POOL_WORKERS)];
    int how = 0;

    if (*victim != 0 && kill(*victim, SIGKILL) == 0 &&
        waitpid(*victim, &how, 0) == *victim)
        note_end(self, victim, how);
}

static int64_t next_kill(struct pool_process *self)
{
    return weir_system_now_ns() + KILL_PERIOD_MIN +
           (int64_t)roll(self, (uint64_t)KILL_PERIOD_SPREAD);
}

static void keep_at_work(struct pool_process *self)
{
    int64_t kill_ns = next_kill(self);

    do {
        (void)reap(self);
        for (int i = 0; i < WEIR_WORKER_POOL_WORKERS; i++) {
            if (self->workers[i] == 0)
                hire(self, &self->workers[i]);
        }
        if (weir_system_now_ns() >= kill_ns && !self->board->spared) {
            kill_somebody(self);
            kill_ns = next_kill(self);
        }
    } while (main_lives(self, TICK_MS));
}

/* They see for themselves that main is gone. */
static void see_them_off(struct pool_process *self)
{
    int64_t deadline_ns = weir_system_now_ns() + LAST;

    while (reap(self) > 0 && weir_system_now_ns() < deadline_ns)
        (void)poll(NULL, 0, TICK_MS);
    for (int i = 0; i < WEIR_WORKER_POOL_WORKERS; i++) {
        if (self->workers[i] != 0)
            (void)kill(self->workers[i], SIGKILL);
    }
}

static void lead(struct board *board, weir_worker_pool_fn work, int life)
{
    struct pool_process self = {.board = board, .work = work, .life = life};
    char byte;

    turn_away();
    if (read(life, &byte, 1) != 1)
        return; /* it never came to that */
    self.dice = (uint64_t)weir_system_now_ns() ^ (uint64_t)getpid() << 32;
    keep_at_work(&self);
    see_them_off(&self);
}

/* ---- main's side ------------------------------------------------------------------- */

static enum weir_status failed(struct weir_error *error, const char *what)
{
    return weir_error_set(error, WEIR_SYSTEM, "%s: %s", what, strerror(errno));
}

static enum weir_status make_pool_process(struct weir_worker_pool *self,
                                          weir_worker_pool_fn work,
                                          struct weir_error *error)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return failed(error, "pipe");
    self->pool_process = fork();
    if (self->pool_process == 0) {
        close(ends[1]);
        lead(self->board, work, ends[0]);
        _exit(0);
    }
    close(ends[0]);
    self->life = ends[1];
    return self->pool_process > 0 ? WEIR_OK : failed(error, "fork");
}

enum weir_status weir_worker_pool_create(weir_worker_pool_fn work,
                                         struct weir_worker_pool **out,
                                         struct weir_error *error)
{
    struct weir_worker_pool *self = calloc(1, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, NULL);
    self->life = -1;
    self->pool_process = -1;
    self->board = mmap(NULL, sizeof *self->board, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (self->board == MAP_FAILED) {
        self->board = NULL;
        status = failed(error, "mmap");
    } else {
        status = make_pool_process(self, work, error);
    }
    if (status == WEIR_OK)
        *out = self;
    else
        weir_worker_pool_destroy(self);
    return status;
}

enum weir_status weir_worker_pool_begin(struct weir_worker_pool *self, const char *url,
                                        struct weir_error *error)
{
    weir_text_format(self->board->url, sizeof self->board->url, "%s", url);
    return write(self->life, "", 1) == 1 ? WEIR_OK : failed(error, "workers");
}

void weir_worker_pool_spare(struct weir_worker_pool *self)
{
    self->board->spared = true;
}

uint32_t weir_worker_pool_killed(const struct weir_worker_pool *self)
{
    return self->board->killed;
}

uint32_t weir_worker_pool_failed(const struct weir_worker_pool *self)
{
    return self->board->failed;
}

void weir_worker_pool_destroy(struct weir_worker_pool *self)
{
    if (self == NULL)
        return;
    if (self->life >= 0)
        close(self->life);
    if (self->pool_process > 0)
        (void)waitpid(self->pool_process, NULL, 0);
    if (self->board != NULL)
        munmap(self->board, sizeof *self->board);
    free(self);
}
