/*
 * log_interleaving.c - see log_interleaving.h.
 */
#include "kit/outbox/log_interleaving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "kit/outbox/outbox_engines.h"
#include "kit/outbox/pg_outbox.h"
#include "outbox/lease/lease.h"
#include "outbox/postgres/append.h"
#include "outbox/postgres/cut.h"
#include "outbox/postgres/engine.h"
#include "outbox/postgres/read.h"
#include "outbox/postgres/sweep.h"
#include "outbox/schema.h"

enum {
    BITS = 6, /* of a segment: 64 ids */
    PAYLOAD_SIZE = 64,
    PAYLOADS_MAX = 1000000,
    PAGE_ROWS = 3,   /* of who reads from the start again */
    TIDY_ORDERS = 32 /* between two rounds of the sweep */
};

static const int64_t LEASE_US = 3600000000;

static void must(const struct log_interleaving_session *self, const char *what,
                 enum weir_status status)
{
    if (status != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s: %s", what, self->error.text);
}

/* ---- life -------------------------------------------------------------------------- */

/* A server that keeps nothing, and knows transactions in two phases. */
static struct server *quick_server(void)
{
    static const char *const settings[] = {"fsync=off", "max_prepared_transactions=8",
                                           "jit=off",
                                           "plan_cache_mode=force_generic_plan", NULL};
    static struct server *server;

    if (server == NULL)
        server = server_create(WEIR_POSTGRESQL,
                               &(struct server_options){.settings = settings});
    return server;
}

static void open_session(struct log_interleaving *log_interleaving,
                         struct log_interleaving_session *self)
{
    struct fixture *fixture = &log_interleaving->fixture;
    struct weir_db_options options;

    self->log_interleaving = log_interleaving;
    weir_fault_points_init(&self->points);
    self->log = (struct weir_outbox_log){
        .ops = &weir_log_postgresql, .segment_bits = BITS, .points = &self->points};
    weir_db_options_init(&options);
    options.url = fixture->url;
    self->db = fixture_open(fixture, &options);
    weir_db_set_fault_points(self->db, &self->points);
    check_db(weir_db_acquire(self->db, &self->connection, &fixture->error), WEIR_OK);
    self->bare = weir_connection_native(self->connection);
    /* A session waits while the others have their turn, however slow the machine is. */
    pg_run(self->bare, "SET idle_in_transaction_session_timeout = 0");
}

static void close_session(struct log_interleaving_session *self)
{
    weir_db_release(self->db, self->connection);
    weir_db_destroy(self->db);
}

static void open_database(struct fixture *fixture)
{
    struct weir_db_options options;
    uint32_t from = 0;
    uint32_t to = 0;

    fixture->engine = WEIR_POSTGRESQL;
    fixture->server = quick_server();
    server_name_database(fixture->database, sizeof fixture->database);
    server_create_database(fixture->server, fixture->database);
    server_url(fixture->server, fixture->database, fixture->url, sizeof fixture->url);
    weir_faulty_heap_init(&fixture->heap);
    options = fixture_options(fixture);
    fixture->db = fixture_open(fixture, &options);
    check_db(weir_schema_migrate(&weir_outbox_schema, fixture->db, &from, &to,
                                 &fixture->error),
             WEIR_OK);
    outbox_small_segments(fixture, BITS);
}

/* Every cut was made long ago. */
static void remove_pace(struct log_interleaving_session *control)
{
    pg_run(control->bare, "CREATE FUNCTION long_ago() RETURNS trigger LANGUAGE plpgsql AS"
                          " 'BEGIN NEW.made_us = 0; RETURN NEW; END';"
                          "CREATE TRIGGER long_ago BEFORE INSERT ON weir_cut"
                          " FOR EACH ROW EXECUTE FUNCTION long_ago()");
}

static void prepare_message(struct log_interleaving *self)
{
    int t = log_interleaving_begin(&self->control);

    log_interleaving_append(&self->control, t);
    log_interleaving_end(&self->control, t);
}

struct log_interleaving *log_interleaving_open(void)
{
    struct log_interleaving *self = calloc(1, sizeof *self);
    int64_t queue;

