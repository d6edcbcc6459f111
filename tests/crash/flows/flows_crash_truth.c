/*
 * flows_crash_truth.c - see flows_crash_truth.h.
 */
#include "crash/flows/flows_crash_truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "execution/state.h"
#include "weir/heap.h"

enum { JOINED_SIZE_MAX = 1 << 20 };

struct reader {
    struct flows_crash *run;
    struct flows_crash_truth *current;
    uint32_t *by_no; /* owned: the member of an execution, plus 1 */
    int64_t no_max;
    struct flows_crash_life *joining; /* what is passed to it is being read; NULL: none */
    struct weir_buf results;          /* of it: members of a JSON object */
    struct weir_buf encodings;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    check(memory != NULL);
    return memory;
}

static void copy_text(char *out, struct weir_str text)
{
    (void)snprintf(out, FLOWS_CRASH_NOTE_SIZE, "%.*s", (int)text.size,
                   text.size > 0 ? text.data : "");
}

static void copy_bytes(char *out, struct weir_rows *rows, size_t column)
{
    copy_text(out, weir_rows_is_null(rows, column) ? (struct weir_str){NULL, 0}
                                                   : weir_rows_bytes(rows, column));
}

/* The member of the execution in this column; NULL: none. */
static struct flows_crash_life *life_of(struct reader *self, struct weir_rows *rows,
                                        size_t column)
{
    int64_t no = weir_rows_integer(rows, column);

    if (no < 1 || no > self->no_max || self->by_no[no] == 0) {
        self->current->strays++;
        return NULL;
    }
    return &self->current->lives[self->by_no[no] - 1];
}

/* ---- what is passed ---------------------------------------------------------------- */

/* None of the texts here is JSON, or has something in it that would have to be
 * escaped. */
static void join_results(struct reader *self, struct weir_buf *out)
{
    weir_buf_append_format(out, "{\"input\": \"%s\", \"results\": {%s}",
                           self->joining->input, weir_buf_text(&self->results));
    weir_buf_append_text(out, ", \"encodings\": {\"input\": \"text\"");
    if (self->encodings.size > 0)
        weir_buf_append_format(out, ", \"results\": {%s}",
                               weir_buf_text(&self->encodings));
    weir_buf_append_text(out, "}}");
}

/* All of it is read. */
static void finish_joining(struct reader *self)
{
    struct weir_buf joined;

    if (self->joining == NULL)
        return;
    weir_buf_init(&joined, weir_heap_system(), 4 * JOINED_SIZE_MAX);
    if (self->joining->data_edges > 1)
        join_results(self, &joined);
    else
        weir_buf_append_text(&joined, self->joining->input);
    if (self->joining->data_edges > 1 || self->results.size == 0)
        flows_crash_write_given(weir_buf_get(&joined), self->joining->given);
    check_status(weir_buf_status(&joined), WEIR_OK);
    weir_buf_fini(&joined);
    weir_buf_reset(&self->results);
    weir_buf_reset(&self->encodings);
    self->joining = NULL;
}

static const struct weir_sql SQL_PASSED = {
    .name = "read what was passed",
    .text = "SELECT downstream, name, bytes FROM {p}_passed"
            " ORDER BY downstream, upstream",
    .parameters = "",
};

static void read_passed(struct reader *self, struct weir_rows *rows)
{
    struct flows_crash_life *life = life_of(self, rows, 0);
    char name[FLOWS_CRASH_NOTE_SIZE];
    char result[FLOWS_CRASH_NOTE_SIZE];

    if (life != self->joining)
        finish_joining(self);
    self->joining = life;
    if (life == NULL)
        return;
    copy_text(name, weir_rows_text(rows, 1));
    copy_bytes(result, rows, 2);
    if (life->data_edges == 1)
        copy_text(life->given, weir_str(result));
    weir_buf_append_format(&self->results, "%s\"%s\": \"%s\"",
                           self->results.size > 0 ? ", " : "", name, result);
    weir_buf_append_format(&self->encodings, "%s\"%s\": \"text\"",
                           self->encodings.size > 0 ? ", " : "", name);
}

/* ---- rows -------------------------------------------------------------------------- */

