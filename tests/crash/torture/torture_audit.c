/*
 * torture_audit.c - what was noted, against what was promised: T1 to T9 of torture.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/torture/torture_blame.h"
#include "crash/torture/torture_shared.h"
#include "kit/outbox/effects.h"
#include "outbox/delivery/mark.h"

/* The clocks of the databases tell at least milliseconds. */
enum { CLOCK_US = 2000, EPOCHS_MAX = 100000, HISTORY_US = 2000000 };

/* A move of a position, as the trigger has seen it. */
struct move {
    int lane;
    int64_t version;
    int64_t epoch;
    int64_t seq;
    int64_t at_us;
};

/* An epoch of a lane: whose it was, and where it began. */
struct epoch {
    int64_t number;
    uint32_t process;
    int64_t acked;     /* by all before it */
    size_t move_begin; /* its moves among those of the lane */
    size_t move_end;
};

struct audit {
    struct torture *run;
    struct torture_result *result;
    const struct torture_fault *faults;
    uint32_t fault_count;
    struct move *moves; /* owned; in the order of commits, lane by lane */
    size_t move_count;
};

/* One lane of it. */
struct walk {
    struct audit *audit;
    int lane;
    const struct move *moves;
    size_t move_count;
    const struct torture_record **records; /* owned; in the order of deliveries */
    size_t *before; /* owned; the delivery before of the same number */
    size_t *last;   /* owned; by number: its last delivery, plus one; 0: none */
    size_t record_count;
    int64_t seq_max;
    struct epoch *epochs; /* owned; as they came */
    size_t epoch_count;
    struct torture_blame blame; /* owned */
};

__attribute__((format(printf, 4, 5))) static void
tell(struct audit *self, enum torture_rule rule, int lane, const char *format, ...)
{
    char *text = self->result->first;
    va_list args;
    int size;

    self->result->broken[rule]++;
    if (self->result->violations++ > 0)
        return;
    size = lane < 0 ? 0
                    : snprintf(text, DELIVERY_AUDIT_TEXT_SIZE, "%s/%s, partition %d: ",
                               TORTURE_QUEUE_NAMES[torture_lane_queue(lane)],
                               TORTURE_SUBSCRIPTIONS[lane / DELIVERY_AUDIT_PARTITIONS],
                               lane % TORTURE_PARTITIONS);
    va_start(args, format);
    (void)vsnprintf(text + size, (size_t)(DELIVERY_AUDIT_TEXT_SIZE - size), format, args);
    va_end(args);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    check(memory != NULL);
    return memory;
}

/* ---- moves of positions ------------------------------------------------------------ */

#define HEAR                                                                             \
    "INSERT INTO heard (subscription, pid, version, epoch, seq, trying, at_us)"          \
    " VALUES (NEW.subscription, NEW.pid, NEW.version, NEW.epoch, NEW.seq, NEW.trying, "

void torture_prepare_audit(struct fixture *fixture)
{
    fixture_prepare(fixture, "CREATE TABLE knock (process $integer)");
    fixture_prepare(
        fixture,
        fixture_choose(fixture,
                       "CREATE TABLE heard (id INTEGER PRIMARY KEY, subscription, pid,"
                       " version, epoch, seq, trying, at_us)",
                       "CREATE TABLE heard (id bigserial, subscription bigint,"
                       " pid bigint, version bigint, epoch bigint, seq bigint,"
                       " trying bigint, at_us bigint)",
                       "CREATE TABLE heard (id BIGINT AUTO_INCREMENT PRIMARY KEY,"
                       " subscription BIGINT, pid BIGINT, version BIGINT, epoch BIGINT,"
                       " seq BIGINT, trying BIGINT, at_us BIGINT)"));
    if (fixture->engine == WEIR_POSTGRESQL)
        fixture_prepare(
            fixture,
            "CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " HEAR
            "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint); RETURN NULL; "
            "END'");
    fixture_prepare(
        fixture,
        fixture_choose(
            fixture,
            "CREATE TRIGGER hear AFTER UPDATE ON {p}_ack BEGIN " HEAR
            "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000"
            "); END",
            "CREATE TRIGGER hear AFTER INSERT ON {p}_ack FOR EACH ROW"
            " EXECUTE FUNCTION hear()",
            "CREATE TRIGGER hear AFTER UPDATE ON {p}_ack FOR EACH ROW BEGIN " HEAR
            "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)); END"));
}