    check(self != NULL);
    open_database(&self->fixture);
    pthread_mutex_init(&self->lock, NULL);
    open_session(self, &self->control);
    for (size_t i = 0; i < INTERLEAVING_INTERLEAVED_SESSIONS_MAX; i++)
        open_session(self, &self->sessions[i]);
    remove_pace(&self->control);
    queue = pg_outbox_queue(self->control.bare, "orders", 1);
    self->key.pid = weir_pid(queue, 0);
    self->key.subscription = pg_outbox_subscribe(self->control.bare, queue, "s");
    self->prepare = prepare_message;
    return self;
}

void log_interleaving_close(struct log_interleaving *self)
{
    for (size_t i = 0; i < INTERLEAVING_INTERLEAVED_SESSIONS_MAX; i++)
        close_session(&self->sessions[i]);
    close_session(&self->control);
    weir_db_destroy(self->fixture.db);
    server_drop_database(self->fixture.server, self->fixture.database);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

void log_interleaving_use(struct log_interleaving *self,
                          const struct interleaving_part *part)
{
    size_t i = self->interleaved_session_count++;
    struct log_interleaving_session *session = &self->sessions[i];

    self->interleaved_sessions[i] = (struct interleaved_session){
        .part = part, .state = session, .backend = PQbackendPID(session->bare)};
}

/* ---- notes ------------------------------------------------------------------------- */

static void note_problem(struct log_interleaving *self, const char *problem)
{
    pthread_mutex_lock(&self->lock);
    self->problem = problem;
    pthread_mutex_unlock(&self->lock);
}

int log_interleaving_begin(struct log_interleaving_session *self)
{
    int t;

    pthread_mutex_lock(&self->log_interleaving->lock);
    t = self->log_interleaving->transaction_count++;
    pthread_mutex_unlock(&self->log_interleaving->lock);
    check(t < LOG_INTERLEAVING_TRANSACTIONS_MAX);
    return t;
}

void log_interleaving_end(struct log_interleaving_session *self, int t)
{
    struct log_interleaving *log_interleaving = self->log_interleaving;

    pthread_mutex_lock(&log_interleaving->lock);
    log_interleaving->transactions[t].committed = true;
    log_interleaving->ended[log_interleaving->ended_count++] = t;
    pthread_mutex_unlock(&log_interleaving->lock);
}

void log_interleaving_undo(struct log_interleaving_session *self, int t)
{
    pthread_mutex_lock(&self->log_interleaving->lock);
    self->log_interleaving->transactions[t].count--;
    pthread_mutex_unlock(&self->log_interleaving->lock);
}

void log_interleaving_payload(struct log_interleaving_session *self, int t, char *out,
                              size_t size)
{
    struct log_interleaving *log_interleaving = self->log_interleaving;

    pthread_mutex_lock(&log_interleaving->lock);
    (void)snprintf(out, size, "%d %d %d %d", log_interleaving->order, t,
                   log_interleaving->transactions[t].count++,
                   log_interleaving->ended_count);
    pthread_mutex_unlock(&log_interleaving->lock);
}

/* ---- in strands -------------------------------------------------------------------- */

void log_interleaving_append(struct log_interleaving_session *self, int t)
{
    struct weir_log_entry entry = {.pid = self->log_interleaving->key.pid,
                                   .type = weir_str("t")};
    char payload[PAYLOAD_SIZE];

    log_interleaving_payload(self, t, payload, sizeof payload);
    entry.payload = weir_str(payload);
    must(self, "append",
         weir_pg_append(&self->log, self->connection, &entry, 1, NULL, &self->error));
}

static enum weir_status deliver(void *state, const struct weir_log_row *row,
                                struct weir_error *error)
{
    struct log_interleaving_reading *got = state;
    struct log_interleaving_delivery *next = &got->list[got->count];
    char text[PAYLOAD_SIZE];

    if (got->count == LOG_INTERLEAVING_DELIVERIES_MAX)
        return weir_error_set(error, WEIR_FULL, "more messages than an order has");
    (void)snprintf(text, sizeof text, "%.*s", (int)row->payload.size,
                   (const char *)row->payload.data);
    *next = (struct log_interleaving_delivery){.log_position = row->log_position,
                                               .id = row->id};
    if (sscanf(text, "%d %d %d %d", &next->order, &next->transaction, &next->k,
               &next->seen) != 4)
        next->order = -1;
    got->count++;
    return WEIR_OK;
}

bool log_interleaving_read_page(struct log_interleaving_session *self,
                                struct log_interleaving_reading *got, uint32_t rows)
{
    struct weir_page page = {.after = got->log_position,
                             .row_max = rows,
                             .payload_max = PAYLOADS_MAX,
                             .visit = deliver,
                             .state = got};

    must(self, "read", weir_pg_read(&self->log, self->connection, &page, &self->error));
    got->log_position = page.end;
    return page.at_head;
}

void log_interleaving_read(struct log_interleaving_session *self,
                           struct log_interleaving_reading *got, uint32_t rows)
{
    while (!log_interleaving_read_page(self, got, rows))
        continue;
}

void log_interleaving_cut(struct log_interleaving_session *self)
{
    bool made;

    must(self, "cut", weir_pg_cut_make(self->connection, 0, NULL, &made, &self->error));
}

void log_interleaving_arm(struct interleaved_session *interleaved_session,
                          const char *name)
{
    struct log_interleaving_session *self = interleaved_session->state;

    interleaved_session_arm(interleaved_session, &self->points, name);
}

void log_interleaving_disarm(struct log_interleaving_session *self)
{
    weir_fault_points_init(&self->points);
}

/* One step; true when the round has more of them. */
static bool sweep_on(struct log_interleaving_session *self,
                     struct weir_sweep_state *state)
{
    struct weir_sweep_report report;

    weir_db_release(self->db, self->connection);
    must(self, "sweep",
         weir_pg_sweep(&self->log, self->db, state, &report, &self->error));
    must(self, "acquire", weir_db_acquire(self->db, &self->connection, &self->error));
    return report.more;
}

void log_interleaving_sweep(struct log_interleaving_session *self, uint32_t leaf)
{
    (void)sweep_on(self, &(struct weir_sweep_state){.leaf = leaf});
}

/* ---- owners ------------------------------------------------------------------------ */

static bool take(struct log_interleaving_session *self, int64_t who,
                 struct log_interleaving_owner *out)
{
    struct weir_lease lease = {0};
    size_t taken = 0;

    must(self, "take",
         weir_lease_take(self->connection, who, self->log_interleaving->key.subscription,
                         LEASE_US, NULL, 0, &lease, 1, &taken, &self->error));
    *out = (struct log_interleaving_owner){.owner = who, .epoch = lease.epoch};
    return taken == 1;
}

void log_interleaving_expire(struct log_interleaving_session *self)
{
    pg_run(self->bare, "UPDATE weir_lease SET until_us = 0");
}

bool log_interleaving_take_over(struct log_interleaving_session *self,
                                struct log_interleaving_owner *out)
{
    struct log_interleaving *log_interleaving = self->log_interleaving;

    if (!take(self, LOG_INTERLEAVING_NEW_OWNER, out))
        return false;
    pthread_mutex_lock(&log_interleaving->lock);
    log_interleaving->taken_over = true;
    pthread_mutex_unlock(&log_interleaving->lock);
    return true;
}

void log_interleaving_find_position(struct log_interleaving_session *self,
                                    struct log_interleaving_owner *owner)
{
    must(self, "find position",
         weir_ack_read(self->connection, self->log_interleaving->key, &owner->position,
                       &self->error));
}

/* Move to `next`; true when that was accepted. */
static bool move_position(struct log_interleaving_session *self,
                          struct log_interleaving_owner *owner,
                          struct weir_stored_position next)
{
    struct weir_ack ack = {
        .key = self->log_interleaving->key, .epoch = owner->epoch, .next = next};

    ack.next.version = owner->position.version + 1;
    owner->position = ack.next;
    must(self, "ack",
         weir_ack_move(self->connection, owner->owner, &ack, 1, &self->error));
    return ack.accepted;
}

static void note_passed(struct log_interleaving *self,
                        const struct log_interleaving_reading *page)
{
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < page->count; i++)
        self->passed.list[self->passed.count++] = page->list[i];
    pthread_mutex_unlock(&self->lock);
}

void log_interleaving_ack(struct log_interleaving_session *self,
                          struct log_interleaving_owner *owner, uint32_t rows)
{
    struct log_interleaving_reading page = {.log_position = owner->position.log_position};
    struct weir_stored_position next = owner->position;
    struct log_interleaving *log_interleaving = self->log_interleaving;
    bool stale;

