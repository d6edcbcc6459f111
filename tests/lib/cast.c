/*
 * cast.c - see cast.h.
 */
#include "lib/cast.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db/clock.h"
#include "db/db.h"
#include "lib/order_shared.h"

/* An order that is not obeyed by then is withdrawn. */
enum { ORDER_MS_MAX = 1500 };

/* ---- beginning and end -------------------------------------------------------------------- */

void cast_start(struct cast *self, uint32_t seat)
{
    pid_t parent = getpid();
    pid_t pid;

    self->seats[seat] = (struct cast_seat){0};
    atomic_store(&self->board->order[seat], 0);
    (void)fflush(stdout);
    pid = fork();
    check(pid >= 0);
    self->seats[seat].pid = pid;
    if (pid > 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        self->live(self->state, seat);
    _exit(0);
}

void cast_close_fixture(struct cast *self)
{
    weir_db_destroy(self->fixture->db);
    self->fixture->db = NULL;
}

void cast_open_fixture(struct cast *self)
{
    struct weir_db_options options = fixture_options(self->fixture);

    if (self->fixture->db == NULL)
        self->fixture->db = fixture_open(self->fixture, &options);
}

void cast_fail(struct cast *self, const char *text)
{
    for (uint32_t i = 0; i < self->seat_count; i++) {
        if (self->seats[i].pid != 0) {
            (void)kill(self->seats[i].pid, SIGKILL);
            (void)waitpid(self->seats[i].pid, NULL, 0);
        }
    }
    cast_open_fixture(self);
    weir_test_fail(__FILE__, __LINE__, "WEIR_SEED=%" PRIu64 ": %s", self->seed, text);
}

__attribute__((noreturn)) static void
fail_of_trouble(struct cast *self, const struct cast_seat *seat, int status)
{
    char text[64];

    order_rest_us(100000); /* for the text of whoever was first */
    (void)snprintf(text, sizeof text, "the process of seat %d died, status %#x",
                   (int)(seat - self->seats), (unsigned)status);
    cast_fail(self, self->board->troubled ? self->board->trouble : text);
}

void cast_check(struct cast *self)
{
    for (uint32_t i = 0; i < self->seat_count; i++) {
        struct cast_seat *seat = &self->seats[i];
        int status = 0;

        if (seat->pid != 0 && waitpid(seat->pid, &status, WNOHANG) == seat->pid) {
            seat->pid = 0;
            fail_of_trouble(self, seat, status);
        }
    }
}

void cast_await(struct cast *self, uint32_t number, const char *trouble)
{
    struct cast_seat *seat = &self->seats[number];
    int64_t end_ns = weir_clock_now_ns() + WEIR_SECONDS(60);
    int status = 0;

    while (waitpid(seat->pid, &status, WNOHANG) != seat->pid) {
        if (weir_clock_now_ns() > end_ns)
            cast_fail(self, trouble);
        cast_let_go_on(self, false); /* it may wait for one of them */
        order_rest_us(2000);
    }
    seat->pid = 0;
    if (status != 0)
        fail_of_trouble(self, seat, status);
}

void cast_rest(struct cast *self, uint32_t ms)
{
    int64_t end_ns = weir_clock_now_ns() + WEIR_MILLISECONDS((int64_t)ms);

    do {
        cast_check(self);
        cast_let_go_on(self, false);
        order_rest_us(5000);
    } while (weir_clock_now_ns() < end_ns);
}

/* ---- those who lie ------------------------------------------------------------------------ */

void cast_lay(struct cast *self, uint32_t seat, int64_t ms)
{
    self->seats[seat].until_ns = weir_clock_now_ns() + WEIR_MILLISECONDS(ms);
}

void cast_go_on(struct cast *self, uint32_t number)
{
    struct cast_seat *seat = &self->seats[number];

    if (!seat->lies)
        return;
    (void)kill(seat->pid, SIGCONT);
    seat->lies = false;
    if (self->goes_on != NULL)
        self->goes_on(self->state, number);
}

void cast_let_go_on(struct cast *self, bool all)
{
    int64_t now_ns = weir_clock_now_ns();

    for (uint32_t i = 0; i < self->seat_count; i++) {
        if (all || self->seats[i].until_ns <= now_ns)
            cast_go_on(self, i);
    }
}

uint32_t cast_lying(const struct cast *self)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < self->seat_count; i++)
        count += self->seats[i].lies;
    return count;
}

/* Others may write, for moments. */
bool cast_blocks_everybody(struct cast *self)
{
    if (self->fixture->engine != WEIR_SQLITE)
        return false;
    for (int i = 0; i < 20; i++) {
        if (fixture_is_unlocked(self->fixture, NULL))
            return false;
        order_rest_us(5000);
    }
    return true;
}

/* ---- striking ----------------------------------------------------------------------------- */

/* It has ended or stopped, by this signal and no other. */
static bool is_struck(struct cast *self, struct cast_seat *seat, int signal_number,
                      int64_t wait_ns)
{
    int64_t end_ns = weir_clock_now_ns() + wait_ns;
    int status = 0;

    while (waitpid(seat->pid, &status, WNOHANG | WUNTRACED) == 0) {
        if (weir_clock_now_ns() > end_ns)
            return false;
        cast_let_go_on(self, false);
        order_rest_us(500);
    }
    if (WIFSTOPPED(status) && WSTOPSIG(status) == signal_number)
        return true;
    if (!WIFSTOPPED(status))
        seat->pid = 0;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != signal_number)
        fail_of_trouble(self, seat, status);
    return true;
}

/* False: it had no occasion to obey. */
static bool obeys(struct cast *self, uint32_t seat, int signal_number, uint32_t order)
{
    _Atomic uint32_t *board = &self->board->order[seat];

    atomic_store(board, order);
    return is_struck(self, &self->seats[seat], signal_number,
                     WEIR_MILLISECONDS(ORDER_MS_MAX)) ||
           (atomic_exchange(board, 0) == 0 &&
            is_struck(self, &self->seats[seat], signal_number, WEIR_SECONDS(10)));
}

void cast_strike(struct cast *self, uint32_t number, int signal_number, uint32_t order,
                 bool *at_order, int64_t *begin_us)
{
    struct cast_seat *seat = &self->seats[number];

    *begin_us = cast_now_us();
    *at_order = order != 0 && obeys(self, number, signal_number, order);
    if (!*at_order) {
        *begin_us = cast_now_us();
        (void)kill(seat->pid, signal_number);
        if (!is_struck(self, seat, signal_number, WEIR_SECONDS(10)))
            cast_fail(self, "a process does not obey a signal");
    }
    if (signal_number == SIGSTOP) {
        seat->lies = true;
        seat->until_ns = INT64_MAX;
    }
}

/* ---- any process -------------------------------------------------------------------------- */

int64_t cast_now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void cast_give_up(struct cast_board *board, const char *format, va_list args)
{
    if (!atomic_exchange(&board->troubled, true))
        (void)vsnprintf(board->trouble, sizeof board->trouble, format, args);
    _exit(1);
}

static void say(void *state, enum weir_log_level level, const char *line)
{
    const uint32_t *process = state;

    fprintf(stderr, "# %" PRId64 " ms: process %" PRIu32 ": %s %s\n",
            cast_now_us() / 1000, *process, weir_log_level_name(level), line);
}

struct weir_db *cast_open_db(const struct fixture *fixture,
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
