/*
 * process_set.c - see process_set.h.
 */
#include "crash/rig/process_set.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crash/rig/rig.h"
#include "db/clock.h"
#include "db/db.h"

/* An order that is not obeyed by then is withdrawn. */
enum { ORDER_MS_MAX = 1500, AWAIT_S = 120 };

/* ---- beginning and end ------------------------------------------------------------- */

void process_set_start(struct process_set *self, uint32_t process_slot)
{
    pid_t parent = getpid();
    pid_t pid;

    self->process_slots[process_slot] = (struct process_set_process_slot){0};
    atomic_store(&self->board->order[process_slot], 0);
    (void)fflush(stdout);
    pid = fork();
    check(pid >= 0);
    self->process_slots[process_slot].pid = pid;
    if (pid > 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        self->live(self->state, process_slot);
    _exit(0);
}

void process_set_close_fixture(struct process_set *self)
{
    weir_db_destroy(self->fixture->db);
    self->fixture->db = NULL;
}

void process_set_open_fixture(struct process_set *self)
{
    struct weir_db_options options = fixture_options(self->fixture);

    if (self->fixture->db == NULL)
        self->fixture->db = fixture_open(self->fixture, &options);
}

void process_set_fail(struct process_set *self, const char *text)
{
    for (uint32_t i = 0; i < self->process_slot_count; i++) {
        if (self->process_slots[i].pid != 0) {
            (void)kill(self->process_slots[i].pid, SIGKILL);
            (void)waitpid(self->process_slots[i].pid, NULL, 0);
        }
    }
    process_set_open_fixture(self);
    weir_test_fail(__FILE__, __LINE__, "WEIR_SEED=%" PRIu64 ": %s", self->seed, text);
}

__attribute__((noreturn)) static void
fail_of_trouble(struct process_set *self,
                const struct process_set_process_slot *process_slot, int status)
{
    char text[64];

    rig_rest_us(100000); /* for the text of whoever was first */
    (void)snprintf(text, sizeof text, "the process of seat %d died, status %#x",
                   (int)(process_slot - self->process_slots), (unsigned)status);
    process_set_fail(self, self->board->troubled ? self->board->trouble : text);
}

void process_set_check(struct process_set *self)
{
    for (uint32_t i = 0; i < self->process_slot_count; i++) {
        struct process_set_process_slot *process_slot = &self->process_slots[i];
        int status = 0;

        if (process_slot->pid != 0 &&
            waitpid(process_slot->pid, &status, WNOHANG) == process_slot->pid) {
            process_slot->pid = 0;
            if (status != 0 || !self->may_leave)
                fail_of_trouble(self, process_slot, status);
        }
    }
}

void process_set_await(struct process_set *self, uint32_t number, const char *trouble)
{
    struct process_set_process_slot *process_slot = &self->process_slots[number];
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(AWAIT_S);
    int status = 0;

    while (process_slot->pid != 0 &&
           waitpid(process_slot->pid, &status, WNOHANG) != process_slot->pid) {
        if (weir_clock_now_ns() > end_ns)
            process_set_fail(self, trouble);
        process_set_let_go_on(self, false); /* it may wait for one of them */
        rig_rest_us(2000);
    }
    process_slot->pid = 0;
    if (status != 0)
        fail_of_trouble(self, process_slot, status);
}

void process_set_rest(struct process_set *self, uint32_t ms)
{
    int64_t end_ns = weir_clock_now_ns() + WEIR_MILLISECONDS((int64_t)ms);

    do {
        process_set_check(self);
        process_set_let_go_on(self, false);
        rig_rest_us(5000);
    } while (weir_clock_now_ns() < end_ns);
}

/* ---- those who lie ----------------------------------------------------------------- */

void process_set_lay(struct process_set *self, uint32_t process_slot, int64_t ms)
{
    self->process_slots[process_slot].until_ns =
        weir_clock_now_ns() + WEIR_MILLISECONDS(ms);
}

void process_set_go_on(struct process_set *self, uint32_t number)
{
    struct process_set_process_slot *process_slot = &self->process_slots[number];

    if (!process_slot->lies)
        return;
    (void)kill(process_slot->pid, SIGCONT);
    process_slot->lies = false;
    if (self->goes_on != NULL)
        self->goes_on(self->state, number);
}

void process_set_let_go_on(struct process_set *self, bool all)
{
    int64_t now_ns = weir_clock_now_ns();

    for (uint32_t i = 0; i < self->process_slot_count; i++) {
        if (all || self->process_slots[i].until_ns <= now_ns)
            process_set_go_on(self, i);
    }
}

uint32_t process_set_lying(const struct process_set *self)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < self->process_slot_count; i++)
        count += self->process_slots[i].lies;
    return count;
}

