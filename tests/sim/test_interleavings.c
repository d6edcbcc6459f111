/*
 * Two or three sessions on PostgreSQL, step by step, in every order (flow_load.h):
 * producers, dispatchers, owners of a lease and the sweep. log_interleaving.h says what
 * must hold whatever the order.
 *
 * What is stepped is the product. A strand stops in front of statements, by their
 * names, and at the points of the sweep; statements that the product sends together are
 * sent one by one.
 *
 * Each pair is run in all orders, three together in a sample, in all with WEIR_LONG=1.
 */
#include "kit/outbox/log_interleaving.h"
#include "kit/outbox/pg_outbox.h"

enum { SAMPLES = 40 };

/*
 * What steps touch. What they do to PostgreSQL's own state is as its sources have it.
 *
 *   NUMBERS    the next transaction number. Taking one changes it; a snapshot reads it.
 *              Those of acks and of the sweep do not count: a cut looks for the
 *              messages of numbers that it finds unfinished, and they have none.
 *   IDS        the sequence of ids.
 *   ENDS       which transactions have ended. Each end adds one to the set, and two
 *              ends leave the same set whichever comes first; a snapshot reads it.
 *   PROMISES   which producers have committed. Enqueueing reads it: not the statement,
 *              but what is promised then, that the message comes after all of theirs.
 *   TURN       the lock of those who cut.
 *   CUTS       the cuts there are.
 *   LEAF       the leaf that is swept, what was set aside from it, and its lock.
 *              Writers add to it and share the lock; who reads the log has to wait for
 *              the sweep's.
 *   LEASE      the row of the lease, which acks lock.
 *   ACKS       the positions.
 *
 * Preparing a transaction touches nothing: it goes on, with its locks, in another place.
 */
enum {
    NUMBERS = 1,
    IDS = 2,
    ENDS = 4,
    PROMISES = 8,
    TURN = 16,
    CUTS = 32,
    LEAF = 64,
    LEASE = 128,
    ACKS = 256
};

struct scenario {
    const struct interleaving_part *parts[INTERLEAVING_INTERLEAVED_SESSIONS_MAX];
    void (*prepare)(
        struct log_interleaving *log_interleaving); /* NULL: one message waits */
    size_t samples;                                 /* of all orders; 0: all */
    uint64_t seed;
};

static void interleave(const struct scenario *scenario)
{
    struct log_interleaving *log_interleaving = log_interleaving_open();

    if (scenario->prepare != NULL)
        log_interleaving->prepare = scenario->prepare;
    for (size_t i = 0;
         i < INTERLEAVING_INTERLEAVED_SESSIONS_MAX && scenario->parts[i] != NULL; i++)
        log_interleaving_use(log_interleaving, scenario->parts[i]);
    if (scenario->samples > 0)
        log_interleaving_some(log_interleaving, scenario->samples * weir_test_tries(),
                              scenario->seed);
    else
        log_interleaving_all(log_interleaving);
    log_interleaving_close(log_interleaving);
}

/* ---- producers --------------------------------------------------------------------- */

/* The number of the transaction, the id of the message, the end. */
static void write_and(struct interleaved_session *interleaved_session, bool commit)
{
    struct log_interleaving_session *self = interleaved_session->state;
    int t = log_interleaving_begin(self);

    pg_run(self->bare, "BEGIN; SELECT pg_current_xact_id()");
    interleaved_session_step(interleaved_session);
    log_interleaving_append(self, t);
    interleaved_session_step(interleaved_session);
    pg_run(self->bare, commit ? "COMMIT" : "ROLLBACK");
    if (commit)
        log_interleaving_end(self, t);
}

static void write_message(struct interleaved_session *interleaved_session)
{
    write_and(interleaved_session, true);
}

static void write_and_give_up(struct interleaved_session *interleaved_session)
{
    write_and(interleaved_session, false);
}

