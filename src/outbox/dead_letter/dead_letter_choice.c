/*
 * dead_letter_choice.c - see dead_letter_choice.h.
 */
#include "outbox/dead_letter/dead_letter_choice.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "base/noun.h"
#include "base/text.h"
#include "db/query.h"
#include "outbox/audit/audit.h"
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/engine.h"
#include "outbox/transact_nested.h"

enum { ID_TEXT_SIZE = 24 };

/* One of the ids. */
struct item {
    int64_t id;
    size_t index; /* in the caller's list */
    bool found;
    bool change;
    enum weir_dead_letter_status was;
    bool foreign; /* claimed with another token */
    struct weir_letter_pick pick;
    enum weir_status verdict;
};

struct decision {
    const struct weir_letter_decision *rule;
    struct item *items;     /* owned; by id */
    struct weir_value *ids; /* owned; as many */
    size_t count;
    size_t at; /* of the row that comes next */
    int64_t now_us;
    struct weir_letter_picks picks; /* those to change */
};

/* ---- judging ----------------------------------------------------------------------- */

static enum weir_dead_letter_status stored_status(struct weir_str text)
{
    int status = 0;

    while (status < WEIR_DEAD_LETTER_ANY &&
           !weir_str_equal(text, weir_str(weir_dead_letter_status_name(
                                     (enum weir_dead_letter_status)status))))
        status++;
    return (enum weir_dead_letter_status)status;
}

static void judge(const struct decision *self, struct item *item, int64_t row_token,
                  int64_t deadline_us)
{
    const struct weir_letter_decision *rule = self->rule;
    bool ours = rule->choice->token != 0 && rule->choice->token == row_token;
    bool claimed = item->was == WEIR_DEAD_LETTER_REPROCESSING;
    bool pending =
        item->was == WEIR_DEAD_LETTER_PENDING || (claimed && deadline_us <= self->now_us);

    item->foreign = claimed && !ours;
    if (ours && item->was == rule->becomes)
        item->verdict = WEIR_OK;
    else if ((claimed && ours) || (pending && rule->takes_pending)) {
        item->verdict = WEIR_OK;
        item->change = true;
    } else
        item->verdict = WEIR_FENCED;
}

struct locked {
    struct weir_letter_pick pick;
    struct weir_str status;
    int64_t token;
    int64_t deadline_us;
};
static const struct weir_column LOCKED[] = {
    COLUMN(struct locked, pick.id, INTEGER),
    COLUMN(struct locked, status, TEXT),
    COLUMN(struct locked, token, INTEGER),
    COLUMN(struct locked, deadline_us, INTEGER),
    COLUMN(struct locked, pick.size, INTEGER),
    COLUMN(struct locked, pick.failed_us, INTEGER),
};

/* Rows come in the order of their ids, as the items are; the same id may be among these
 * twice. */
static enum weir_status take_row(void *state, struct weir_rows *rows,
                                 struct weir_error *error)
{
    struct decision *self = state;
    struct locked row;
    bool first = true;
    enum weir_status status = weir_row_read(rows, COLUMNS(LOCKED), &row, error);

    if (status != WEIR_OK)
        return status;
    while (self->at < self->count && self->items[self->at].id < row.pick.id)
        self->at++;
    for (size_t i = self->at; i < self->count && self->items[i].id == row.pick.id; i++) {
        struct item *item = &self->items[i];

        item->found = true;
        item->was = stored_status(row.status);
        item->pick = row.pick;
        judge(self, item, row.token, row.deadline_us);
        item->change = item->change && first;
        first = false;
    }
    return WEIR_OK;
}

/* ---- the transaction --------------------------------------------------------------- */

static enum weir_status lock(struct decision *self, struct weir_connection *connection,
                             struct weir_value ids, struct weir_error *error)
{
    return weir_query_each(connection, &weir_outbox_engine_of(connection)->letters->lock,
                           &ids, 1, take_row, self, error);
}