static const struct weir_sql SQL_MOVES = {
    .name = "read moves",
    .text = "SELECT h.pid, CASE q.name WHEN 'leased' THEN 0 ELSE 1 END,"
            " CASE s.name WHEN 'single' THEN 0 ELSE 1 END, h.version, h.epoch, h.seq,"
            " h.at_us FROM heard h JOIN {p}_subscription s ON s.id = h.subscription"
            " JOIN {p}_queue q ON q.id = s.queue ORDER BY s.id, h.pid, h.id",
    .parameters = "",
};

static void read_moves(struct audit *self)
{
    struct fixture *fixture = self->run->rig.fixture;
    struct weir_connection *connection = fixture_take(fixture);
    size_t room = (size_t)fixture_ask(fixture, "SELECT count(*) FROM heard");
    struct weir_rows rows;
    enum weir_status status;

    self->moves = allocate(room, sizeof *self->moves);
    status =
        weir_connection_query(connection, &SQL_MOVES, NULL, 0, &rows, &fixture->error);
    while (status == WEIR_OK &&
           (status = weir_rows_next(&rows, &fixture->error)) == WEIR_OK) {
        int32_t partition = (int32_t)(weir_rows_integer(&rows, 0) % WEIR_PARTITIONS_MAX);

        check(self->move_count < room);
        self->moves[self->move_count++] = (struct move){
            .lane = torture_lane((int)weir_rows_integer(&rows, 2),
                                 (int)weir_rows_integer(&rows, 1), partition),
            .version = weir_rows_integer(&rows, 3),
            .epoch = weir_rows_integer(&rows, 4),
            .seq = weir_rows_integer(&rows, 5),
            .at_us = weir_rows_integer(&rows, 6),
        };
    }
    weir_rows_close(&rows);
    check_db(status, WEIR_NO_ROW);
    fixture_give(fixture, connection);
    self->result->moves = (int64_t)self->move_count;
}

/* ---- a lane ------------------------------------------------------------------------ */

/*
 * Whether `move` repeats one of the first `count` of `moves`. The sweep on PostgreSQL
 * copies the newest ack of a leaf it sees, version included, possibly behind an ack
 * that commits meanwhile. The highest version counts wherever it stands, so such a copy
 * moves nothing.
 */
static bool is_copy(const struct move *moves, size_t count, const struct move *move)
{
    while (count > 0 && moves[count - 1].version > move->version)
        count--;
    return count > 0 && moves[count - 1].version == move->version &&
           moves[count - 1].epoch == move->epoch && moves[count - 1].seq == move->seq;
}

/* The moves of the lane without copies. */
static void find_moves(struct walk *self)
{
    const struct audit *audit = self->audit;
    size_t begin = 0;
    size_t count = 0;

    while (begin < audit->move_count && audit->moves[begin].lane != self->lane)
        begin++;
    self->moves = audit->moves + begin;
    for (size_t i = begin; i < audit->move_count && audit->moves[i].lane == self->lane;
         i++) {
        if (!is_copy(self->moves, count, &audit->moves[i]))
            audit->moves[begin + count++] = audit->moves[i];
    }
    self->move_count = count;
}

static void find_records(struct walk *self)
{
    const struct torture_shared *shared = self->audit->run->shared;
    size_t count = atomic_load(&shared->record_count);

    self->records = allocate(count, sizeof *self->records);
    for (size_t i = 0; i < count; i++) {
        const struct torture_record *record = &shared->records[i];

        if (!atomic_load(&record->written) || record->lane != self->lane)
            continue;
        self->records[self->record_count++] = record;
        if (record->seq > self->seq_max)
            self->seq_max = record->seq;
    }
    self->before = allocate(self->record_count, sizeof *self->before);
    self->last = allocate((size_t)self->seq_max, sizeof *self->last);
    for (size_t i = 0; i < self->record_count; i++) {
        size_t *last = &self->last[self->records[i]->seq];

        self->before[i] = *last;
        *last = i + 1;
    }
}

