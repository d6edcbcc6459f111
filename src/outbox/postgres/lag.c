/*
 * lag.c - how much waits, on PostgreSQL.
 *
 * Where a position's rows can be is given by its mark (postgres/lag_statements.c):
 * behind it, or late. Many late rows lie side by side, as those of one large
 * transaction; then the mark is moved back before them, and they are rows like all
 * others. The log has no index by partition, so rows are looked at one by one, from the
 * lowest mark on. Three things end that: more messages wait than are counted exactly,
 * more rows lie there than are looked at, or it takes too long. The first two do not
 * have to be found out by counting:
 *
 *   sample   of a long stretch a few ids in each of SAMPLE_COUNT equal parts are looked
 *            at first. When they say that more wait than are counted, there is no
 *            count: see is_surely_more().
 *   pieces   how many ids there are to look at follows from the segments that have rows.
 *
 * Then the answer is what the sample says, and marked as an estimate; but for the
 * positions close to the end, which are counted all the same: a subscription that has
 * caught up is counted exactly beside one that never moves.
 *
 * Each statement reads the positions anew, at its own moment. What is counted is
 * counted by one statement; the others only decide what to ask for.
 */
#include "outbox/postgres/lag.h"

#include "base/count.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "db/clock.h"
#include "db/query.h"
#include "outbox/postgres/statements.h"
#include "outbox/read_lock_timeout.h"
#include "weir/inspect.h"

enum {
    SAMPLE_COUNT = 256, /* parts of a stretch */
    SAMPLE_IDS = 16,    /* looked at in each of them */
    LATE_FEW = 10000,   /* late rows that are looked up by transaction */
    STRIP_IDS = 16384,  /* between two looks at the clock */
    NEAR_IDS = 20000,   /* before the end: counted also when the rest is estimated */
    PIECES_MAX = 1024, /* segments: a billion rows; what is behind them is taken as one */
};

struct amount {
    int64_t waiting;
    int64_t oldest_us; /* 0: none */
};

/* One subscription in one partition. */
struct entry {
    int64_t subscription;
    int64_t pid;
    int64_t lo;    /* its mark */
    int64_t begin; /* before its first late row, or its mark */
    bool listed;   /* `counted` is of what was looked at */
    bool exact;    /* and that is everything; otherwise `sampled` is an estimate */
    struct amount counted;
    struct amount sampled;
};

/* Ids, `first` to `last`. */
struct piece {
    int64_t first;
    int64_t last;
};

struct tally {
    const struct weir_heap *heap;       /* borrowed */
    struct weir_connection *connection; /* borrowed */
    struct weir_lag_question question;
    uint32_t segment_bits;
    struct entry *entries; /* owned; by partition, then subscription */
    size_t count;
    int64_t last_id;
    int64_t late_count;
    int64_t late_id; /* the first; 0: none */
    bool sampled;
    int64_t span;  /* ids that were sampled from */
    size_t pieces; /* in which they lie */
    struct piece piece[PIECES_MAX];
};

/* ---- marks ------------------------------------------------------------------------- */

struct mark_columns {
    struct entry entry;
    int64_t last_id;
    int64_t late_count;
    int64_t late_id;
    uint64_t all; /* rows */
};
static const struct weir_column MARK[] = {
    COLUMN(struct mark_columns, entry.subscription, INTEGER),
    COLUMN(struct mark_columns, entry.pid, INTEGER),
    COLUMN(struct mark_columns, entry.lo, INTEGER),
    COLUMN(struct mark_columns, last_id, INTEGER),
    COLUMN(struct mark_columns, late_count, INTEGER),
    COLUMN(struct mark_columns, late_id, INTEGER),
    COLUMN(struct mark_columns, all, INTEGER),
    COLUMN(struct mark_columns, entry.begin, INTEGER),
};

static enum weir_status add_entry(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    struct tally *self = state;
    struct mark_columns row = {.all = 0};
    enum weir_status status = weir_row_read(rows, COLUMNS(MARK), &row, error);

    if (status != WEIR_OK)
        return status;
    if (self->entries == NULL)
        self->entries =
            weir_heap_zalloc_array(self->heap, row.all, sizeof *self->entries);
    if (self->entries == NULL)
        return weir_no_memory(error, "lag");
    self->entries[self->count++] = row.entry;
    self->last_id = row.last_id;
    self->late_count = row.late_count;
    self->late_id = row.late_id;
    return WEIR_OK;
}