static enum weir_status lock_all(struct decision *self,
                                 struct weir_connection *connection,
                                 struct weir_error *error)
{
    bool together = weir_connection_traits(connection)->takes_arrays;
    enum weir_status status = WEIR_OK;

    if (together)
        return lock(self, connection,
                    weir_array(WEIR_TYPE_INTEGER, self->ids, self->count), error);
    for (size_t i = 0; i < self->count && status == WEIR_OK; i++)
        status = lock(self, connection, self->ids[i], error);
    return status;
}

static void begin_anew(struct decision *self)
{
    self->picks.count = 0;
    self->at = 0;
    for (size_t i = 0; i < self->count; i++) {
        self->items[i].found = false;
        self->items[i].change = false;
        self->items[i].verdict = WEIR_NOT_FOUND;
    }
}

/* What the call will return, in the caller's order. */
static enum weir_status first_refusal(const struct decision *self)
{
    const struct item *refused = NULL;

    for (size_t i = 0; i < self->count; i++) {
        const struct item *item = &self->items[i];

        if (item->verdict != WEIR_OK && (refused == NULL || item->index < refused->index))
            refused = item;
    }
    return refused != NULL ? refused->verdict : WEIR_OK;
}

static enum weir_status decide(struct weir_connection *connection, void *argument,
                               struct weir_error *error)
{
    struct decision *self = argument;
    enum weir_status status = weir_connection_clock(connection, &self->now_us, error);

    begin_anew(self);
    if (status == WEIR_OK)
        status = lock_all(self, connection, error);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].change)
            self->picks.items[self->picks.count++] = self->items[i].pick;
    }
    if (self->picks.count > 0)
        status =
            self->rule->act(self->rule, connection, &self->picks, self->now_us, error);
    return status == WEIR_OK
               ? weir_audit_record_partly(connection, (int64_t)self->picks.count,
                                          first_refusal(self), error)
               : status;
}

/* ---- telling ----------------------------------------------------------------------- */

static enum weir_status tell(const struct decision *self, const struct item *refused,
                             size_t refused_count, struct weir_error *error)
{
    if (refused->found)
        (void)weir_error_set(
            error, refused->verdict, "dead letter %lld is %s%s and was not %s",
            (long long)refused->id, weir_dead_letter_status_name(refused->was),
            refused->foreign ? " under another token" : "", self->rule->done);
    else
        (void)weir_error_set(error, refused->verdict, "there is no dead letter %lld",
                             (long long)refused->id);
    if (self->count > 1)
        weir_error_prefix(error, "%zu of %zu %s not %s", refused_count, self->count,
                          WEIR_NOUN(self->count, "dead letter", "dead letters"),
                          self->rule->done);
    return refused->verdict;
}

/* Give every verdict; the first refusal in the caller's order is the answer. */
static enum weir_status sum_up(const struct decision *self, enum weir_status *verdicts,
                               struct weir_error *error)
{
    const struct item *refused = NULL;
    size_t refused_count = 0;

    for (size_t i = 0; i < self->count; i++) {
        const struct item *item = &self->items[i];

        if (verdicts != NULL)
            verdicts[item->index] = item->verdict;
        if (item->verdict == WEIR_OK)
            continue;
        refused_count++;
        if (refused == NULL || item->index < refused->index)
            refused = item;
    }
    return refused == NULL ? WEIR_OK : tell(self, refused, refused_count, error);
}