static const struct weir_sql SQL_MEMBERS = {
    .name = "read members",
    .text = "SELECT e.no, e.uuid, e.state, e.ended_us, e.failure, e.kind,"
            " i.bytes, r.bytes, f.state, f.members, f.edges, e.data_edges"
            " FROM {p}_execution e JOIN {p}_flow f ON f.no = e.flow LEFT JOIN {p}_input "
            "i ON i.no = e.no"
            " LEFT JOIN {p}_result r ON r.no = e.no",
    .parameters = "",
};

static void read_member(struct reader *self, struct weir_rows *rows)
{
    char kind[FLOWS_CRASH_NOTE_SIZE];
    struct flows_crash_life *life;
    uint32_t number;

    copy_text(kind, weir_rows_text(rows, 5));
    number = flows_crash_find(self->run, kind);
    if (number == UINT32_MAX) {
        self->current->strays++;
        return;
    }
    life = &self->current->lives[number];
    life->no = weir_rows_integer(rows, 0);
    life->found++;
    memcpy(life->uuid, weir_rows_bytes(rows, 1).data, WEIR_UUID_SIZE);
    life->state = weir_rows_integer(rows, 2);
    life->ended_us = weir_rows_integer(rows, 3);
    copy_text(life->failure, weir_rows_text(rows, 4));
    copy_bytes(life->input, rows, 6);
    copy_bytes(life->result, rows, 7);
    life->flow_state = weir_rows_integer(rows, 8);
    life->flow_members = weir_rows_integer(rows, 9);
    life->flow_edges = weir_rows_integer(rows, 10);
    life->data_edges = weir_rows_integer(rows, 11);
    self->joining = life;
    finish_joining(self);
    if (life->no <= self->no_max)
        self->by_no[life->no] = number + 1;
}

static const struct weir_sql SQL_SIGNALS = {
    .name = "read signals",
    .text = "SELECT no, key FROM story_signal",
    .parameters = "",
};

static void read_signal(struct reader *self, struct weir_rows *rows)
{
    struct flows_crash_life *life = life_of(self, rows, 0);
    char key[FLOWS_CRASH_NOTE_SIZE];
    uint32_t member;
    uint32_t index;

    copy_text(key, weir_rows_text(rows, 1));
    if (life == NULL)
        return;
    if (strcmp(key, "timeout") == 0)
        life->timeouts++;
    else if (sscanf(key, "%" SCNu32 ".%" SCNu32, &member, &index) == 2 &&
             index < FLOWS_CRASH_SIGNALS_EACH &&
             member == (uint32_t)(life - self->current->lives))
        life->came[index]++;
    else
        self->current->strays++;
}

static const struct weir_sql SQL_WAITS = {
    .name = "read ends of suspensions",
    .text = "SELECT no, has, failure, due_us, ended_us FROM story_member WHERE was = 5"
            " AND has <> 5",
    .parameters = "",
};

static void read_wait(struct reader *self, struct weir_rows *rows)
{
    struct flows_crash_life *life = life_of(self, rows, 0);
    int64_t has = weir_rows_integer(rows, 1);
    char failure[FLOWS_CRASH_NOTE_SIZE];

    copy_text(failure, weir_rows_text(rows, 2));
    if (life == NULL)
        return;
    life->resumed += has < WEIR_EXEC_SUCCEEDED;
    if (has >= WEIR_EXEC_SUCCEEDED && strncmp(failure, "suspension_timeout", 18) == 0) {
        life->timed_out++;
        life->too_early |= weir_rows_integer(rows, 4) < weir_rows_integer(rows, 3);
    }
}

static const struct weir_sql SQL_SPENT = {
    .name = "read spenders",
    .text = "SELECT DISTINCT no FROM {p}_spent WHERE dimension <> '' AND no > 0",
    .parameters = "",
};

static void read_spender(struct reader *self, struct weir_rows *rows)
{
    struct flows_crash_life *life = life_of(self, rows, 0);

    if (life != NULL)
        life->has_spent = true;
}

static const struct weir_sql SQL_REPORTS = {
    .name = "read keys of reports",
    .text = "SELECT key FROM {p}_idempotency WHERE scope LIKE '_budget:%'",
    .parameters = "",
};