/* One message before the savepoint, one that is undone, one behind another savepoint. */
static void write_with_savepoints(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;
    int t = log_interleaving_begin(self);

    pg_run(self->bare, "BEGIN");
    log_interleaving_append(self, t);
    pg_run(self->bare, "SAVEPOINT a");
    log_interleaving_append(self, t);
    interleaved_session_step(interleaved_session);
    pg_run(self->bare, "ROLLBACK TO a; SAVEPOINT b");
    log_interleaving_undo(self, t);
    log_interleaving_append(self, t);
    pg_run(self->bare, "RELEASE b");
    interleaved_session_step(interleaved_session);
    pg_run(self->bare, "COMMIT");
    log_interleaving_end(self, t);
}

static void write_in_two_phases(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;
    int t = log_interleaving_begin(self);

    pg_run(self->bare, "BEGIN");
    log_interleaving_append(self, t);
    interleaved_session_step(interleaved_session);
    pg_run(self->bare, "PREPARE TRANSACTION 'phases'");
    interleaved_session_step(interleaved_session);
    pg_run(self->bare, "COMMIT PREPARED 'phases'");
    log_interleaving_end(self, t);
}

static const struct interleaving_part WRITER = {write_message,
                                                3,
                                                {{.changes = NUMBERS},
                                                 {.reads = PROMISES, .changes = IDS},
                                                 {.adds = ENDS | PROMISES}}};
static const struct interleaving_part WRITER_THAT_GIVES_UP = {
    write_and_give_up,
    3,
    {{.changes = NUMBERS}, {.reads = PROMISES, .changes = IDS}, {.adds = ENDS}}};
static const struct interleaving_part WRITER_WITH_SAVEPOINTS = {
    write_with_savepoints,
    3,
    {{.reads = PROMISES, .changes = NUMBERS | IDS},
     {.reads = PROMISES, .changes = NUMBERS | IDS},
     {.adds = ENDS | PROMISES}}};
static const struct interleaving_part WRITER_IN_TWO_PHASES = {
    write_in_two_phases,
    3,
    {{.reads = PROMISES, .changes = NUMBERS | IDS}, {0}, {.adds = ENDS | PROMISES}}};

/* ---- dispatchers ------------------------------------------------------------------- */

/* In front of the statements of a cut whose order is its whole proof. */
static void step_through_cut(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;

    weir_fault_points_arm(&self->points, "db.one_by_one", 1);
    log_interleaving_arm(interleaved_session, "cut hi");
    log_interleaving_arm(interleaved_session, "cut own");
    log_interleaving_arm(interleaved_session, "cut snapshot");
    log_interleaving_arm(interleaved_session, "insert cut");
}

/* A cut, and then what can be read. */
static void dispatch(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;

    self->reads = true;
    step_through_cut(interleaved_session);
    log_interleaving_cut(self);
    log_interleaving_read(self, &self->got, LOG_INTERLEAVING_ROWS);
}

/* Whether a cut is needed is no question here: there is a message that is in none. */
static const struct interleaving_part DISPATCHER = {
    dispatch,
    5,
    {{.changes = TURN},
     {.reads = IDS},
     {.changes = NUMBERS},
     {.reads = NUMBERS | ENDS},
     {.reads = IDS | ENDS | LEAF, .adds = ENDS, .changes = TURN | CUTS}}};

/* The same, whatever its statements touch: of a cut with another order of them, all
 * orders would be tried, too. */
#define CUTS_SOMEHOW                                                                     \
    {                                                                                    \
        .reads = NUMBERS | IDS | ENDS, .changes = NUMBERS                                \
    }
static const struct interleaving_part DISPATCHER_OF_ANY_ORDER = {
    dispatch,
    5,
    {{.changes = TURN},
     CUTS_SOMEHOW,
     CUTS_SOMEHOW,
     CUTS_SOMEHOW,
     {.reads = IDS | ENDS | LEAF, .adds = ENDS, .changes = TURN | CUTS}}};

WEIR_TEST(interleavings, of_a_writer_and_the_steps_of_a_cut)
{
    interleave(&(struct scenario){.parts = {&WRITER, &DISPATCHER_OF_ANY_ORDER}});
}

WEIR_TEST(interleavings, of_two_writers_and_a_dispatcher)
{
    interleave(&(struct scenario){.parts = {&WRITER, &WRITER, &DISPATCHER}});
}

