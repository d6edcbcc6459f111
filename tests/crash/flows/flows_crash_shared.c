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
#include "weir/outbox.h"

/* ---- calls ------------------------------------------------------------------------- */

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
        atomic_fetch_add(&self->shared->rig.doubts, 1);
    }
    rig_rest_us(3000);
    return true;
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

    return flows_crash_plan(self->options->rig.seed, executions,
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
static void report(struct flows_crash *self, struct rig_client *client,
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
        rig_give_up(&self->rig, "report: %s", error.text);
    atomic_store(again ? &note->again : &note->spending, (uint8_t)answer.spending + 1);
}

void flows_crash_spend(struct flows_crash *self, struct rig_client *client,
                       uint32_t budget, uint32_t member)
{
    size_t slot = atomic_fetch_add(&self->shared->report_count, 1);
    struct flows_crash_report *note = &self->shared->reports[slot];
    char key[FLOWS_CRASH_NAME_SIZE];

    if (slot >= FLOWS_CRASH_REPORTS_MAX)
        rig_give_up(&self->rig, "there is no room for more reports");
    (void)snprintf(key, sizeof key, "report %zu", slot);
    note->member = member;
    note->budget = budget;
    /* small ones fill a budget until nobody is admitted */
    for (int i = 0; i < FLOWS_CRASH_DIMENSIONS; i++)
        note->amounts[i] = 1 + rig_roll(&self->rig, rig_roll(&self->rig, 2) ? 2 : 10);
    flows_crash_begin(&note->call);
    report(self, client, note, key, false);
    if (atomic_load(&note->spending) - 1 != WEIR_NOT_SPENT &&
        rig_roll(&self->rig, 6) == 0)
        report(self, client, note, key, true);
    atomic_store(&note->answered_us, process_set_now_us());
    atomic_store(&note->call.answered, true);
}