    (void)log_interleaving_read_page(self, &page, rows);
    pthread_mutex_lock(&log_interleaving->lock);
    stale = owner->owner == LOG_INTERLEAVING_OLD_OWNER && log_interleaving->taken_over;
    pthread_mutex_unlock(&log_interleaving->lock);
    if (page.count > 0)
        next.log_position = page.list[page.count - 1].log_position;
    next.seq += (int64_t)page.count;
    if (!move_position(self, owner, next))
        return;
    note_passed(log_interleaving, &page);
    if (stale)
        note_problem(log_interleaving, "a stale ack was accepted");
}

/* Also past the messages that nobody has passed in the order before. */
void log_interleaving_own(struct log_interleaving *self)
{
    struct log_interleaving_session *control = &self->control;
    struct weir_stored_position next;

    pg_run(control->bare, "UPDATE weir_lease SET owner = NULL, until_us = 0");
    check(take(control, LOG_INTERLEAVING_OLD_OWNER, &self->first));
    log_interleaving_find_position(control, &self->first);
    next = self->first.position;
    next.log_position = self->start;
    check(move_position(control, &self->first, next));
}

/* ---- judging ----------------------------------------------------------------------- */

static size_t count_of(const struct log_interleaving_reading *got, size_t before, int t)
{
    size_t count = 0;

    for (size_t i = 0; i < before; i++)
        count += got->list[i].transaction == t;
    return count;
}

static const char *judge_delivery(const struct log_interleaving *self,
                                  const struct log_interleaving_reading *got, size_t at)
{
    const struct log_interleaving_delivery *next = &got->list[at];

    if (next->order != self->order)
        return "a message of an earlier order";
    if (!self->transactions[next->transaction].committed)
        return "a message of a transaction that was rolled back";
    if (count_of(got, at, next->transaction) != (size_t)next->k)
        return "a message twice, or a transaction out of order";
    for (int i = 0; i < next->seen; i++) {
        int earlier = self->ended[i];

        if (count_of(got, at, earlier) != (size_t)self->transactions[earlier].count)
            return "a message before one that was committed earlier";
    }
    return NULL;
}

static const char *judge_reading(const struct log_interleaving *self,
                                 const struct log_interleaving_reading *got)
{
    const char *problem = NULL;
    size_t expected = 0;

    for (size_t i = 0; i < got->count && problem == NULL; i++)
        problem = judge_delivery(self, got, i);
    for (int t = 0; t < self->transaction_count; t++)
        expected +=
            self->transactions[t].committed ? (size_t)self->transactions[t].count : 0;
    if (problem == NULL && got->count != expected)
        problem = "a message was not delivered";
    return problem;
}

/* A reading has everything in its order; what owners had passed may be gone. */
static bool agrees(const struct log_interleaving *self,
                   const struct log_interleaving_reading *got,
                   const struct log_interleaving_reading *all)
{
    size_t at = 0;

    for (size_t i = 0; i < all->count; i++) {
        if (at < got->count && got->list[at].id == all->list[i].id)
            at++;
        else if (i >= self->passed.count)
            return false;
    }
    return at == got->count;
}

/* Everything, as owners get it: what they have passed, and what is behind the
 * position. */
static const char *read_everything(struct log_interleaving *self,
                                   struct log_interleaving_reading *all)
{
    struct log_interleaving_owner now;