WEIR_TEST(interleavings, of_a_writer_one_that_gives_up_and_a_dispatcher)
{
    interleave(
        &(struct scenario){.parts = {&WRITER, &WRITER_THAT_GIVES_UP, &DISPATCHER}});
}

WEIR_TEST(interleavings, of_writers_with_savepoints_and_in_two_phases_and_a_dispatcher)
{
    interleave(&(struct scenario){
        .parts = {&WRITER_WITH_SAVEPOINTS, &WRITER_IN_TWO_PHASES, &DISPATCHER}});
}

WEIR_TEST(interleavings, of_a_writer_and_two_dispatchers)
{
    interleave(&(struct scenario){
        .parts = {&WRITER, &DISPATCHER, &DISPATCHER}, .samples = SAMPLES, .seed = 11});
}

/* ---- owners ------------------------------------------------------------------------ */

enum { WAITING = 4 };

static void append_and_commit(struct log_interleaving_session *self, int count)
{
    int t = log_interleaving_begin(self);

    pg_run(self->bare, "BEGIN");
    for (int i = 0; i < count; i++)
        log_interleaving_append(self, t);
    pg_run(self->bare, "COMMIT");
    log_interleaving_end(self, t);
}

/* Messages in a cut for the owners to pass, and one in none. */
static void prepare_owner(struct log_interleaving *self)
{
    struct log_interleaving_session *control = &self->control;

    log_interleaving_own(self);
    append_and_commit(control, WAITING);
    log_interleaving_cut(control);
    append_and_commit(control, 1);
}

static void step_through_ack(struct interleaved_session *interleaved_session)
{
    log_interleaving_arm(interleaved_session, "append acks");
    log_interleaving_arm(interleaved_session, "db.commit");
}

/* The first owner moves the position, loses the lease to another, who goes on, and does
 * not know of it. */
static void ack_and_be_taken_over(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;
    struct log_interleaving_owner old = self->log_interleaving->first;
    struct log_interleaving_owner new;

    step_through_ack(interleaved_session);
    log_interleaving_ack(self, &old, 2);
    log_interleaving_disarm(self);
    interleaved_session_step(interleaved_session);
    log_interleaving_expire(self);
    check(log_interleaving_take_over(self, &new));
    log_interleaving_find_position(self, &new);
    interleaved_session_step(interleaved_session);
    log_interleaving_ack(self, &new, 1);
    log_interleaving_ack(self, &old, 1);
}

static const struct interleaving_part ACKER = {
    ack_and_be_taken_over,
    5,
    {{.reads = CUTS | ENDS | LEAF, .changes = LEASE},
     {.changes = LEASE | ACKS},
     {.adds = ENDS, .changes = LEASE | ACKS},
     {.reads = ACKS, .adds = ENDS, .changes = LEASE},
     {.reads = CUTS | ENDS | LEAF, .adds = ENDS, .changes = LEASE | ACKS}}};

/* Two moves. */
static void ack_twice(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;
    struct log_interleaving_owner owner = self->log_interleaving->first;

    step_through_ack(interleaved_session);
    log_interleaving_ack(self, &owner, 1);
    log_interleaving_ack(self, &owner, 1);
}

/* Finds the lease over, takes it, reads the position and moves it. */
static void take_over_and_ack(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;
    struct log_interleaving_owner owner;

    log_interleaving_expire(self);
    interleaved_session_step(interleaved_session);
    if (!log_interleaving_take_over(self, &owner))
        return;
    interleaved_session_step(interleaved_session);
    log_interleaving_find_position(self, &owner);
    step_through_ack(interleaved_session);
    log_interleaving_ack(self, &owner, 1);
}

/* Owners have everything in common. */
#define OWNS                                                                             \
    {                                                                                    \
        .reads = CUTS | ENDS | LEAF, .adds = ENDS, .changes = LEASE | ACKS               \
    }
static const struct interleaving_part OLD_OWNER = {ack_twice,
                                                   5,
                                                   {OWNS, OWNS, OWNS, OWNS, OWNS}};
static const struct interleaving_part NEW_OWNER = {take_over_and_ack,
                                                   5,
                                                   {OWNS, OWNS, OWNS, OWNS, OWNS}};