static bool has_many_late(const struct tally *self)
{
    return self->late_count == LATE_FEW;
}

/* No mark has to be further back than the first late row there is. */
static void move_marks_back(struct tally *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct entry *entry = &self->entries[i];
        int64_t mark = entry->begin >= self->late_id ? entry->begin : self->late_id - 1;

        entry->lo = mark < entry->lo ? mark : entry->lo;
    }
}

static enum weir_status read_marks(struct tally *self, struct weir_error *error)
{
    enum weir_status status = weir_query_each(
        self->connection, &weir_pg_sql_lag_marks,
        VALUES(weir_integer(self->question.queue_id), weir_integer(LATE_FEW)), add_entry,
        self, error);

    if (has_many_late(self))
        move_marks_back(self);
    return status;
}

static int64_t lowest_mark(const struct tally *self)
{
    int64_t lowest = INT64_MAX;

    for (size_t i = 0; i < self->count; i++) {
        if (self->entries[i].lo < lowest)
            lowest = self->entries[i].lo;
    }
    return lowest;
}

static struct entry *find_entry(struct tally *self, int64_t subscription, int64_t pid)
{
    for (size_t i = 0; i < self->count; i++) {
        struct entry *entry = &self->entries[i];

        if (entry->subscription == subscription && entry->pid == pid)
            return entry;
    }
    return NULL; /* it has subscribed just now */
}

/* ---- pieces ------------------------------------------------------------------------ */

/* Side by side they are one. */
static void add_piece(struct tally *self, int64_t first, int64_t last)
{
    if (self->pieces > 0 && self->piece[self->pieces - 1].last + 1 == first)
        self->piece[self->pieces - 1].last = last;
    else
        self->piece[self->pieces++] = (struct piece){first, last};
}

static int64_t ids_behind(const struct tally *self, int64_t id)
{
    int64_t ids = 0;

    for (size_t i = 0; i < self->pieces; i++) {
        const struct piece *piece = &self->piece[i];
        int64_t before = piece->first > id ? piece->first - 1 : id;

        ids += piece->last > before ? piece->last - before : 0;
    }
    return ids;
}

static const struct weir_column PIECE[] = {
    COLUMN(struct piece, first, INTEGER),
    COLUMN(struct piece, last, INTEGER),
};

struct piece_reading {
    struct tally *tally;
    size_t read;
};

/* The last of all there may be goes on to the last id. */
static enum weir_status read_piece(void *state, struct weir_rows *rows,
                                   struct weir_error *error)
{
    struct piece_reading *self = state;
    struct piece piece;
    enum weir_status status = weir_row_read(rows, COLUMNS(PIECE), &piece, error);

    if (status == WEIR_OK)
        add_piece(self->tally, piece.first,
                  ++self->read < PIECES_MAX ? piece.last : self->tally->last_id);
    return status;
}

static enum weir_status read_pieces(struct tally *self, int64_t after_id,
                                    struct weir_error *error)
{
    struct piece_reading reading = {self, 0};
    enum weir_status status =
        weir_query_each(self->connection, &weir_pg_sql_lag_pieces,
                        VALUES(weir_integer(after_id), weir_integer(self->segment_bits),
                               weir_integer(PIECES_MAX)),
                        read_piece, &reading, error);

    self->span = ids_behind(self, after_id);
    return status;
}

/* ---- counting ---------------------------------------------------------------------- */

/*
 * Where the strips begin that are counted, behind each of *starts, which the caller
 * frees: they go on to the next, so where no rows are does not matter.
 */
static enum weir_status list_strips(const struct tally *self, int64_t mark,
                                    struct weir_value **starts, size_t *count,
                                    struct weir_error *error)
{
    size_t most = (size_t)(ids_behind(self, mark) / STRIP_IDS) + self->pieces + 1;

