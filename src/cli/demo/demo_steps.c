/*
 * demo_steps.c - the steps of an order, and the worker process that does them: see
 * demo_orders.h.
 *
 * Any of them may be killed at any line, and is then done again by another worker. What
 * a step does beside its answer bears that: a call to the bank is reported with a key,
 * a letter is written anew with the same token.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/demo/demo_orders.h"
#include "db/connection.h"
#include "db/db.h"
#include "weir/budget.h"
#include "weir/execution_worker.h"
#include "weir/time.h"

#define GRACE WEIR_SECONDS(3)

enum {
    PERMITS = 16,    /* they sleep most of the time */
    LEASE_MS = 1000, /* so soon another worker takes over */
    RESERVE_MS = 60,
    CALL_MS = 20,
    CARRIER_MS = 100, /* and up to so much more: */
    CARRIER_SPREAD_MS = 400,
    BANK_FULL_MS = 100,
    LETTER_EXPIRES_MS = 60 * 60 * 1000,
    NUMBER_SIZE = 24
};

/* By primary key; the same again is the same letter. */
static const struct weir_sql SQL_WRITE_LETTER = {
    .name = "write letter",
    .text = "INSERT INTO " WEIR_ORDERS_LETTERS
            " (number, execution, waitpoint, token) VALUES ({1}, {2}, {3}, {4})"
            " ON CONFLICT (number) DO NOTHING",
    .parameters = "itbt",
};

/* What the handlers of a worker share. */
struct step_context {
    struct weir_db *db;
    struct weir_executions *executions;
};

/* The number of its order, which its input begins with. */
static int64_t order_of(const struct weir_task *task)
{
    const struct weir_claimed *claimed = weir_task_claimed(task);
    char text[NUMBER_SIZE];

    weir_text_format(text, sizeof text, "%.*s",
                     claimed->input_size < sizeof text ? (int)claimed->input_size : 0,
                     (const char *)claimed->input);
    return strtoll(text, NULL, 10);
}

static enum weir_answer reserve(struct weir_context *context, void *state,
                                struct weir_task *task)
{
    (void)state;
    if (weir_sleep(context, WEIR_MILLISECONDS(RESERVE_MS)) != WEIR_OK)
        return WEIR_NOT_ANSWERED;
    return weir_task_complete(task, NULL, 0);
}

/* ---- the bank ---------------------------------------------------------------------- */

static enum weir_answer charge(struct weir_context *context, void *state,
                               struct weir_task *task)
{
    const struct weir_amount call = {.dimension = WEIR_ORDERS_CALLS, .amount = 1};
    const struct weir_claimed *claimed = weir_task_claimed(task);
    struct step_context *step_context = state;
    char key[WEIR_EXECUTION_ID_TEXT_SIZE];
    struct weir_budget_answer answer;
    struct weir_error error;

    if (order_of(task) % WEIR_ORDERS_BUSY_EVERY == 0 && claimed->attempt == 0)
        return weir_task_fail(task, "the bank is busy");
    if (weir_budget_report(step_context->executions, WEIR_ORDERS_BUDGET,
                           &claimed->claim.id, &call, 1,
                           weir_execution_id_format(&claimed->claim.id, key), &answer,
                           &error) != WEIR_OK)
        return weir_task_fail(task, "%s", error.text);
    if (answer.spending == WEIR_NOT_SPENT) /* others were faster, in this second */
        return weir_task_delay(task, BANK_FULL_MS);
    if (weir_sleep(context, WEIR_MILLISECONDS(CALL_MS)) != WEIR_OK)
        return WEIR_NOT_ANSWERED;
    return weir_task_complete(task, NULL, 0);
}

/* ---- the boss ---------------------------------------------------------------------- */

enum word { NO_WORD, APPROVED, REFUSED };

static void note_word(void *state, const struct weir_signal_info *signal)
{
    *(enum word *)state = strcmp(signal->name, "approved") == 0 ? APPROVED : REFUSED;
}

static enum weir_status write_letter(struct step_context *step_context,
                                     const struct weir_task *task,
                                     const struct weir_waitpoint *waitpoint,
                                     struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    char id[WEIR_EXECUTION_ID_TEXT_SIZE];
    enum weir_status status = weir_db_acquire(step_context->db, &connection, error);

    weir_execution_id_format(&weir_task_claimed(task)->claim.id, id);
    if (status == WEIR_OK)
        status = weir_connection_execute(
            connection, &SQL_WRITE_LETTER,
            VALUES(weir_integer(order_of(task)), weir_text(weir_str(id)),
                   weir_bytes(waitpoint->uuid, WEIR_UUID_SIZE),
                   weir_text(weir_str(waitpoint->token))),
            NULL, error);
    weir_db_release(step_context->db, connection);
    return status;
}

/* First the letter, then the suspension: a worker that is killed in between gets the
 * same token again. */
static enum weir_status ask(struct step_context *step_context, struct weir_task *task,
                            bool *satisfied, struct weir_error *error)
{
    struct weir_waitpoint boss = {.key = WEIR_ORDERS_WAITPOINT};
    struct weir_suspend_options options;
    enum weir_status status = weir_task_waitpoint(task, &boss, LETTER_EXPIRES_MS, error);

    weir_suspend_options_init(&options);
    options.waitpoints = &boss;
    options.waitpoint_count = 1;
    options.until = "*@" WEIR_ORDERS_WAITPOINT;
    options.reason = WEIR_SUSPEND_APPROVAL;
    if (status == WEIR_OK)
        status = write_letter(step_context, task, &boss, error);
    if (status == WEIR_OK)
        status = weir_task_suspend(task, &options, satisfied, error);
    return status;
}

