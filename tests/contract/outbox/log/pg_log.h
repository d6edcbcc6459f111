/*
 * pg_log.h - short words for tests of PostgreSQL's log: several sessions, texts as
 * payloads.
 */
#ifndef WEIR_TEST_PG_LOG_H
#define WEIR_TEST_PG_LOG_H

#include <stdio.h>
#include <string.h>

#include "kit/outbox/outbox_engines.h"
#include "outbox/log/log.h"
#include "outbox/postgres/engine.h"

enum { SETUP_ROWS_MAX = 4096, SETUP_TEXT_SIZE = 64 * 1024 };

/* What a reader got: "a b c", and the place behind each. */
struct reading {
    char text[SETUP_TEXT_SIZE];
    size_t size;
    struct weir_log_position log_positions[SETUP_ROWS_MAX];
    size_t count;
    struct weir_log_position end;
};

static inline struct weir_outbox_log pg_log_open(struct fixture *fixture)
{
    return (struct weir_outbox_log){
        .ops = &weir_log_postgresql,
        .segment_bits = (uint32_t)fixture_ask(
            fixture, "SELECT value::bigint FROM weir_meta WHERE name = 'segment_bits'"),
    };
}

static inline struct weir_log_entry pg_log_entry(int64_t pid, const char *payload)
{
    struct weir_log_entry entry = {
        .pid = pid,
        .type = weir_str("t"),
        .payload = weir_str(payload),
    };

    memset(entry.uid, 7, sizeof entry.uid);
    return entry;
}

static inline int64_t pg_log_append(struct fixture *fixture,
                                    struct weir_connection *connection, int64_t pid,
                                    const char *payload)
{
    struct weir_outbox_log log = {.ops = &weir_log_postgresql};
    struct weir_log_entry entry = pg_log_entry(pid, payload);

    check_db(log.ops->append(&log, connection, &entry, 1, NULL, &fixture->error),
             WEIR_OK);
    return entry.id;
}

/* Everything that is committed becomes readable; the newest cut. */
static inline int64_t pg_log_cut(struct fixture *fixture)
{
    struct weir_outbox_log log = {.ops = &weir_log_postgresql};
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_log_position head = {0};
    bool moved = false;

    check_db(log.ops->advance(&log, connection, head, true, NULL, &head, &moved,
                              &fixture->error),
             WEIR_OK);
    fixture_give(fixture, connection);
    return head.cut;
}

static inline enum weir_status pg_log_note(void *state, const struct weir_log_row *row,
                                           struct weir_error *error)
{
    struct reading *self = state;
    int length =
        snprintf(self->text + self->size, sizeof self->text - self->size, "%s%.*s",
                 self->size > 0 ? " " : "", (int)row->payload.size, row->payload.data);

    (void)error;
    check(length > 0 && (size_t)length < sizeof self->text - self->size);
    check(self->count < SETUP_ROWS_MAX);
    self->size += (size_t)length;
    self->log_positions[self->count++] = row->log_position;
    return WEIR_OK;
}

/* All there is behind `after`, by pages of `row_max`. Places must grow from row to
 * row. */
static inline void pg_log_read(struct fixture *fixture, struct weir_log_position after,
                               uint32_t row_max, struct reading *out)
{
    struct weir_outbox_log log = pg_log_open(fixture);
    struct weir_connection *connection = fixture_take(fixture);
    struct weir_page page = {
        .after = after,
        .row_max = row_max,
        .payload_max = 1000000,
        .visit = pg_log_note,
        .state = out,
    };

    *out = (struct reading){.size = 0};
    do {
        check_db(log.ops->read(&log, connection, &page, &fixture->error), WEIR_OK);
        check(page.rows <= row_max);
        check(page.at_head || weir_log_position_before(page.after, page.end));
        page.after = page.end;
    } while (!page.at_head);
    out->end = page.end;
    for (size_t i = 0; i < out->count; i++)
        check(weir_log_position_before(i == 0 ? after : out->log_positions[i - 1],
                                       out->log_positions[i]));
    fixture_give(fixture, connection);
}

/* The texts that wait behind a place are these. */
#define check_reads(after, want)                                                         \
    do {                                                                                 \
        static struct reading reading_;                                                  \
        pg_log_read(fixture, (after), 1000, &reading_);                                  \
        check_str(reading_.text, (want));                                                \
    } while (0)

#define BEGINNING ((struct weir_log_position){0})
#define BEHIND_CUT(n) ((struct weir_log_position){.cut = (n)})

#endif