    *count = 0;
    *starts = weir_heap_zalloc_array(self->heap, most, sizeof **starts);
    if (*starts == NULL)
        return weir_no_memory(error, "lag");
    (*starts)[(*count)++] = weir_integer(mark);
    for (size_t i = 0; i < self->pieces; i++) {
        const struct piece *piece = &self->piece[i];
        int64_t after = piece->first > mark ? piece->first - 1 : mark;

        for (after += STRIP_IDS; after < piece->last; after += STRIP_IDS)
            (*starts)[(*count)++] = weir_integer(after);
    }
    return WEIR_OK;
}

struct count_columns {
    int64_t subscription;
    int64_t pid;
    struct amount counted;
    bool stopped;
};
static const struct weir_column COUNT[] = {
    COLUMN(struct count_columns, subscription, INTEGER),
    COLUMN(struct count_columns, pid, INTEGER),
    COLUMN(struct count_columns, counted.waiting, INTEGER),
    COLUMN(struct count_columns, counted.oldest_us, INTEGER),
    COLUMN(struct count_columns, stopped, BOOLEAN),
};

struct counting {
    struct tally *tally;
    bool stopped;
};

static enum weir_status note_count(void *state, struct weir_rows *rows,
                                   struct weir_error *error)
{
    struct counting *self = state;
    struct count_columns row;
    struct entry *entry;
    enum weir_status status = weir_row_read(rows, COLUMNS(COUNT), &row, error);

    if (status != WEIR_OK)
        return status;
    self->stopped = self->stopped || row.stopped;
    entry = find_entry(self->tally, row.subscription, row.pid);
    if (entry == NULL)
        return WEIR_OK;
    entry->listed = true;
    if (row.counted.waiting > 0)
        entry->counted = row.counted;
    return WEIR_OK;
}

static void clear_counts(struct tally *self)
{
    for (size_t i = 0; i < self->count; i++) {
        self->entries[i].listed = false;
        self->entries[i].counted = (struct amount){0, 0};
    }
}

static void trust_counts(struct tally *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->entries[i].exact = self->entries[i].listed;
}

static enum weir_status query_count(struct tally *self, int64_t mark, int64_t begin_min,
                                    struct weir_value strips, struct counting *counting,
                                    struct weir_error *error)
{
    const struct weir_lag_question *question = &self->question;
    int64_t sure = question->look_us > 0 ? question->look_sure / STRIP_IDS : INT64_MAX;
    int64_t late_max = begin_min > 0 ? 0 : LATE_FEW;

    return weir_query_each(
        self->connection, &weir_pg_sql_lag_count,
        VALUES(weir_integer(question->queue_id), weir_integer(mark),
               weir_integer(begin_min), strips, weir_integer(WEIR_LAG_EXACT_MAX + 1),
               weir_integer(late_max), weir_integer(question->look_max),
               weir_integer(sure), weir_integer(question->look_us)),
        note_count, counting, error);
}

/*
 * Everything for the positions that have their mark behind `mark`, and if `begin_min`
 * is not 0 their late rows behind that; exact unless it is too much.
 */
static enum weir_status count_from(struct tally *self, int64_t mark, int64_t begin_min,
                                   struct weir_error *error)
{
    struct counting counting = {.tally = self};
    struct weir_value *starts = NULL;
    size_t count = 0;
    enum weir_status status = list_strips(self, mark, &starts, &count, error);

    clear_counts(self);
    if (status == WEIR_OK)
        status =
            query_count(self, mark, begin_min,
                        weir_array(WEIR_TYPE_INTEGER, starts, count), &counting, error);
    if (status == WEIR_OK && !counting.stopped)
        trust_counts(self);
    weir_heap_free(self->heap, starts);
    return status;
}

/* ---- sampling ---------------------------------------------------------------------- */

/* The id before the one with this number among those of all pieces, from 0. */
static int64_t id_before(const struct tally *self, int64_t number)
{
    size_t i = 0;

    while (i + 1 < self->pieces && number > self->piece[i].last - self->piece[i].first) {
        number -= self->piece[i].last - self->piece[i].first + 1;
        i++;
    }
    return self->piece[i].first + number - 1;
}

/*
 * Somewhere in each part, by chance; in the first part at its beginning, where the
 * oldest are. Returns how many ids are looked at in each.
 */