/* ---- all of it --------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const struct item *left = a;
    const struct item *right = b;

    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static enum weir_status check(const struct weir_letter_decision *self,
                              struct weir_error *error)
{
    const struct weir_dead_letter_choice *choice = self->choice;

    if (choice->count > WEIR_DEAD_LETTER_LIMIT_MAX)
        return weir_error_set(error, WEIR_OUT_OF_RANGE, "%zu %s at once, the limit is %d",
                              choice->count,
                              WEIR_NOUN(choice->count, "dead letter", "dead letters"),
                              WEIR_DEAD_LETTER_LIMIT_MAX);
    if (choice->token < 0 || (choice->token == 0 && !self->takes_pending))
        return weir_error_set(error, WEIR_INVALID,
                              "token is %lld, must be the one of a claim",
                              (long long)choice->token);
    return WEIR_OK;
}

static enum weir_status prepare(struct decision *self, struct weir_error *error)
{
    const struct weir_heap *heap = self->rule->outbox->heap;

    self->items = weir_heap_zalloc_array(heap, self->count, sizeof *self->items);
    self->ids = weir_heap_zalloc_array(heap, self->count, sizeof *self->ids);
    self->picks.items =
        weir_heap_zalloc_array(heap, self->count, sizeof *self->picks.items);
    if (self->items == NULL || self->ids == NULL || self->picks.items == NULL)
        return weir_no_memory_for(error, "%zu %s", self->count,
                                  WEIR_NOUN(self->count, "dead letter", "dead letters"));
    for (size_t i = 0; i < self->count; i++)
        self->items[i] = (struct item){.id = self->rule->choice->ids[i], .index = i};
    qsort(self->items, self->count, sizeof *self->items, compare_ids);
    for (size_t i = 0; i < self->count; i++)
        self->ids[i] = weir_integer(self->items[i].id);
    return WEIR_OK;
}

static enum weir_status decide_on_all(const struct weir_letter_decision *self,
                                      struct weir_connection *connection,
                                      enum weir_status *verdicts,
                                      struct weir_error *error)
{
    const struct weir_heap *heap = self->outbox->heap;
    struct decision decision = {.rule = self, .count = self->choice->count};
    enum weir_status status;

    weir_letter_picks_init(&decision.picks, heap);
    status = prepare(&decision, error);
    if (status == WEIR_OK)
        status = weir_transact_nested(self->outbox, connection, decide, &decision, error);
    if (status == WEIR_OK)
        weir_audit_settle();
    if (status == WEIR_OK)
        status = sum_up(&decision, verdicts, error);
    weir_letter_picks_fini(&decision.picks);
    weir_heap_free(heap, decision.items);
    weir_heap_free(heap, decision.ids);
    return status;
}

/* The ids, as many as there is room for. */
static const char *write_target(const struct weir_dead_letter_choice *choice,
                                char out[WEIR_AUDIT_TARGET_SIZE])
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < choice->count && used + ID_TEXT_SIZE < WEIR_AUDIT_TARGET_SIZE;
         i++)
        used += weir_text_format(out + used, WEIR_AUDIT_TARGET_SIZE - used, "%s%lld",
                                 i > 0 ? "," : "", (long long)choice->ids[i]);
    return choice->count > 0 ? out : NULL;
}

enum weir_status weir_letter_decide(const struct weir_letter_decision *self,
                                    struct weir_connection *connection,
                                    enum weir_status *verdicts, struct weir_error *error)
{
    char target[WEIR_AUDIT_TARGET_SIZE];
    struct weir_audit_call audit;
    enum weir_status status;

    weir_audit_begin(&audit, self->outbox->db, connection, self->action,
                     write_target(self->choice, target));
    weir_audit_because(self->reason);
    status = check(self, error);
    if (status == WEIR_OK && self->choice->count > 0)
        status = decide_on_all(self, connection, verdicts, error);
    return weir_audit_end(&audit, status, error);
}

enum weir_status weir_letter_refuse(const struct weir_letter_decision *self,
                                    struct weir_connection *connection,
                                    enum weir_status status)
{
    char target[WEIR_AUDIT_TARGET_SIZE];
    struct weir_audit_call audit;

    weir_audit_begin(&audit, self->outbox->db, connection, self->action,
                     write_target(self->choice, target));
    return weir_audit_end(&audit, status, NULL);
}
