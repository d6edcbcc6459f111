/*
 * flows_crash_shared.c - see flows_crash_shared.h.
 */
#include "crash/flows/flows_crash_shared.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/md5.h"
#include "crash/order/order_shared.h"
#include "weir/outbox.h"

uint32_t flows_crash_roll(struct flows_crash *self, uint32_t n)
{
    self->chance = order_mix(self->chance);
    return (uint32_t)(self->chance % n);
}

bool flows_crash_is_told_to_leave(struct flows_crash *self)
{
    return atomic_load(&self->shared->leave[self->process_slot]);
}

/* ---- calls ------------------------------------------------------------------------- */

void flows_crash_give_up(struct flows_crash *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    process_set_give_up(&self->shared->board, format, args);
}

bool flows_crash_went_well(struct flows_crash *self, const char *what,
                           enum weir_status status, const struct weir_error *error)
{
    if (status == WEIR_OK)
        return true;
    if (weir_status_class(status) != WEIR_CLASS_RETRY)
        flows_crash_give_up(self, "%s: %s: %s", what, weir_status_name(status),
                            error->text);
    if (status == WEIR_IN_DOUBT)
        atomic_fetch_add(&self->shared->doubts, 1);
    return false;
}

/* One that was begun by somebody who is gone may have been done. */
void flows_crash_begin(struct flows_crash_call *call)
{
    if (atomic_exchange(&call->begun, true) && !atomic_load(&call->answered))
        atomic_fetch_add(&call->doubts, 1);
}

bool flows_crash_again(struct flows_crash *self, struct flows_crash_call *call,
                       enum weir_status status)
{
    if (weir_status_class(status) != WEIR_CLASS_RETRY)
        return false;
    if (status == WEIR_IN_DOUBT) {
        atomic_fetch_add(&call->doubts, 1);
        atomic_fetch_add(&self->shared->doubts, 1);
    }
    order_rest_us(3000);
    return true;
}

/* ---- orders ------------------------------------------------------------------------ */

enum { ORDER_SIGNALS = 256 };

uint32_t flows_crash_order(int signal_number, uint32_t statements)
{
    return statements * ORDER_SIGNALS + (uint32_t)signal_number;
}

void flows_crash_pass(struct flows_crash *self)
{
    _Atomic uint32_t *mine = &self->shared->board.order[self->process_slot];
    uint32_t order = atomic_load(mine);

    while (order != 0) {
        bool now = order < 2 * ORDER_SIGNALS;

        if (!atomic_compare_exchange_weak(mine, &order, now ? 0 : order - ORDER_SIGNALS))
            continue;
        if (now)
            (void)raise((int)(order % ORDER_SIGNALS));
        return;
    }
}

/* ---- an engine --------------------------------------------------------------------- */

void flows_crash_open(struct flows_crash *self, struct flows_crash_client *out)
{
    struct weir_outbox_options outbox;
    struct weir_executions_options executions;
    struct weir_error error;

    (void)signal(SIGPIPE, SIG_IGN); /* drivers write to servers that are gone */
    out->db =
        process_set_open_db(self->fixture, &self->shared->points, &self->process, &error);
    if (out->db == NULL)
        flows_crash_give_up(self, "open: %s", error.text);
    weir_outbox_options_init(&outbox);
    outbox.db = out->db;
    outbox.stats_interval_ns = 0;
    while (!flows_crash_went_well(
        self, "create outbox", weir_outbox_create(&outbox, &out->outbox, &error), &error))
        order_rest_us(5000);
    weir_executions_options_init(&executions);
    executions.db = out->db;
    executions.outbox = out->outbox;
    executions.partitions = FLOWS_CRASH_PARTITIONS;
    while (!flows_crash_went_well(
        self, "create flow",
        weir_executions_create(&executions, &out->executions, &error), &error))
        order_rest_us(5000);
}

void flows_crash_close(struct flows_crash_client *client)
{
    weir_executions_destroy(client->executions);
    weir_outbox_destroy(client->outbox);
    weir_db_destroy(client->db);
}