static int64_t place_samples(const struct tally *self,
                             struct weir_value starts[SAMPLE_COUNT])
{
    int64_t part = self->span / SAMPLE_COUNT;
    int64_t ids = part < SAMPLE_IDS ? part : SAMPLE_IDS;

    for (int i = 0; i < SAMPLE_COUNT; i++) {
        int64_t room = part - ids;
        int64_t chance =
            room > 0 && i > 0 ? (int64_t)(weir_clock_random() % (uint64_t)room) : 0;

        starts[i] = weir_integer(id_before(self, self->span * i / SAMPLE_COUNT + chance));
    }
    return ids;
}

struct sample_columns {
    int64_t subscription;
    int64_t pid;
    int64_t seen;
    int64_t late;
    int64_t oldest_us;
};
static const struct weir_column SAMPLE[] = {
    COLUMN(struct sample_columns, subscription, INTEGER),
    COLUMN(struct sample_columns, pid, INTEGER),
    COLUMN(struct sample_columns, seen, INTEGER),
    COLUMN(struct sample_columns, late, INTEGER),
    COLUMN(struct sample_columns, oldest_us, INTEGER),
};

struct sampling {
    struct tally *tally;
    int64_t ids; /* looked at in each sample */
};

static enum weir_status note_sample(void *state, struct weir_rows *rows,
                                    struct weir_error *error)
{
    const struct sampling *self = state;
    struct sample_columns row;
    struct entry *entry;
    double seen;
    enum weir_status status = weir_row_read(rows, COLUMNS(SAMPLE), &row, error);

    if (status != WEIR_OK)
        return status;
    entry = find_entry(self->tally, row.subscription, row.pid);
    if (entry == NULL)
        return WEIR_OK;
    seen = (double)row.seen;
    if (seen > 0)
        seen *= (double)self->tally->span / (double)(self->ids * SAMPLE_COUNT);
    entry->sampled = (struct amount){
        .waiting = (int64_t)seen + row.late,
        .oldest_us = row.oldest_us,
    };
    return WEIR_OK;
}

static enum weir_status take_sample(struct tally *self, int64_t after_id,
                                    struct weir_error *error)
{
    struct sampling sampling = {self, 0};
    struct weir_value starts[SAMPLE_COUNT];
    enum weir_status status = read_pieces(self, after_id, error);

    if (status == WEIR_OK && self->pieces > 0)
        sampling.ids = place_samples(self, starts);
    if (status == WEIR_OK)
        status = weir_query_each(self->connection, &weir_pg_sql_lag_sample,
                                 VALUES(weir_integer(self->question.queue_id),
                                        weir_array(WEIR_TYPE_INTEGER, starts,
                                                   sampling.ids > 0 ? SAMPLE_COUNT : 0),
                                        weir_integer(sampling.ids),
                                        weir_integer(after_id), weir_integer(LATE_FEW)),
                                 note_sample, &sampling, error);
    self->sampled = true;
    return status;
}

static enum weir_status sample(struct tally *self, struct weir_error *error)
{
    return self->sampled ? WEIR_OK : take_sample(self, lowest_mark(self), error);
}

static int64_t waiting_for(const struct tally *self, int64_t subscription)
{
    int64_t waiting = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (self->entries[i].subscription == subscription)
            waiting += self->entries[i].sampled.waiting;
    }
    return waiting;
}

/*
 * Does more wait than is counted? Suppose not: then the share q of all ids, or less,
 * waits. Each sample tells a share between 0 and 1 of its part, and each was placed by
 * chance but for the first, which is left out as if all of it waited. Their variance is
 * at most v = q (1 - q). By Bernstein's inequality the mean of n such numbers is by t
 * above theirs with a probability of at most exp(-n t^2 / (2 v + 2 t / 3)). Where that
 * is below exp(-21), one in a billion, more wait.
 */
