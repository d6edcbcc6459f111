/*
 * demo_orders.c - see demo_orders.h: the clerk thread, which places orders and answers
 * letters.
 *
 * A letter is what a worker would send by mail: the id of the execution, and the token
 * with which to answer. Here it is a row in a table of the application's. It is removed
 * after it was answered; so one may be answered twice, with the same key, which counts
 * once.
 */
#include "cli/demo/demo_orders.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "db/db.h"
#include "db/query.h"
#include "ward/lock.h"
#include "ward/system.h"
#include "weir/budget.h"
#include "weir/flow.h"
#include "weir/suspension.h"
#include "weir/time.h"

#define TICK WEIR_MILLISECONDS(20)
#define MAIL_PERIOD WEIR_MILLISECONDS(300) /* the boss looks so often */
#define AFTER_TROUBLE WEIR_MILLISECONDS(200)
#define CATCH_UP_MAX WEIR_MILLISECONDS(500)
#define LAST_ORDER WEIR_SECONDS(10) /* to be placed, after closing time */

enum {
    ON_THE_WAY_SECONDS = 4, /* no more orders than are placed in that time */
    RETRIES = 5,
    RETRY_MS = 100,
    CALLS_PERIOD_MS = 1000,
    EDGE_COUNT = 6,
    LETTERS_MAX = 64, /* in one go */
    NUMBER_SIZE = 24
};

const char *const WEIR_STEP_NAMES[WEIR_STEP_COUNT] = {
    [WEIR_STEP_RESERVE] = "reserve", [WEIR_STEP_CHARGE] = "charge",
    [WEIR_STEP_APPROVE] = "approve", [WEIR_STEP_NORTH] = "north",
    [WEIR_STEP_SOUTH] = "south",     [WEIR_STEP_SHIP] = "ship",
};

static const struct {
    enum weir_demo_step from, to;
    bool passes_data; /* which carrier it was */
} EDGES[EDGE_COUNT] = {
    {WEIR_STEP_RESERVE, WEIR_STEP_CHARGE, false},
    {WEIR_STEP_CHARGE, WEIR_STEP_APPROVE, false},
    {WEIR_STEP_APPROVE, WEIR_STEP_NORTH, false},
    {WEIR_STEP_APPROVE, WEIR_STEP_SOUTH, false},
    {WEIR_STEP_NORTH, WEIR_STEP_SHIP, true},
    {WEIR_STEP_SOUTH, WEIR_STEP_SHIP, true},
};

#define SQL_CREATE_LETTERS                                                               \
    "CREATE TABLE " WEIR_ORDERS_LETTERS                                                  \
    " (number BIGINT PRIMARY KEY, execution TEXT NOT NULL, waitpoint BLOB NOT NULL,"     \
    " token TEXT NOT NULL)"

/* By primary key; the oldest first. */
static const struct weir_sql SQL_READ_LETTERS = {
    .name = "read letters",
    .text = "SELECT number, execution, waitpoint, token FROM " WEIR_ORDERS_LETTERS
            " ORDER BY number LIMIT {1}",
    .parameters = "i",
};
static const struct weir_sql SQL_REMOVE_LETTER = {
    .name = "remove letter",
    .text = "DELETE FROM " WEIR_ORDERS_LETTERS " WHERE number = {1}",
    .parameters = "i",
};

struct letter {
    int64_t number;
    char execution[WEIR_EXECUTION_ID_TEXT_SIZE];
    uint8_t waitpoint[WEIR_UUID_SIZE];
    char token[WEIR_TOKEN_TEXT_SIZE];
};

/* An order that is being placed; kept until it is, so that a repeated call is the
 * same. */
struct order {
    bool created;
    struct weir_flow_id flow;
    struct weir_execution_id steps[WEIR_STEP_COUNT];
};

struct weir_orders {
    struct weir_db *db;                 /* borrowed */
    struct weir_executions *executions; /* borrowed */
    int64_t rate;
    _Atomic int64_t placed;
    _Atomic int64_t ended;