/* Others may write, for moments. */
bool process_set_blocks_everybody(struct process_set *self)
{
    if (self->fixture->engine != WEIR_SQLITE)
        return false;
    for (int i = 0; i < 20; i++) {
        if (fixture_is_unlocked(self->fixture, NULL))
            return false;
        rig_rest_us(5000);
    }
    return true;
}

/* ---- striking ---------------------------------------------------------------------- */

/* It has ended or stopped, by this signal and no other. */
static bool is_struck(struct process_set *self,
                      struct process_set_process_slot *process_slot, int signal_number,
                      int64_t wait_ns)
{
    int64_t end_ns = weir_clock_now_ns() + wait_ns;
    int status = 0;

    while (waitpid(process_slot->pid, &status, WNOHANG | WUNTRACED) == 0) {
        if (weir_clock_now_ns() > end_ns)
            return false;
        process_set_let_go_on(self, false);
        rig_rest_us(500);
    }
    if (WIFSTOPPED(status) && WSTOPSIG(status) == signal_number)
        return true;
    if (!WIFSTOPPED(status))
        process_slot->pid = 0;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != signal_number)
        fail_of_trouble(self, process_slot, status);
    return true;
}

/* False: it had no occasion to obey. */
static bool obeys(struct process_set *self, uint32_t process_slot, int signal_number,
                  uint32_t order)
{
    _Atomic uint32_t *board = &self->board->order[process_slot];

    atomic_store(board, order);
    return is_struck(self, &self->process_slots[process_slot], signal_number,
                     WEIR_MILLISECONDS(ORDER_MS_MAX)) ||
           (atomic_exchange(board, 0) == 0 &&
            is_struck(self, &self->process_slots[process_slot], signal_number,
                      WEIR_SECONDS(10)));
}

void process_set_strike(struct process_set *self, uint32_t number, int signal_number,
                        uint32_t order, bool *at_order, int64_t *begin_us)
{
    struct process_set_process_slot *process_slot = &self->process_slots[number];

    *begin_us = process_set_now_us();
    *at_order = order != 0 && obeys(self, number, signal_number, order);
    if (!*at_order) {
        *begin_us = process_set_now_us();
        (void)kill(process_slot->pid, signal_number);
        if (!is_struck(self, process_slot, signal_number, WEIR_SECONDS(10)))
            process_set_fail(self, "a process does not obey a signal");
    }
    if (signal_number == SIGSTOP) {
        process_slot->lies = true;
        process_slot->until_ns = INT64_MAX;
    }
}

/* ---- any process ------------------------------------------------------------------- */

int64_t process_set_now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void process_set_give_up(struct process_set_board *board, const char *format,
                         va_list args)
{
    if (!atomic_exchange(&board->troubled, true))
        (void)vsnprintf(board->trouble, sizeof board->trouble, format, args);
    _exit(1);
}

static void say(void *state, enum weir_log_level level, const char *line)
{
    const uint32_t *process = state;

    fprintf(stderr, "# %" PRId64 " ms: process %" PRIu32 ": %s %s\n",
            process_set_now_us() / 1000, *process, weir_log_level_name(level), line);
}

struct weir_db *process_set_open_db(const struct fixture *fixture,
                                    struct weir_fault_points *points, uint32_t *process,
                                    struct weir_error *error)
{
    struct weir_db_options options;
    struct weir_db *db = NULL;

    weir_error_clear(error);
    weir_db_options_init(&options);
    options.url = fixture->url;
    if (getenv("WEIR_VERBOSE") != NULL)
        options.log =
            (struct weir_log){.write = say, .state = process, .minimum = WEIR_LOG_INFO};
    if (weir_db_create(&options, &db, error) != WEIR_OK)
        return NULL;
    weir_db_set_fault_points(db, points);
    return db;
}