WEIR_TEST(interleavings, of_two_writers_and_an_acker_with_takeover)
{
    interleave(&(struct scenario){.prepare = prepare_owner,
                                  .parts = {&WRITER, &WRITER, &ACKER}});
}

WEIR_TEST(interleavings, of_writers_with_savepoints_and_in_two_phases_and_an_acker)
{
    interleave(&(struct scenario){
        .prepare = prepare_owner,
        .parts = {&WRITER_WITH_SAVEPOINTS, &WRITER_IN_TWO_PHASES, &ACKER}});
}

WEIR_TEST(interleavings, of_a_dispatcher_and_an_acker_with_takeover)
{
    interleave(
        &(struct scenario){.prepare = prepare_owner, .parts = {&DISPATCHER, &ACKER}});
}

WEIR_TEST(interleavings, of_an_owner_and_its_successor)
{
    interleave(
        &(struct scenario){.prepare = prepare_owner, .parts = {&OLD_OWNER, &NEW_OWNER}});
}

/* A reply was lost and the same moves are sent once more, by the same owner. */
WEIR_TEST(interleavings, of_acks_and_their_repetition)
{
    interleave(
        &(struct scenario){.prepare = prepare_owner, .parts = {&OLD_OWNER, &OLD_OWNER}});
}

WEIR_TEST(interleavings, of_a_writer_a_dispatcher_and_an_acker)
{
    interleave(&(struct scenario){.prepare = prepare_owner,
                                  .parts = {&WRITER, &DISPATCHER, &ACKER},
                                  .samples = SAMPLES,
                                  .seed = 12});
}

/* ---- the sweep --------------------------------------------------------------------- */

enum { LEAF_IDS = 64, LEAVES = 8, READ_ROWS = 57, KEPT_ROWS = 4, ACK_LEAF_IDS = 65536 };

/* What a session has taken before an order begins: its transaction's number and an id
 * of the leaf, as if it was in the middle of an INSERT. One cannot be stopped there, so
 * this one and the INSERT itself are not the product's. */
static struct {
    int t;
    int64_t id;
    char payload[64];
} taken[INTERLEAVING_INTERLEAVED_SESSIONS_MAX];

static void take_id(struct log_interleaving *self, size_t i)
{
    struct log_interleaving_session *session = &self->sessions[i];

    taken[i].t = log_interleaving_begin(session);
    log_interleaving_payload(session, taken[i].t, taken[i].payload,
                             sizeof taken[i].payload);
    pg_run(session->bare, "BEGIN");
    taken[i].id =
        pg_ask(session->bare, "SELECT nextval('weir_log_id') FROM pg_current_xact_id()");
}

/*
 * A leaf with messages of one cut of which all but four are passed, and ids of it that
 * were taken by the first `takers` sessions; the sequence is in the next leaf, where
 * there are messages in a later cut and in none.
 */
static void prepare_leaf_with(struct log_interleaving *self, size_t takers)
{
    struct log_interleaving_session *control = &self->control;
    int64_t segment =
        pg_ask(control->bare, "SELECT last_value / %d + 1 FROM weir_log_id", LEAF_IDS);
    int64_t base = segment * LEAF_IDS;
    int64_t cut;

    self->leaf = (uint32_t)(segment % LEAVES);
    pg_run(control->bare,
           "SELECT setval('weir_log_id', %lld);"
           "INSERT INTO weir_log (pid, uid, type, payload)"
           " SELECT %lld, 'u', 't', 'passed' FROM generate_series(1, %d)",
           (long long)base, (long long)self->key.pid, READ_ROWS);
    append_and_commit(control, KEPT_ROWS);
    for (size_t i = 0; i < takers; i++)
        take_id(self, i);
    pg_run(control->bare, "SELECT setval('weir_log_id', %lld)",
           (long long)base + LEAF_IDS);
    log_interleaving_cut(control);
    cut = pg_ask(control->bare, "SELECT max(no) FROM weir_cut");
    append_and_commit(control, 1);
    log_interleaving_cut(control);
    append_and_commit(control, 1);
    self->start = (struct weir_log_position){cut - 1, base + READ_ROWS};
    log_interleaving_own(self);
}