    *all = self->passed;
    all->log_position = self->start;
    if (self->first.owner != 0) {
        log_interleaving_find_position(&self->control, &now);
        all->log_position = now.position.log_position;
        if (now.position.seq != self->first.position.seq + (int64_t)all->count)
            return "seq and what was passed differ";
    }
    log_interleaving_read(&self->control, all, LOG_INTERLEAVING_ROWS);
    return NULL;
}

/* Who begins at the start again, and those who read meanwhile and now go on to the end.
 * Without an owner everything was read from the start just now. */
static const char *judge_readers(struct log_interleaving *self,
                                 const struct log_interleaving_reading *all)
{
    struct log_interleaving_reading again = {.log_position = self->start};
    bool agree = true;

    if (self->first.owner != 0) {
        log_interleaving_read(&self->control, &again, PAGE_ROWS);
        agree = agrees(self, &again, all);
    }
    for (size_t i = 0; i < self->interleaved_session_count && agree; i++) {
        struct log_interleaving_session *session = &self->sessions[i];

        if (!session->reads)
            continue;
        log_interleaving_read(session, &session->got, LOG_INTERLEAVING_ROWS);
        agree = agrees(self, &session->got, all);
    }
    return agree ? NULL : "who reads again gets something else";
}

static const char *judge(struct log_interleaving *self)
{
    struct log_interleaving_reading all;
    const char *problem;

    log_interleaving_cut(&self->control);
    problem = read_everything(self, &all);
    if (problem == NULL)
        problem = self->problem;
    if (problem == NULL)
        problem = judge_reading(self, &all);
    if (problem == NULL)
        problem = judge_readers(self, &all);
    self->start = all.log_position;
    return problem;
}

/* ---- orders ------------------------------------------------------------------------ */

static void reset(struct log_interleaving *self)
{
    self->order++;
    memset(self->transactions, 0, sizeof self->transactions);
    self->transaction_count = 0;
    self->ended_count = 0;
    self->passed.count = 0;
    self->taken_over = false;
    self->problem = NULL;
}

static void disarm_all(struct log_interleaving *self)
{
    for (size_t i = 0; i < INTERLEAVING_INTERLEAVED_SESSIONS_MAX; i++)
        log_interleaving_disarm(&self->sessions[i]);
}

/* Rows that were set aside, and acks: they would become many. */
static void tidy(struct log_interleaving *self)
{
    struct weir_sweep_state state = {0};

    if (self->order % TIDY_ORDERS == 0)
        while (sweep_on(&self->control, &state))
            continue;
}

static bool run_order(void *state, const uint8_t *order, size_t turns)
{
    struct log_interleaving *self = state;
    char text[INTERLEAVING_ORDER_MAX + 1];
    const char *problem;

    reset(self);
    disarm_all(self);
    self->prepare(self);
    for (size_t i = 0; i < self->interleaved_session_count; i++) {
        self->sessions[i].reads = false;
        self->sessions[i].got.count = 0;
        self->sessions[i].got.log_position = self->start;
    }
    interleaving_run(self->interleaved_sessions, self->interleaved_session_count,
                     self->control.bare, order, turns);
    disarm_all(self);
    problem = self->problem = judge(self);
    interleaving_print(order, turns, text);
    if (problem != NULL)
        weir_test_fail(__FILE__, __LINE__, "order %s: %s", text, problem);
    tidy(self);
    return true;
}

static void conclude(size_t orders)
{
    printf("# %zu orders\n", orders);
}

void log_interleaving_all(struct log_interleaving *self)
{
    conclude(interleaving_all(self->interleaved_sessions, self->interleaved_session_count,
                              run_order, self));
}

void log_interleaving_some(struct log_interleaving *self, size_t samples, uint64_t seed)
{
    conclude(interleaving_some(self->interleaved_sessions,
                               self->interleaved_session_count, samples, seed, run_order,
                               self));
}