    /* the clerk's */
    pthread_t thread;
    bool started;
    int64_t due_ns;  /* of the next order */
    int64_t mail_ns; /* of the next look at the letters */
    struct order order;
    struct letter letters[LETTERS_MAX];
    size_t letter_count;

    struct weir_lock lock;    /* guards all that follows */
    struct weir_cond changed; /* for the clerk */
    struct weir_cond settled; /* for close() */
    bool closed;
    bool quiet; /* the clerk has seen that, and is in the middle of nothing */
    bool home;
    struct weir_error trouble; /* status WEIR_OK: none */
};

int64_t weir_orders_calls(int64_t rate)
{
    int64_t calls = rate * 4 / 5;

    return calls > 0 ? calls : 1;
}

/* ---- placing orders ---------------------------------------------------------------- */

static void draft_steps(const struct order *order, const char *number,
                        const struct weir_execution_policy *policy,
                        struct weir_execution_draft *out)
{
    static const char *const BUDGETS[] = {WEIR_ORDERS_BUDGET};

    for (int i = 0; i < WEIR_STEP_COUNT; i++)
        out[i] = (struct weir_execution_draft){.id = &order->steps[i],
                                               .lane = WEIR_ORDERS_LANE,
                                               .kind = WEIR_STEP_NAMES[i],
                                               .name = WEIR_STEP_NAMES[i],
                                               .input = number,
                                               .input_size = strlen(number),
                                               .policy = policy};
    out[WEIR_STEP_CHARGE].budgets = BUDGETS;
    out[WEIR_STEP_CHARGE].budget_count = 1;
}

/* All of it in one call: no step can begin before its place is known. */
static enum weir_status extend(struct weir_orders *self, struct weir_error *error)
{
    const struct order *order = &self->order;
    struct weir_execution_draft drafts[WEIR_STEP_COUNT];
    struct weir_flow_edge edges[EDGE_COUNT];
    const struct weir_flow_join race = {.to = order->steps[WEIR_STEP_SHIP],
                                        .policy = WEIR_JOIN_ANY,
                                        .cancel_remaining = true};
    const struct weir_flow_extension extension = {.members = drafts,
                                                  .member_count = WEIR_STEP_COUNT,
                                                  .edges = edges,
                                                  .edge_count = EDGE_COUNT,
                                                  .joins = &race,
                                                  .join_count = 1,
                                                  .revision = -1};
    struct weir_execution_policy policy;
    char number[NUMBER_SIZE];

    weir_execution_policy_init(&policy);
    policy.retries_max = RETRIES;
    policy.backoff_initial_ms = RETRY_MS;
    weir_text_format(number, sizeof number, "%" PRId64, self->placed + 1);
    draft_steps(order, number, &policy, drafts);
    for (int i = 0; i < EDGE_COUNT; i++)
        edges[i] = (struct weir_flow_edge){.from = order->steps[EDGES[i].from],
                                           .to = order->steps[EDGES[i].to],
                                           .passes_data = EDGES[i].passes_data};
    return weir_flow_extend(self->executions, NULL, &order->flow, &extension, NULL,
                            error);
}

static enum weir_status place_order(struct weir_orders *self, struct weir_error *error)
{
    const struct weir_flow_draft draft = {.kind = WEIR_ORDERS_FLOW};
    struct order *order = &self->order;
    enum weir_status status = WEIR_OK;

    if (!order->created) {
        status = weir_flow_create(self->executions, &draft, &order->flow, error);
        if (status != WEIR_OK)
            return status;
        weir_flow_mint(self->executions, &order->flow, order->steps, WEIR_STEP_COUNT);
        order->created = true;
    }
    status = extend(self, error);
    if (status == WEIR_OK) {
        order->created = false;
        atomic_fetch_add(&self->placed, 1);
    }
    return status;
}

/* One that was begun is finished, whatever else. */
static bool is_due(struct weir_orders *self, bool closed, int64_t now_ns)
{
    if (self->order.created)
        return true;
    return !closed && now_ns >= self->due_ns &&
           self->placed - self->ended < ON_THE_WAY_SECONDS * self->rate;
}

static enum weir_status place_what_is_due(struct weir_orders *self, bool closed,
                                          struct weir_error *error)
{
    int64_t now_ns = weir_system_now_ns();
    enum weir_status status = WEIR_OK;

