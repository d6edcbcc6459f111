/*
 * order_shared.c - see order_shared.h.
 */
#include "crash/order/order_shared.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "db/db.h"

uint64_t order_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

uint32_t order_roll(struct order_run *self, uint32_t n)
{
    self->chance = order_mix(self->chance);
    return (uint32_t)(self->chance % n);
}

uint32_t order_roll_between(struct order_run *self, uint32_t low, uint32_t high)
{
    return low + order_roll(self, high - low + 1);
}

void order_rest_us(uint32_t us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

    (void)nanosleep(&time, NULL);
}

bool order_is_passing(const struct order_run *self, enum weir_status status)
{
    if (self->options->outages > 0)
        return weir_status_class(status) == WEIR_CLASS_RETRY;
    return status == WEIR_CONFLICT || status == WEIR_LOCKED || status == WEIR_BUSY ||
           status == WEIR_TIMEOUT;
}

void order_give_up(struct order_run *self, const char *format, ...)
{
    va_list args;

    if (!atomic_exchange(&self->shared->troubled, true)) {
        va_start(args, format);
        (void)vsnprintf(self->shared->trouble, sizeof self->shared->trouble, format,
                        args);
        va_end(args);
    }
    _exit(1);
}

void order_must(struct order_run *self, const char *what, enum weir_status status,
                const struct weir_error *error)
{
    if (status != WEIR_OK)
        order_give_up(self, "%s: %s: %s", what, weir_status_name(status), error->text);
}

static void say(void *state, enum weir_log_level level, const char *line)
{
    (void)state;
    fprintf(stderr, "# %d %s %s\n", (int)getpid(), weir_log_level_name(level), line);
}

struct weir_db *order_open_db(struct order_run *self)
{
    struct weir_db_options options;
    struct weir_error error;
    struct weir_db *db = NULL;

    weir_error_clear(&error);
    weir_db_options_init(&options);
    options.url = self->fixture->url;
    if (getenv("WEIR_VERBOSE") != NULL)
        options.log = (struct weir_log){.write = say, .minimum = WEIR_LOG_INFO};
    order_must(self, "open", weir_db_create(&options, &db, &error), &error);
    weir_db_set_fault_points(db, &self->shared->points);
    return db;
}