static bool is_surely_more(const struct tally *self)
{
    const double n = SAMPLE_COUNT - 1;
    double part = (double)self->span / (double)SAMPLE_COUNT;
    double most = 0;
    double q;
    double v;
    double t;

    for (size_t i = 0; i < self->count; i++) {
        double waiting = (double)waiting_for(self, self->entries[i].subscription);

        most = waiting > most ? waiting : most;
    }
    if (most - part <= (double)WEIR_LAG_EXACT_MAX)
        return false;
    q = (double)WEIR_LAG_EXACT_MAX / (part * n);
    v = q < 0.5 ? q * (1 - q) : 0.25;
    t = (most - part) / (part * n) - q;
    return n * t * t > 21 * (2 * v + 2 * t / 3);
}

/* ---- estimating -------------------------------------------------------------------- */

/* Rows counted up to an id, if it goes on like that to the last id. */
static int64_t extrapolate(int64_t count, int64_t first_id, int64_t counted_id,
                           int64_t last_id)
{
    if (counted_id <= first_id || last_id <= counted_id)
        return count;
    return (int64_t)((double)count * (double)(last_id - first_id) /
                     (double)(counted_id - first_id));
}

/* Of some rows set aside so many stand in the log too, where they are counted. */
static int64_t without_doubled(int64_t count, int64_t probed, int64_t doubled)
{
    if (probed == 0)
        return count;
    return count - (int64_t)((double)count * (double)doubled / (double)probed);
}

static void add_to_sample(struct entry *entry, int64_t count, int64_t oldest_us)
{
    struct amount *sampled = &entry->sampled;

    sampled->waiting += count;
    if (sampled->oldest_us == 0 || oldest_us < sampled->oldest_us)
        sampled->oldest_us = oldest_us;
}

struct aside_columns {
    int64_t subscription;
    int64_t pid;
    int64_t count;
    int64_t first_id;
    int64_t counted_id;
    int64_t last_id;
    int64_t oldest_us;
    int64_t probed;
    int64_t doubled;
};
static const struct weir_column ASIDE[] = {
    COLUMN(struct aside_columns, subscription, INTEGER),
    COLUMN(struct aside_columns, pid, INTEGER),
    COLUMN(struct aside_columns, count, INTEGER),
    COLUMN(struct aside_columns, first_id, INTEGER),
    COLUMN(struct aside_columns, counted_id, INTEGER),
    COLUMN(struct aside_columns, last_id, INTEGER),
    COLUMN(struct aside_columns, oldest_us, INTEGER),
    COLUMN(struct aside_columns, probed, INTEGER),
    COLUMN(struct aside_columns, doubled, INTEGER),
};

struct aside {
    struct tally *tally;
    int64_t max; /* rows that are counted */
};

static enum weir_status note_aside(void *state, struct weir_rows *rows,
                                   struct weir_error *error)
{
    const struct aside *self = state;
    struct aside_columns row;
    struct entry *entry;
    enum weir_status status = weir_row_read(rows, COLUMNS(ASIDE), &row, error);

    if (status != WEIR_OK)
        return status;
    entry = find_entry(self->tally, row.subscription, row.pid);
    if (entry == NULL)
        return WEIR_OK;
    if (row.count == self->max)
        row.count = extrapolate(row.count, row.first_id, row.counted_id, row.last_id);
    add_to_sample(entry, without_doubled(row.count, row.probed, row.doubled),
                  row.oldest_us);
    return WEIR_OK;
}

static enum weir_status add_aside(struct tally *self, const struct weir_sql *sql,
                                  struct weir_error *error)
{
    struct aside aside = {self, WEIR_LAG_EXACT_MAX / (int64_t)self->count + 1};

    return weir_query_each(
        self->connection, sql,
        VALUES(weir_integer(self->question.queue_id), weir_integer(aside.max)),
        note_aside, &aside, error);
}

/* Those that are close to the end, if any. */
static enum weir_status count_near(struct tally *self, struct weir_error *error)
{
    int64_t mark = self->last_id - NEAR_IDS;

    for (size_t i = 0; i < self->count; i++) {
        if (self->entries[i].begin >= mark)
            return count_from(self, mark, mark, error);
    }
    return WEIR_OK;
}

static enum weir_status estimate(struct tally *self, struct weir_error *error)
{
    enum weir_status status = sample(self, error);

    if (status == WEIR_OK)
        status = add_aside(self, &weir_pg_sql_lag_aside, error);
    if (status == WEIR_OK)
        status = count_near(self, error);
    return status;
}