    if (self->due_ns < now_ns - CATCH_UP_MAX)
        self->due_ns = now_ns - CATCH_UP_MAX;
    while (status == WEIR_OK && is_due(self, closed, now_ns)) {
        status = place_order(self, error);
        if (status == WEIR_OK)
            self->due_ns += WEIR_SECONDS(1) / self->rate;
    }
    return status;
}

/* ---- letters ----------------------------------------------------------------------- */

static const struct weir_column LETTER[] = {
    COLUMN(struct letter, number, INTEGER),
    COLUMN(struct letter, execution, CHARS),
    COLUMN(struct letter, waitpoint, FIXED_OR_NONE),
    COLUMN(struct letter, token, CHARS),
};

static enum weir_status keep_letter(void *state, struct weir_rows *rows,
                                    struct weir_error *error)
{
    struct weir_orders *self = state;
    enum weir_status status =
        weir_row_read(rows, COLUMNS(LETTER), &self->letters[self->letter_count], error);

    self->letter_count += status == WEIR_OK;
    return status;
}

static enum weir_status read_letters(struct weir_orders *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    self->letter_count = 0;
    if (status == WEIR_OK)
        status =
            weir_query_each(connection, &SQL_READ_LETTERS,
                            VALUES(weir_integer(LETTERS_MAX)), keep_letter, self, error);
    weir_db_release(self->db, connection);
    return status;
}

static enum weir_status remove_letter(struct weir_orders *self, int64_t number,
                                      struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_execute(connection, &SQL_REMOVE_LETTER,
                                         VALUES(weir_integer(number)), NULL, error);
    weir_db_release(self->db, connection);
    return status;
}

static enum weir_status answer(struct weir_orders *self, const struct letter *letter,
                               struct weir_error *error)
{
    bool refused = letter->number % WEIR_ORDERS_REFUSED_EVERY == 0;
    struct weir_signal signal = {.token = letter->token,
                                 .name = refused ? "refused" : "approved",
                                 .source_type = "user",
                                 .source = "boss",
                                 .key = "answer"};
    enum weir_signal_effect effect;
    enum weir_status status =
        weir_execution_id_parse(letter->execution, &signal.id, error);

    memcpy(signal.waitpoint, letter->waitpoint, WEIR_UUID_SIZE);
    if (status == WEIR_OK)
        status = weir_execution_signal(self->executions, &signal, &effect, error);
    return status == WEIR_OK ? remove_letter(self, letter->number, error) : status;
}

static enum weir_status answer_letters(struct weir_orders *self, struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (weir_system_now_ns() < self->mail_ns)
        return WEIR_OK;
    self->mail_ns = weir_system_now_ns() + MAIL_PERIOD;
    status = read_letters(self, error);
    for (size_t i = 0; i < self->letter_count && status == WEIR_OK; i++)
        status = answer(self, &self->letters[i], error);
    return status;
}

/* ---- the clerk --------------------------------------------------------------------- */

static void note_trouble(struct weir_orders *self, const struct weir_error *error)
{
    weir_lock_acquire(&self->lock);
    self->trouble = *error;
    weir_lock_release(&self->lock);
}

static void note_quiet(struct weir_orders *self)
{
    weir_lock_acquire(&self->lock);
    self->quiet = true;
    weir_cond_signal(&self->settled);
    weir_lock_release(&self->lock);
}

/* False: it is time to go home. */
static bool wait_for_tick(struct weir_orders *self, int64_t pause_ns, bool *closed)
{
    int64_t tick_ns = weir_system_now_ns() + pause_ns;
    bool in_time = true, home;

    weir_lock_acquire(&self->lock);
    while (!self->home && in_time)
        in_time = weir_cond_wait_until(&self->changed, &self->lock, tick_ns);
    home = self->home;
    *closed = self->closed;
    weir_lock_release(&self->lock);
    return !home;
}