static void prepare_leaf(struct log_interleaving *self)
{
    prepare_leaf_with(self, 0);
}

static void prepare_leaf_and_writer(struct log_interleaving *self)
{
    prepare_leaf_with(self, 1);
}

static void prepare_leaf_and_two_writers(struct log_interleaving *self)
{
    prepare_leaf_with(self, 2);
}

/* Returns its transaction. */
static int insert_with_taken_id(struct log_interleaving_session *self)
{
    size_t i = (size_t)(self - self->log_interleaving->sessions);

    pg_run(self->bare,
           "INSERT INTO weir_log (id, pid, uid, type, payload)"
           " VALUES (%lld, %lld, 'u', 't', '%s')",
           (long long)taken[i].id, (long long)self->log_interleaving->key.pid,
           taken[i].payload);
    return taken[i].t;
}

/* And then there is another transaction, in the leaf that is being filled. */
static void write_with_old_id(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;
    int t = insert_with_taken_id(self);

    interleaved_session_step(interleaved_session);
    pg_run(self->bare, "COMMIT");
    log_interleaving_end(self, t);
    interleaved_session_step(interleaved_session);
    append_and_commit(self, 1);
}

/* Prepared transactions keep their locks. */
static void
write_with_old_id_in_two_phases(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;
    int t = insert_with_taken_id(self);

    interleaved_session_step(interleaved_session);
    pg_run(self->bare, "PREPARE TRANSACTION 'old phases'");
    interleaved_session_step(interleaved_session);
    pg_run(self->bare, "COMMIT PREPARED 'old phases'");
    log_interleaving_end(self, t);
}

static const struct interleaving_part WRITER_WITH_OLD_ID = {
    write_with_old_id,
    3,
    {{.adds = LEAF},
     {.adds = LEAF | ENDS | PROMISES},
     {.reads = PROMISES, .adds = ENDS | PROMISES, .changes = NUMBERS | IDS}}};
static const struct interleaving_part WRITER_WITH_OLD_ID_IN_TWO_PHASES = {
    write_with_old_id_in_two_phases,
    3,
    {{.adds = LEAF}, {0}, {.adds = LEAF | ENDS | PROMISES}}};

static void sweep_leaf(struct interleaved_session *interleaved_session)
{
    static const char *const log_positions[] = {"sweep.judged", "sweep.copied",
                                                "sweep.refused", "sweep.locked",
                                                "sweep.truncated"};
    struct log_interleaving_session *self = interleaved_session->state;

    for (size_t i = 0; i < sizeof log_positions / sizeof log_positions[0]; i++)
        log_interleaving_arm(interleaved_session, log_positions[i]);
    log_interleaving_sweep(self, self->log_interleaving->leaf);
}

/*
 * The second step copies, and the leaf is locked from the third on, or refused. Nothing
 * outside of it is changed that others could tell. Of transactions that have ended the
 * sweep sees what they did to the leaf, the cuts and the positions, and these they
 * touch.
 */
#define SWEEPS                                                                           \
    {                                                                                    \
        .reads = CUTS | ACKS, .adds = ENDS, .changes = LEAF                              \
    }
static const struct interleaving_part SWEEPER = {
    sweep_leaf,
    5,
    {{.reads = CUTS | ACKS | LEAF}, SWEEPS, SWEEPS, SWEEPS, SWEEPS}};

/* Page by page. */
static void read_slowly(struct interleaved_session *interleaved_session)
{
    struct log_interleaving_session *self = interleaved_session->state;

    self->reads = true;
    for (int i = 0; i < 4; i++) {
        (void)log_interleaving_read_page(self, &self->got, 1);
        interleaved_session_step(interleaved_session);
    }
    log_interleaving_read(self, &self->got, 2);
}

#define READS_A_PAGE                                                                     \
    {                                                                                    \
        .reads = ENDS | CUTS | LEAF                                                      \
    }
static const struct interleaving_part READER = {
    read_slowly,
    5,
    {READS_A_PAGE, READS_A_PAGE, READS_A_PAGE, READS_A_PAGE, READS_A_PAGE}};