/* ---- all of it --------------------------------------------------------------------- */

static bool is_long(const struct tally *self)
{
    return self->last_id - lowest_mark(self) > WEIR_LAG_EXACT_MAX;
}

/* Counting makes all of them so, or none. */
static bool is_exact(const struct tally *self)
{
    return self->entries[0].exact;
}

static enum weir_status count_all(struct tally *self, struct weir_error *error)
{
    bool too_much = false;
    enum weir_status status = read_marks(self, error);

    if (status != WEIR_OK || self->count == 0)
        return status;
    if (is_long(self)) {
        status = sample(self, error);
        too_much = is_surely_more(self) ||
                   ids_behind(self, lowest_mark(self)) > self->question.look_max;
    }
    if (status == WEIR_OK && !too_much)
        status = count_from(self, lowest_mark(self), 0, error);
    if (status == WEIR_OK && !is_exact(self))
        status = estimate(self, error);
    return status;
}

/* ---- guessing ---------------------------------------------------------------------- */

static void forget_entries(struct tally *self)
{
    weir_heap_free(self->heap, self->entries);
    self->entries = NULL;
    self->count = 0;
}

/* The estimate stands behind the columns of a mark. */
static enum weir_status add_guess(void *state, struct weir_rows *rows,
                                  struct weir_error *error)
{
    static const struct weir_column GUESS[] = {COLUMN(struct amount, waiting, INTEGER)};
    struct tally *self = state;
    enum weir_status status = add_entry(state, rows, error);

    if (status == WEIR_OK)
        status = weir_row_read_from(rows, COUNT_OF(MARK), COLUMNS(GUESS),
                                    &self->entries[self->count - 1].sampled, error);
    return status;
}

static enum weir_status guess(struct tally *self, struct weir_error *error)
{
    enum weir_status status;

    forget_entries(self);
    status = weir_query_each(self->connection, &weir_pg_sql_lag_guess,
                             VALUES(weir_integer(self->question.queue_id)), add_guess,
                             self, error);
    if (status == WEIR_OK && self->count > 0)
        status = add_aside(self, &weir_pg_sql_lag_aside_alone, error);
    return status;
}

/* Without waiting for the sweep, if there is no time for that. */
static enum weir_status count_or_guess(struct tally *self, struct weir_error *error)
{
    enum weir_status status;
    bool locked = false;

    if (self->question.look_us == 0)
        return count_all(self, error);
    status = weir_read_lock_timeout_set(self->connection, error);
    if (status == WEIR_OK)
        status = weir_read_lock_timeout_reset(self->connection, count_all(self, error),
                                              &locked, error);
    if (status == WEIR_OK && locked)
        status = guess(self, error);
    return status;
}

static struct weir_lag lag_of(const struct entry *entry)
{
    const struct amount *amount = entry->exact ? &entry->counted : &entry->sampled;

    return (struct weir_lag){
        .pid = entry->pid,
        .subscription = entry->subscription,
        .waiting = amount->waiting,
        .oldest_us = amount->oldest_us,
        .estimate = !entry->exact,
    };
}

enum weir_status weir_pg_lag(const struct weir_outbox_log *self,
                             struct weir_connection *connection,
                             const struct weir_lag_question *question, weir_lag_fn visit,
                             void *state, struct weir_error *error)
{
    const struct weir_heap *heap = weir_connection_config(connection)->heap;
    struct tally *tally = weir_heap_zalloc(heap, sizeof *tally);
    enum weir_status status;

    if (tally == NULL)
        return weir_no_memory(error, "lag");
    tally->heap = heap;
    tally->connection = connection;
    tally->question = *question;
    tally->segment_bits = self->segment_bits;
    status = count_or_guess(tally, error);
    for (size_t i = 0; i < tally->count && status == WEIR_OK; i++) {
        struct weir_lag lag = lag_of(&tally->entries[i]);

        /* An estimate of none is reported too: there may be some. */
        if (lag.waiting > 0 || lag.estimate)
            visit(state, &lag);
    }
    weir_heap_free(heap, tally->entries);
    weir_heap_free(heap, tally);
    return status;
}