/* The epoch of a record; a new one begins behind what all before it have acknowledged. */
static struct epoch *epoch_of(struct walk *self, const struct torture_record *record)
{
    struct epoch *epoch;
    size_t i = self->epoch_count;

    while (i > 0 && self->epochs[i - 1].number != record->epoch)
        i--;
    if (i > 0)
        return &self->epochs[i - 1];
    check(self->epoch_count < EPOCHS_MAX);
    epoch = &self->epochs[self->epoch_count++];
    *epoch = (struct epoch){.number = record->epoch, .process = record->process};
    for (size_t m = 0; m < self->move_count; m++) {
        const struct move *move = &self->moves[m];

        if (move->epoch < record->epoch && move->seq > epoch->acked)
            epoch->acked = move->seq;
        if (move->epoch != record->epoch)
            continue;
        if (epoch->move_end == 0)
            epoch->move_begin = m;
        epoch->move_end = m + 1;
    }
    return epoch;
}

/* When this epoch had acknowledged the number; 0: it has not. */
static int64_t acked_at(const struct walk *self, const struct epoch *epoch, int64_t seq)
{
    size_t begin = epoch->move_begin;
    size_t end = epoch->move_end;

    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;

        if (self->moves[middle].seq < seq)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < epoch->move_end ? self->moves[begin].at_us : 0;
}

/* Was it given to a handler, by the owner of that epoch? */
static bool was_given(const struct walk *self, int64_t seq, int64_t epoch)
{
    size_t i = seq <= self->seq_max ? self->last[seq] : 0;

    while (i > 0 && self->records[i - 1]->epoch != epoch)
        i = self->before[i - 1];
    return i > 0;
}

/* T2. */
static void audit_move(struct walk *self, const struct move *before,
                       const struct move *move)
{
    if (move->version <= before->version || move->epoch < before->epoch ||
        move->seq < before->seq)
        tell(self->audit, TORTURE_T2, self->lane,
             "a position went back: version %" PRId64 ", epoch %" PRId64 ", seq %" PRId64
             " behind %" PRId64 ", %" PRId64 ", %" PRId64,
             move->version, move->epoch, move->seq, before->version, before->epoch,
             before->seq);
    for (int64_t seq = before->seq + 1; seq <= move->seq; seq++) {
        if (!was_given(self, seq, move->epoch))
            tell(self->audit, TORTURE_T2, self->lane,
                 "%" PRId64 " was acknowledged in epoch %" PRId64
                 ", in which no handler had it",
                 seq, move->epoch);
    }
}

/* ---- T5 ---------------------------------------------------------------------------- */

/* What else happened then, for people: faults, and what came and was acknowledged in
 * the lane. */
static void print_history(const struct walk *self, int64_t from_us, int64_t to_us)
{
    static const char *const KINDS[] = {"kill", "stop", "outage", "held up"};
    const struct audit *audit = self->audit;

    printf("# from %" PRId64 " ms on:\n", from_us / 1000);
    for (uint32_t i = 0; i < audit->fault_count; i++) {
        const struct torture_fault *fault = &audit->faults[i];

        if (fault->begin_us < to_us && fault->end_us > from_us)
            printf("# %6" PRId64 " ms to %6" PRId64 " ms: %s of process %d\n",
                   (fault->begin_us - from_us) / 1000, (fault->end_us - from_us) / 1000,
                   KINDS[fault->kind], (int)fault->process);
    }
    for (size_t i = 0; i < self->record_count; i++) {
        const struct torture_record *record = self->records[i];

        if (record->at_us >= from_us && record->at_us <= to_us)
            printf("# %6" PRId64 " ms: %" PRId64 " came, epoch %" PRId64 ", process %u\n",
                   (record->at_us - from_us) / 1000, record->seq, record->epoch,
                   record->process);
    }
    for (size_t i = 0; i < self->move_count; i++) {
        const struct move *move = &self->moves[i];

        if (move->at_us >= from_us && move->at_us <= to_us)
            printf("# %6" PRId64 " ms: acknowledged up to %" PRId64 ", epoch %" PRId64
                   "\n",
                   (move->at_us - from_us) / 1000, move->seq, move->epoch);
    }
}