static enum weir_answer approve(struct weir_context *context, void *state,
                                struct weir_task *task)
{
    enum word word = NO_WORD;
    struct weir_error error;
    bool satisfied = false;

    (void)context;
    if (weir_task_signals(task, note_word, &word, &error) != WEIR_OK)
        return weir_task_fail(task, "%s", error.text);
    if (word == APPROVED)
        return weir_task_complete(task, NULL, 0);
    if (word == REFUSED)
        return weir_task_fail_for_good(task, "refused");
    if (ask(state, task, &satisfied, &error) != WEIR_OK)
        return weir_task_fail(task, "%s", error.text);
    return satisfied ? weir_task_delay(task, 0) : WEIR_ANSWERED;
}

/* ---- the carriers ------------------------------------------------------------------ */

/* Each takes its time; the slower one hears that it is not needed any more. */
static enum weir_answer drive(struct weir_context *context, struct weir_task *task,
                              int64_t spread)
{
    int64_t number = order_of(task);
    char result[2 * NUMBER_SIZE];
    size_t size;

    if (weir_sleep(context,
                   WEIR_MILLISECONDS(CARRIER_MS + number * spread % CARRIER_SPREAD_MS)) !=
        WEIR_OK)
        return WEIR_NOT_ANSWERED;
    size = weir_text_format(result, sizeof result, "%" PRId64 " by %s", number,
                            weir_task_claimed(task)->kind);
    return weir_task_complete(task, result, size);
}

static enum weir_answer go_north(struct weir_context *context, void *state,
                                 struct weir_task *task)
{
    (void)state;
    return drive(context, task, 37);
}

static enum weir_answer go_south(struct weir_context *context, void *state,
                                 struct weir_task *task)
{
    (void)state;
    return drive(context, task, 101);
}

static enum weir_answer ship(struct weir_context *context, void *state,
                             struct weir_task *task)
{
    const struct weir_claimed *claimed = weir_task_claimed(task);

    (void)context;
    (void)state;
    return weir_task_complete(task, claimed->input, claimed->input_size);
}

/* ---- the process ------------------------------------------------------------------- */

static const weir_task_fn HANDLERS[WEIR_STEP_COUNT] = {
    [WEIR_STEP_RESERVE] = reserve, [WEIR_STEP_CHARGE] = charge,
    [WEIR_STEP_APPROVE] = approve, [WEIR_STEP_NORTH] = go_north,
    [WEIR_STEP_SOUTH] = go_south,  [WEIR_STEP_SHIP] = ship,
};

static enum weir_status open_step_context(struct step_context *self, const char *url,
                                          struct weir_error *error)
{
    struct weir_db_options where;
    struct weir_executions_options flows;
    enum weir_status status;

    weir_db_options_init(&where);
    where.url = url;
    status = weir_db_create(&where, &self->db, error);
    if (status != WEIR_OK)
        return status;
    weir_executions_options_init(&flows);
    flows.db = self->db;
    return weir_executions_create(&flows, &self->executions, error);
}

static enum weir_status start(struct step_context *step_context, uint32_t number,
                              struct weir_execution_worker **out,
                              struct weir_error *error)
{
    static const char *const LANES[] = {WEIR_ORDERS_LANE};
    struct weir_execution_worker_options options;
    char instance[NUMBER_SIZE];
    enum weir_status status;

    weir_text_format(instance, sizeof instance, "worker-%" PRIu32, number);
    weir_execution_worker_options_init(&options);
    options.executions = step_context->executions;
    options.permits = PERMITS;
    options.claim.lanes = LANES;
    options.claim.lane_count = 1;
    options.claim.lease_ms = LEASE_MS;
    options.claim.worker = "demo";
    options.claim.instance = instance;
    status = weir_execution_worker_create(&options, out, error);
    for (int i = 0; i < WEIR_STEP_COUNT && status == WEIR_OK; i++)
        status = weir_execution_worker_add(*out, WEIR_STEP_NAMES[i], HANDLERS[i],
                                           step_context, error);
    if (status == WEIR_OK)
        status = weir_execution_worker_start(*out, error);
    return status;
}

enum weir_worker_pool_end weir_steps_work(const char *url, uint32_t number, int life)
{
    struct weir_execution_worker *worker = NULL;
    struct weir_error error = {0};
    struct step_context step_context = {.db = NULL};
    enum weir_status status = open_step_context(&step_context, url, &error);
    char byte;

    if (status == WEIR_OK)
        status = start(&step_context, number, &worker, &error);
    if (status == WEIR_OK) {
        (void)!read(life, &byte, 1); /* until main is gone */
        (void)weir_execution_worker_stop(worker, GRACE);
    }
    weir_execution_worker_destroy(worker);
    weir_executions_destroy(step_context.executions);
    weir_db_destroy(step_context.db);
    if (status == WEIR_OK)
        return WEIR_WORKER_POOL_DONE;
    return weir_status_class(status) == WEIR_CLASS_RETRY ? WEIR_WORKER_POOL_AGAIN
                                                         : WEIR_WORKER_POOL_BROKEN;
}