static void read_report(struct reader *self, struct weir_rows *rows)
{
    char key[FLOWS_CRASH_NOTE_SIZE];
    size_t slot;

    copy_text(key, weir_rows_text(rows, 0));
    if (sscanf(key, "report %zu", &slot) == 1 && slot < self->current->report_count)
        self->current->counted[slot] = true;
    else
        self->current->strays++;
}

static const struct weir_sql SQL_ADDED = {
    .name = "read what was added",
    .text = "SELECT b.name, s.dimension, CAST(sum(s.delta) AS bigint) FROM story_usage s"
            " JOIN {p}_budget b ON b.no = s.budget WHERE s.delta > 0"
            " GROUP BY b.name, s.dimension",
    .parameters = "",
};

static void read_added(struct reader *self, struct weir_rows *rows)
{
    char budget[FLOWS_CRASH_NOTE_SIZE];
    char dimension[FLOWS_CRASH_NOTE_SIZE];

    copy_text(budget, weir_rows_text(rows, 0));
    copy_text(dimension, weir_rows_text(rows, 1));
    for (int b = 0; b < FLOWS_CRASH_BUDGETS; b++) {
        for (int d = 0; d < FLOWS_CRASH_DIMENSIONS; d++) {
            if (strcmp(budget, FLOWS_CRASH_BUDGET_NAMES[b]) == 0 &&
                strcmp(dimension, FLOWS_CRASH_DIMENSION_NAMES[d]) == 0)
                self->current->added[b][d] = weir_rows_integer(rows, 2);
        }
    }
}

static const struct weir_sql SQL_RESETS = {
    .name = "read resets",
    .text = "SELECT CAST(sum(era) AS bigint) FROM {p}_budget",
    .parameters = "",
};

static void read_resets(struct reader *self, struct weir_rows *rows)
{
    self->current->resets = weir_rows_integer(rows, 0);
}

/* ---- all of it --------------------------------------------------------------------- */

static void read_all(struct reader *self, const struct weir_sql *sql,
                     void (*row)(struct reader *self, struct weir_rows *rows))
{
    struct fixture *fixture = self->run->rig.fixture;
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_rows rows;
    enum weir_status status =
        weir_connection_query(connection, sql, NULL, 0, &rows, &fixture->error);

    while (status == WEIR_OK &&
           (status = weir_rows_next(&rows, &fixture->error)) == WEIR_OK)
        row(self, &rows);
    weir_rows_close(&rows);
    check_db(status, WEIR_NO_ROW);
    fixture_give(fixture, connection);
}

void flows_crash_truth_read(struct flows_crash *run, struct flows_crash_truth *out)
{
    struct reader self = {.run = run, .current = out};

    memset(out, 0, sizeof *out);
    out->count = atomic_load(&run->shared->member_count);
    out->lives = allocate(out->count, sizeof *out->lives);
    out->report_count = atomic_load(&run->shared->report_count);
    out->counted = allocate(out->report_count, sizeof *out->counted);
    self.no_max =
        fixture_ask(run->rig.fixture, "SELECT coalesce(max(no), 0) FROM weir_execution");
    self.by_no = allocate((size_t)self.no_max + 1, sizeof *self.by_no);
    weir_buf_init(&self.results, weir_heap_system(), JOINED_SIZE_MAX);
    weir_buf_init(&self.encodings, weir_heap_system(), JOINED_SIZE_MAX);
    read_all(&self, &SQL_MEMBERS, read_member);
    read_all(&self, &SQL_PASSED, read_passed);
    finish_joining(&self);
    weir_buf_fini(&self.results);
    weir_buf_fini(&self.encodings);
    read_all(&self, &SQL_SIGNALS, read_signal);
    read_all(&self, &SQL_WAITS, read_wait);
    read_all(&self, &SQL_SPENT, read_spender);
    read_all(&self, &SQL_REPORTS, read_report);
    read_all(&self, &SQL_ADDED, read_added);
    read_all(&self, &SQL_RESETS, read_resets);
    free(self.by_no);
}

void flows_crash_truth_free(struct flows_crash_truth *self)
{
    free(self->lives);
    free(self->counted);
}
