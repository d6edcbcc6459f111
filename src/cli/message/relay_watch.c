/*
 * relay_watch.c - `weir relay` while it runs.
 *
 * The main thread delivers nothing. It looks at the health of each sink, and asks the
 * database: with --drain whether anything is left, as often as it can; else now and
 * then whether it is there, and the queues and subscriptions too. A relay may have
 * nothing to do for days, so that is one small statement for each.
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/message/relay.h"
#include "db/clock.h"
#include "weir/subscription.h"
#include "weir/time.h"

#define LOOK_PERIOD WEIR_MILLISECONDS(50)
#define ASK_PERIOD WEIR_SECONDS(5) /* without --drain */
#define COUNT_PERIOD WEIR_SECONDS(1)
#define AWAY_PERIOD WEIR_MILLISECONDS(500) /* of a database that is away at the start */

int64_t weir_relay_plan_delivered(const struct weir_relay_plan *plan)
{
    int64_t sum = 0;

    for (size_t i = 0; i < plan->count; i++)
        sum += (int64_t)weir_relay_delivered(plan->lines[i].relay);
    return sum;
}

/* ---- trouble ----------------------------------------------------------------------- */

static void give_up(struct weir_relay_plan *plan, const char *what, const char *why)
{
    plan->ending = WEIR_RELAY_GIVEN_UP;
    weir_text_format(plan->error, sizeof plan->error, "%s: %s", what, why);
}

/* `why` NULL: all is well. */
static void tell_trouble(struct weir_relay_plan *plan, struct weir_trouble *trouble,
                         const char *what, const char *why)
{
    enum weir_trouble_news news = weir_trouble_note(trouble, why, weir_clock_now_ns());

    if (news == WEIR_TROUBLE_NO_NEWS)
        return;
    weir_progress_end(&plan->progress); /* it is drawn again below */
    if (news == WEIR_TROUBLE_BEGINS)
        weir_command_note(plan->session.command, "%s: %s; trying again", what, why);
    else
        weir_command_note(plan->session.command, "%s: works again", what);
}

static void look_at_sink(struct weir_relay_plan *plan, struct weir_relay_line *line)
{
    struct weir_relay_health health;

    weir_relay_read_health(line->relay, &health);
    if (weir_status_class(health.status) == WEIR_CLASS_STOP)
        give_up(plan, line->queue, health.text);
    else
        tell_trouble(plan, &line->trouble, line->queue,
                     health.status == WEIR_OK ? NULL : health.text);
}

/* Nothing need be written for that to be seen: `weir relay --to stdout: | head -n 1`
 * ends. */
static bool reader_has_gone(void)
{
    struct pollfd file = {.fd = STDOUT_FILENO};

    return poll(&file, 1, 0) > 0 && (file.revents & (POLLERR | POLLHUP)) != 0;
}

/* ---- what is left ------------------------------------------------------------------ */

/* One that has something left is enough. */
static enum weir_status read_drained(struct weir_relay_plan *plan, bool *drained,
                                     struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    *drained = true;
    for (size_t i = 0; i < plan->count && status == WEIR_OK && *drained; i++)
        status = weir_relay_read_drained(plan->lines[i].relay, drained, error);
    return status;
}

static void ask_database(struct weir_relay_plan *plan)
{
    struct weir_error error = {0};
    bool drained = false;
    enum weir_status status =
        plan->drain ? read_drained(plan, &drained, &error) : WEIR_OK;
    enum weir_status_class class;

    /* A subscription that is gone has nothing left, and is not drained. */
    if (status == WEIR_OK && (drained || !plan->drain))
        status = weir_outbox_check_subscriptions(plan->session.outbox, &error);
    class = weir_status_class(status);

    plan->ask_ns = weir_clock_now_ns() + (plan->drain ? 0 : ASK_PERIOD);
    if (class == WEIR_CLASS_REJECT || class == WEIR_CLASS_STOP) {
        give_up(plan, "database", error.text);
        return;
    }
    if (status != WEIR_OK && plan->database.told) /* one line is enough, its words vary */
        weir_text_format(error.text, sizeof error.text, "%s", plan->database.text);
    tell_trouble(plan, &plan->database, "database",
                 status == WEIR_OK ? NULL : error.text);
    if (status == WEIR_OK && drained)
        plan->ending = WEIR_RELAY_DRAINED;
}

/* For the time left, which is shown on a terminal only. */
static void count_waiting(struct weir_relay_plan *plan)
{
    int64_t sum = 0;

    for (size_t i = 0; i < plan->count; i++) {
        int64_t waiting;
        bool exact;

        if (weir_relay_read_waiting(plan->lines[i].relay, &waiting, &exact, NULL) !=
            WEIR_OK)
            return; /* the query of the database reports it */
        sum += waiting;
    }
    plan->waiting = sum;
    if (plan->waiting_before == 0)
        plan->waiting_before = sum + weir_relay_plan_delivered(plan);
}

static void show_progress(struct weir_relay_plan *plan)
{
    int64_t now_ns = weir_clock_now_ns();

    if (!plan->progress.shown)
        return;
    if (plan->drain && now_ns >= plan->count_ns) {
        count_waiting(plan);
        plan->count_ns = now_ns + COUNT_PERIOD;
        plan->progress.whole = plan->waiting_before;
    }
    weir_progress_note(&plan->progress, weir_relay_plan_delivered(plan),
                       plan->waiting_before - plan->waiting);
}

/* ---- before it begins -------------------------------------------------------------- */

bool weir_relay_wait_for_database(void *state, const struct weir_error *error)
{
    struct weir_relay_plan *plan = state;

    if (!plan->database.told) /* one line is enough, its words vary */
        tell_trouble(plan, &plan->database, "database", error->text);
    plan->ended_waiting = !weir_interrupt_wait(AWAY_PERIOD);
    return !plan->ended_waiting;
}

/* ---- watching ---------------------------------------------------------------------- */

static void look(struct weir_relay_plan *plan)
{
    for (size_t i = 0; i < plan->count && plan->ending == WEIR_RELAY_RUNS; i++)
        look_at_sink(plan, &plan->lines[i]);
    if (plan->ending == WEIR_RELAY_RUNS && plan->to_standard_output && reader_has_gone())
        give_up(plan, plan->options.sink, "its reader has gone");
    if (plan->ending == WEIR_RELAY_RUNS && weir_clock_now_ns() >= plan->ask_ns)
        ask_database(plan);
    if (plan->ending == WEIR_RELAY_RUNS)
        show_progress(plan);
}

void weir_relay_watch(struct weir_relay_plan *plan)
{
    /* At first every connection is wanted for the first delivery. */
    plan->ask_ns = plan->drain ? 0 : weir_clock_now_ns() + ASK_PERIOD;
    do
        look(plan);
    while (plan->ending == WEIR_RELAY_RUNS && weir_interrupt_wait(LOOK_PERIOD));
    if (plan->ending == WEIR_RELAY_RUNS)
        plan->ending = WEIR_RELAY_STOPPED;
}