static void *serve(void *state)
{
    struct weir_orders *self = state;
    enum weir_status status = WEIR_OK;
    bool closed = false;

    self->due_ns = weir_system_now_ns();
    do {
        struct weir_error error = {0};

        status = place_what_is_due(self, closed, &error);
        if (closed && !self->order.created)
            note_quiet(self);
        if (status == WEIR_OK)
            status = answer_letters(self, &error);
        if (status == WEIR_OK)
            weir_error_clear(&error); /* of attempts before: the trouble is over */
        note_trouble(self, &error);
    } while (wait_for_tick(self, status == WEIR_OK ? TICK : AFTER_TROUBLE, &closed));
    return NULL;
}

/* ---- life -------------------------------------------------------------------------- */

static enum weir_status make_letters(struct weir_orders *self, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->db, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_execute_text(connection, SQL_CREATE_LETTERS, error);
    weir_db_release(self->db, connection);
    return status;
}

static enum weir_status make_budget(struct weir_orders *self, struct weir_error *error)
{
    const struct weir_budget_limit limit = {.dimension = WEIR_ORDERS_CALLS,
                                            .hard = weir_orders_calls(self->rate)};
    const struct weir_budget_draft draft = {.name = WEIR_ORDERS_BUDGET,
                                            .period_ms = CALLS_PERIOD_MS,
                                            .limits = &limit,
                                            .limit_count = 1};
    bool existed;

    return weir_budget_create(self->executions, &draft, &existed, error);
}

static enum weir_status init_lock(struct weir_orders *self, struct weir_error *error)
{
    enum weir_status status = weir_lock_init(&self->lock);

    if (status != WEIR_OK)
        goto no_lock;
    status = weir_cond_init(&self->changed);
    if (status != WEIR_OK)
        goto no_changed;
    status = weir_cond_init(&self->settled);
    if (status == WEIR_OK)
        return WEIR_OK;

    weir_cond_fini(&self->changed);
no_changed:
    weir_lock_fini(&self->lock);
no_lock:
    return weir_error_set(error, status, "no lock");
}

enum weir_status weir_orders_create(const struct weir_orders_options *options,
                                    struct weir_orders **out, struct weir_error *error)
{
    struct weir_orders *self = calloc(1, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, NULL);
    self->db = options->db;
    self->executions = options->executions;
    self->rate = options->rate;
    status = init_lock(self, error);
    if (status != WEIR_OK) {
        free(self);
        return status;
    }
    status = make_letters(self, error);
    if (status == WEIR_OK)
        status = make_budget(self, error);
    if (status == WEIR_OK)
        *out = self;
    else
        weir_orders_destroy(self);
    return status;
}

enum weir_status weir_orders_open(struct weir_orders *self, struct weir_error *error)
{
    if (pthread_create(&self->thread, NULL, serve, self) != 0)
        return weir_error_set(error, WEIR_SYSTEM, "no thread could be started");
    self->started = true;
    return WEIR_OK;
}

void weir_orders_close(struct weir_orders *self)
{
    int64_t deadline_ns = weir_system_now_ns() + LAST_ORDER;
    bool in_time = true;

    weir_lock_acquire(&self->lock);
    self->closed = true;
    while (!self->quiet && in_time)
        in_time = weir_cond_wait_until(&self->settled, &self->lock, deadline_ns);
    weir_lock_release(&self->lock);
}

void weir_orders_destroy(struct weir_orders *self)
{
    if (self == NULL)
        return;
    weir_lock_acquire(&self->lock);
    self->home = true;
    weir_cond_signal(&self->changed);
    weir_lock_release(&self->lock);
    if (self->started)
        pthread_join(self->thread, NULL);
    weir_cond_fini(&self->settled);
    weir_cond_fini(&self->changed);
    weir_lock_fini(&self->lock);
    free(self);
}

int64_t weir_orders_placed(struct weir_orders *self)
{
    return self->placed;
}

void weir_orders_note_ended(struct weir_orders *self, int64_t ended)
{
    self->ended = ended;
}

enum weir_status weir_orders_trouble(struct weir_orders *self, struct weir_error *out)
{
    weir_lock_acquire(&self->lock);
    *out = self->trouble;
    weir_lock_release(&self->lock);
    return out->status;
}