WEIR_TEST(interleavings, of_two_writers_and_the_sweep)
{
    interleave(&(struct scenario){.prepare = prepare_leaf_and_writer,
                                  .parts = {&WRITER_WITH_OLD_ID, &WRITER, &SWEEPER}});
}

WEIR_TEST(interleavings, of_writers_in_two_phases_and_with_savepoints_and_the_sweep)
{
    interleave(&(struct scenario){
        .prepare = prepare_leaf_and_writer,
        .parts = {&WRITER_WITH_OLD_ID_IN_TWO_PHASES, &WRITER_WITH_SAVEPOINTS, &SWEEPER}});
}

WEIR_TEST(interleavings, of_two_writers_with_old_ids_and_the_sweep)
{
    interleave(&(struct scenario){
        .prepare = prepare_leaf_and_two_writers,
        .parts = {&WRITER_WITH_OLD_ID, &WRITER_WITH_OLD_ID_IN_TWO_PHASES, &SWEEPER},
        .samples = 3 * SAMPLES,
        .seed = 19});
}

WEIR_TEST(interleavings, of_a_dispatcher_and_the_sweep)
{
    interleave(
        &(struct scenario){.prepare = prepare_leaf, .parts = {&DISPATCHER, &SWEEPER}});
}

WEIR_TEST(interleavings, of_a_reader_and_the_sweep)
{
    interleave(&(struct scenario){.prepare = prepare_leaf, .parts = {&READER, &SWEEPER}});
}

WEIR_TEST(interleavings, of_an_acker_with_takeover_and_the_sweep)
{
    interleave(&(struct scenario){.prepare = prepare_leaf, .parts = {&ACKER, &SWEEPER}});
}

/* ---- the sweep of acks ------------------------------------------------------------- */

/* The position is in a leaf of acks that is not the one being filled. */
static void prepare_ack_leaf(struct log_interleaving *self)
{
    enum { FIRST_ACK_LEAF = 9, ACK_LEAVES = 4 };
    struct log_interleaving_session *control = &self->control;
    int64_t segment;

    prepare_owner(self);
    segment =
        pg_ask(control->bare, "SELECT last_value / %d FROM weir_ack_id", ACK_LEAF_IDS);
    pg_run(control->bare, "SELECT setval('weir_ack_id', %lld)",
           (long long)(segment + 1) * ACK_LEAF_IDS);
    self->leaf = FIRST_ACK_LEAF + (uint32_t)(segment % ACK_LEAVES);
}

/* Looked at; carried; locked; emptied; committed. */
#define CARRIES                                                                          \
    {                                                                                    \
        .adds = ENDS, .changes = ACKS                                                    \
    }
static const struct interleaving_part SWEEPER_OF_ACKS = {
    sweep_leaf,
    5,
    {{.reads = ACKS}, CARRIES, CARRIES, CARRIES, CARRIES}};

WEIR_TEST(interleavings, of_an_acker_with_takeover_and_the_sweep_of_acks)
{
    interleave(&(struct scenario){.prepare = prepare_ack_leaf,
                                  .parts = {&ACKER, &SWEEPER_OF_ACKS}});
}

/* ---- three together ---------------------------------------------------------------- */

WEIR_TEST(interleavings, of_a_writer_a_dispatcher_and_the_sweep)
{
    interleave(&(struct scenario){.prepare = prepare_leaf_and_writer,
                                  .parts = {&WRITER_WITH_OLD_ID, &DISPATCHER, &SWEEPER},
                                  .samples = SAMPLES,
                                  .seed = 14});
}

WEIR_TEST(interleavings, of_a_dispatcher_an_acker_and_the_sweep)
{
    interleave(&(struct scenario){.prepare = prepare_leaf,
                                  .parts = {&DISPATCHER, &ACKER, &SWEEPER},
                                  .samples = SAMPLES,
                                  .seed = 15});
}

WEIR_TEST(interleavings, of_two_owners_and_the_sweep_of_acks)
{
    interleave(&(struct scenario){.prepare = prepare_ack_leaf,
                                  .parts = {&OLD_OWNER, &NEW_OWNER, &SWEEPER_OF_ACKS},
                                  .samples = SAMPLES,
                                  .seed = 16});
}