/* No fault explains it, or one that has explained a whole batch already. */
static void tell_repeat(struct walk *self, const struct torture_repeat *repeat)
{
    const struct torture_record *before = repeat->before;
    const struct torture_record *record = repeat->record;

    if (self->audit->result->broken[TORTURE_T5] == 0)
        print_history(self, before->at_us - HISTORY_US, record->at_us + CLOCK_US);
    tell(self->audit, TORTURE_T5, self->lane,
         "%" PRId64 " came again %s: epoch %" PRId64 " of process %u, and %" PRId64
         " ms later epoch %" PRId64 " of process %u",
         record->seq,
         torture_blame_fits(&self->blame, repeat) ? "beyond a batch of a fault"
                                                  : "without a fault",
         before->epoch, before->process, (record->at_us - before->at_us) / 1000,
         record->epoch, record->process);
}

static void audit_repeats(struct walk *self)
{
    struct torture_result *result = self->audit->result;
    uint32_t most = torture_blame_settle(&self->blame);

    result->repeats += (int64_t)self->blame.repeat_count;
    if (most > result->repeats_most)
        result->repeats_most = most;
    for (size_t i = 0; i < self->blame.repeat_count; i++) {
        if (!self->blame.repeats[i].is_explained)
            tell_repeat(self, &self->blame.repeats[i]);
    }
}

/* ---- T1, T3, T4 of a record -------------------------------------------------------- */

static void audit_record(struct walk *self, size_t i)
{
    struct audit *audit = self->audit;
    const struct torture_record *record = self->records[i];
    const struct torture_record *before =
        self->before[i] == 0 ? NULL : self->records[self->before[i] - 1];
    struct epoch *epoch = epoch_of(self, record);
    int64_t acked_us = acked_at(self, epoch, record->seq);

    if (before != NULL && memcmp(before->uid, record->uid, WEIR_UID_SIZE) != 0)
        tell(audit, TORTURE_T1, self->lane, "%" PRId64 " has had another uid",
             record->seq);
    if (epoch->process != record->process)
        tell(audit, TORTURE_T3, self->lane,
             "epoch %" PRId64 " is of two processes, %u and %u", epoch->number,
             epoch->process, record->process);
    if (record->seq <= epoch->acked)
        tell(audit, TORTURE_T4, self->lane,
             "%" PRId64 " came in epoch %" PRId64 ", acknowledged before up to %" PRId64,
             record->seq, record->epoch, epoch->acked);
    if (acked_us != 0 && record->at_us > acked_us + CLOCK_US)
        tell(audit, TORTURE_T4, self->lane,
             "%" PRId64 " came %" PRId64
             " us after it was acknowledged in epoch %" PRId64,
             record->seq, record->at_us - acked_us, record->epoch);
    if (before != NULL && torture_lane_queue(self->lane) == TORTURE_LEASED)
        torture_blame_add(&self->blame, before, record);
    else if (before != NULL)
        audit->result->calls_again++;
}

/* Returns how far its position was moved. */
static int64_t audit_lane(struct audit *audit, int lane)
{
    struct walk self = {.audit = audit, .lane = lane};
    struct move before = {.version = -1};

    self.epochs = allocate(EPOCHS_MAX, sizeof *self.epochs);
    find_moves(&self);
    find_records(&self);
    for (size_t i = 0; i < self.move_count; i++) {
        audit_move(&self, &before, &self.moves[i]);
        before = self.moves[i];
    }
    torture_blame_init(&self.blame, audit->run, self.record_count);
    for (size_t i = 0; i < self.record_count; i++)
        audit_record(&self, i);
    audit_repeats(&self);
    audit->result->records += (int64_t)self.record_count;
    audit->result->takeovers += self.epoch_count > 0 ? (int64_t)self.epoch_count - 1 : 0;
    torture_blame_destroy(&self.blame);
    free(self.epochs);
    free(self.last);
    free(self.before);
    free(self.records);
    return before.seq;
}

/* ---- all of it --------------------------------------------------------------------- */