/* ---- members ----------------------------------------------------------------------- */

uint32_t flows_crash_find(const struct flows_crash *self, const char *kind)
{
    const struct flows_crash_flow *its;
    uint32_t executions;
    uint32_t member;

    if (!flows_crash_read_kind(kind, &executions, &member) ||
        executions >= atomic_load(&self->shared->flow_count))
        return UINT32_MAX;
    its = &self->shared->flows[executions];
    return member < its->count ? its->first + member : UINT32_MAX;
}

struct flows_crash_plan flows_crash_plan_of(const struct flows_crash *self,
                                            uint32_t member)
{
    uint32_t executions = self->shared->members[member].executions;

    return flows_crash_plan(self->options->seed, executions,
                            member - self->shared->flows[executions].first);
}

void flows_crash_write_given(struct weir_str given, char *out)
{
    uint8_t digest[WEIR_MD5_SIZE];

    if (given.size < FLOWS_CRASH_NOTE_SIZE) {
        (void)snprintf(out, FLOWS_CRASH_NOTE_SIZE, "%.*s", (int)given.size,
                       given.size > 0 ? given.data : "");
        return;
    }
    weir_md5(given.data, given.size, digest);
    for (size_t i = 0; i < WEIR_MD5_SIZE; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void flows_crash_write_note(const struct flows_crash_claim *claim, char *out)
{
    (void)snprintf(out, FLOWS_CRASH_NOTE_SIZE,
                   "member %" PRIu32 " epoch %" PRId64 " process %" PRIu32, claim->member,
                   claim->epoch, claim->process);
}

/* ---- usage ------------------------------------------------------------------------- */

/* Until it is answered; what was refused may be tried with the same key later, and is
 * not here. */
static void report(struct flows_crash *self, struct flows_crash_client *client,
                   struct flows_crash_report *note, const char *key, bool again)
{
    struct weir_amount amounts[FLOWS_CRASH_DIMENSIONS];
    const struct weir_execution_id *id =
        note->member != UINT32_MAX ? &self->shared->members[note->member].id : NULL;
    struct weir_budget_answer answer;
    struct weir_error error;
    enum weir_status status;

    for (int i = 0; i < FLOWS_CRASH_DIMENSIONS; i++)
        amounts[i] =
            (struct weir_amount){FLOWS_CRASH_DIMENSION_NAMES[i], note->amounts[i]};
    do {
        status =
            weir_budget_report(client->executions, FLOWS_CRASH_BUDGET_NAMES[note->budget],
                               id, amounts, FLOWS_CRASH_DIMENSIONS, key, &answer, &error);
    } while (flows_crash_again(self, &note->call, status));
    if (status != WEIR_OK)
        flows_crash_give_up(self, "report: %s", error.text);
    atomic_store(again ? &note->again : &note->spending, (uint8_t)answer.spending + 1);
}

void flows_crash_spend(struct flows_crash *self, struct flows_crash_client *client,
                       uint32_t budget, uint32_t member)
{
    size_t slot = atomic_fetch_add(&self->shared->report_count, 1);
    struct flows_crash_report *note = &self->shared->reports[slot];
    char key[FLOWS_CRASH_NAME_SIZE];

    if (slot >= FLOWS_CRASH_REPORTS_MAX)
        flows_crash_give_up(self, "there is no room for more reports");
    (void)snprintf(key, sizeof key, "report %zu", slot);
    note->member = member;
    note->budget = budget;
    /* small ones fill a budget until nobody is admitted */
    for (int i = 0; i < FLOWS_CRASH_DIMENSIONS; i++)
        note->amounts[i] = 1 + flows_crash_roll(self, flows_crash_roll(self, 2) ? 2 : 10);
    flows_crash_begin(&note->call);
    report(self, client, note, key, false);
    if (atomic_load(&note->spending) - 1 != WEIR_NOT_SPENT &&
        flows_crash_roll(self, 6) == 0)
        report(self, client, note, key, true);
    atomic_store(&note->answered_us, process_set_now_us());
    atomic_store(&note->call.answered, true);
}