/* A file that processes were killed on in the middle of writing. */
static void audit_file(struct audit *self)
{
    struct fixture *fixture = self->run->rig.fixture;

    if (fixture->engine == WEIR_SQLITE &&
        fixture_ask(fixture, "SELECT count(*) FROM pragma_integrity_check"
                             " WHERE integrity_check <> 'ok'") != 0)
        tell(self, TORTURE_T1, -1, "the file is damaged");
}

static void audit_delivery_audit(struct audit *self)
{
    struct torture_result *result = self->result;

    delivery_audit_judge(self->run->delivery_audit, &result->verdict);
    if (result->verdict.violations > 0)
        tell(self, TORTURE_T1, -1, "%s", result->verdict.first);
    if (result->verdict.violations > 1) {
        result->violations += result->verdict.violations - 1;
        result->broken[TORTURE_T1] += result->verdict.violations - 1;
    }
}

#define BY_DEATHS " error LIKE '%" WEIR_MARK_DEATH "'"

/* T7, T9. */
static void audit_letters(struct audit *self)
{
    struct fixture *fixture = self->run->rig.fixture;
    int64_t answered =
        fixture_ask(fixture, "SELECT count(*) FROM weir_dead_letter WHERE NOT" BY_DEATHS);
    int64_t unmarked;
    char sql[512];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM weir_dead_letter d WHERE %s"
                   " AND (SELECT count(DISTINCT h.epoch) FROM heard h"
                   " WHERE h.subscription = d.subscription AND h.pid = d.pid"
                   " AND h.trying = -d.seq) < %u",
                   BY_DEATHS, self->run->options->attempts_max);
    unmarked = fixture_ask(fixture, sql);
    if (answered != 0)
        tell(self, TORTURE_T7, -1, "%" PRId64 " dead letters by answers", answered);
    if (unmarked != 0)
        tell(self, TORTURE_T9, -1,
             "%" PRId64 " dead letters by deaths without %u marks of calls alone",
             unmarked, self->run->options->attempts_max);
}

/* T6. */
static void audit_effects(struct audit *self, int64_t wanted)
{
    struct fixture *fixture = self->run->rig.fixture;
    int64_t repeated = effects_repeated(fixture);

    self->result->effects = effects_count(fixture);
    if (repeated != 0)
        tell(self, TORTURE_T6, -1, "%" PRId64 " messages took effect more than once",
             repeated);
    if (self->result->effects - repeated < wanted)
        tell(self, TORTURE_T6, -1, "%" PRId64 " effects of %" PRId64 " messages",
             self->result->effects, wanted);
}

/* A stop and an outage look the same from inside. */
static bool was_struck(const struct audit *self, const struct torture_fault *fault)
{
    for (uint32_t i = 0; i < self->fault_count; i++) {
        const struct torture_fault *other = &self->faults[i];

        if ((other->kind == TORTURE_STOP || other->kind == TORTURE_OUTAGE) &&
            (other->process == fault->process || other->process == TORTURE_EVERYBODY) &&
            other->begin_us <= fault->end_us && other->end_us >= fault->begin_us)
            return true;
    }
    return false;
}

static void count_faults(struct audit *self)
{
    for (uint32_t i = 0; i < self->fault_count; i++)
        self->result->held_up += self->faults[i].kind == TORTURE_HELD_UP &&
                                 !was_struck(self, &self->faults[i]);
    if (self->fault_count == TORTURE_FAULTS_MAX)
        tell(self, TORTURE_T5, -1, "there was no room for more faults");
}

void torture_audit(struct torture *run)
{
    struct audit self = {.run = run,
                         .result = run->result,
                         .faults = run->shared->faults,
                         .fault_count = atomic_load(&run->shared->fault_count)};
    int64_t within = 0;

    self.result->processes = atomic_load(&run->shared->consumers);
    count_faults(&self);
    audit_file(&self);
    audit_delivery_audit(&self);
    read_moves(&self);
    for (int lane = 0; lane < TORTURE_LANES; lane++) {
        int64_t moved = audit_lane(&self, lane);

        within += torture_lane_queue(lane) == TORTURE_WITHIN ? moved : 0;
    }
    audit_effects(&self, within);
    audit_letters(&self);
    free(self.moves);
}
