/*
 * dead_letter_scope.c - see dead_letter_scope.h.
 *
 * A name that does not exist is an error and not an empty answer: an operator that
 * mistypes a queue must not read that it has no dead letters.
 */
#include "outbox/dead_letter/dead_letter_scope.h"

#include <stdarg.h>
#include <string.h>

#include "base/count.h"
#include "base/text.h"
#include "outbox/names.h"
#include "outbox/queue/catalog.h"

/* Small tables. */
static const struct weir_sql SQL_KNOWS_SUBSCRIPTION = {
    .name = "find subscriptions",
    .text = "SELECT count(*) FROM {p}_subscription WHERE name = {1}"
            " AND ({2} = 0 OR queue = {2})",
    .parameters = "ti",
};

static const char *const STATUS_NAMES[] = {
    [WEIR_DEAD_LETTER_PENDING] = "pending",
    [WEIR_DEAD_LETTER_REPROCESSING] = "reprocessing",
    [WEIR_DEAD_LETTER_RESOLVED] = "resolved",
    [WEIR_DEAD_LETTER_DISCARDED] = "discarded",
    [WEIR_DEAD_LETTER_ANY] = "any",
    [WEIR_DEAD_LETTER_REQUEUED] = "requeued",
};

enum { STATUS_COUNT = COUNT_OF(STATUS_NAMES) };

/* ---- statuses ---------------------------------------------------------------------- */

const char *weir_dead_letter_status_name(enum weir_dead_letter_status status)
{
    return (unsigned)status < STATUS_COUNT ? STATUS_NAMES[status] : "unknown";
}

enum weir_status weir_dead_letter_status_parse(const char *text,
                                               enum weir_dead_letter_status *out,
                                               struct weir_error *error)
{
    for (int i = 0; i < STATUS_COUNT; i++) {
        if (strcmp(text, STATUS_NAMES[i]) == 0) {
            *out = (enum weir_dead_letter_status)i;
            return WEIR_OK;
        }
    }
    return weir_error_set(error, WEIR_INVALID,
                          "status is \"%.50s\", must be pending, reprocessing, resolved, "
                          "requeued, discarded or any",
                          text);
}

/* ---- checking ---------------------------------------------------------------------- */

void weir_dead_letter_scope_init(struct weir_dead_letter_scope *self)
{
    *self = (struct weir_dead_letter_scope){.partition = WEIR_ANY_PARTITION};
}

static enum weir_status check_names(const struct weir_dead_letter_scope *scope,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (scope->queue != NULL)
        status = weir_queue_name_check("queue name", scope->queue, error);
    if (status == WEIR_OK && scope->subscription != NULL)
        status = weir_queue_name_check("subscription name", scope->subscription, error);
    if (status == WEIR_OK && scope->queue == NULL &&
        scope->partition != WEIR_ANY_PARTITION)
        status = weir_error_set(error, WEIR_INVALID,
                                "partition %d of which queue? a partition needs a queue",
                                (int)scope->partition);
    return status;
}

enum weir_status weir_letter_scope_check(const struct weir_dead_letter_scope *scope,
                                         int64_t limit_max, struct weir_error *error)
{
    if (scope->limit < 0 || scope->limit > limit_max)
        return weir_error_set(error, WEIR_OUT_OF_RANGE,
                              "limit is %lld, must be from 0 to %lld",
                              (long long)scope->limit, (long long)limit_max);
    if (scope->failed_from_us < 0 || scope->failed_until_us < 0 ||
        (scope->failed_until_us != 0 && scope->failed_until_us < scope->failed_from_us))
        return weir_error_set(
            error, WEIR_INVALID, "failed from %lld until %lld us is no span of time",
            (long long)scope->failed_from_us, (long long)scope->failed_until_us);
    return check_names(scope, error);
}

/* ---- resolving --------------------------------------------------------------------- */

static enum weir_status resolve_queue(const struct weir_dead_letter_scope *scope,
                                      struct weir_connection *connection, int64_t *id,
                                      struct weir_letter_filter *out,
                                      struct weir_error *error)
{
    bool one = scope->partition != WEIR_ANY_PARTITION;
    struct weir_queue_row row;
    enum weir_status status =
        weir_catalog_find_queue(connection, scope->queue, &row, error);

    if (status == WEIR_OK && one)
        status =
            weir_partition_check(scope->queue, scope->partition, row.partitions, error);
    if (status != WEIR_OK)
        return status;
    *id = row.id;
    out->pid_from = weir_pid(row.id, one ? scope->partition : 0);
    out->pid_until = one ? out->pid_from + 1 : weir_pid(row.id + 1, 0);
    return WEIR_OK;
}

static enum weir_status find_subscription(const struct weir_dead_letter_scope *scope,
                                          struct weir_connection *connection,
                                          int64_t queue_id, struct weir_error *error)
{
    int64_t count = 0;
    enum weir_status status = weir_connection_query_integer(
        connection, &SQL_KNOWS_SUBSCRIPTION,
        VALUES(weir_text(weir_str(scope->subscription)), weir_integer(queue_id)), &count,
        error);

    if (status != WEIR_OK || count > 0)
        return status;
    return weir_error_set(error, WEIR_NOT_FOUND,
                          "there is no subscription \"%.80s\"%s%.80s",
                          scope->subscription, scope->queue != NULL ? " of queue " : "",
                          scope->queue != NULL ? scope->queue : "");
}

enum weir_status weir_letter_scope_resolve(const struct weir_dead_letter_scope *scope,
                                           struct weir_connection *connection,
                                           struct weir_letter_filter *out,
                                           struct weir_error *error)
{
    int64_t queue_id = 0;
    enum weir_status status = WEIR_OK;

    *out = (struct weir_letter_filter){
        .pid_from = 0,
        .pid_until = INT64_MAX,
        .failed_from_us = scope->failed_from_us,
        .failed_until_us =
            scope->failed_until_us != 0 ? scope->failed_until_us : INT64_MAX,
        .subscription = scope->subscription,
        .key = scope->key,
        .type = scope->type,
    };
    if (scope->queue != NULL)
        status = resolve_queue(scope, connection, &queue_id, out, error);
    if (status == WEIR_OK && scope->subscription != NULL)
        status = find_subscription(scope, connection, queue_id, error);
    return status;
}

static struct weir_value optional(const char *text)
{
    return text != NULL ? weir_text(weir_str(text)) : weir_null();
}

void weir_letter_filter_bind(const struct weir_letter_filter *self,
                             struct weir_value *values)
{
    values[0] = weir_integer(self->pid_from);
    values[1] = weir_integer(self->pid_until);
    values[2] = weir_integer(self->failed_from_us);
    values[3] = weir_integer(self->failed_until_us);
    values[4] = optional(self->subscription);
    values[5] = optional(self->key);
    values[6] = optional(self->type);
}

/* ---- for people -------------------------------------------------------------------- */

/* A text that is being written; what does not fit is left out. */
struct phrase {
    char *out;
    size_t size;
    size_t used;
};

static WEIR_PRINTF(2, 3) void add(struct phrase *self, const char *format, ...)
{
    va_list arguments;

    if (self->used + 4 > self->size)
        return;
    va_start(arguments, format);
    self->used += weir_text_format_list(self->out + self->used, self->size - self->used,
                                        format, arguments);
    va_end(arguments);
}

static void add_place(struct phrase *self, const struct weir_dead_letter_scope *scope)
{
    if (scope->queue == NULL && scope->subscription == NULL)
        return;
    add(self, "%s", scope->queue != NULL ? scope->queue : "*");
    if (scope->subscription != NULL || scope->partition != WEIR_ANY_PARTITION)
        add(self, "/%s", scope->subscription != NULL ? scope->subscription : "*");
    if (scope->partition != WEIR_ANY_PARTITION)
        add(self, "/%d", (int)scope->partition);
}

const char *weir_letter_scope_describe(const struct weir_dead_letter_scope *scope,
                                       char *out, size_t size)
{
    struct phrase phrase = {.out = out, .size = size};

    out[0] = '\0';
    add_place(&phrase, scope);
    if (scope->key != NULL)
        add(&phrase, "%skey=%s", phrase.used > 0 ? " " : "", scope->key);
    if (scope->type != NULL)
        add(&phrase, "%stype=%s", phrase.used > 0 ? " " : "", scope->type);
    if (scope->limit != 0)
        add(&phrase, "%slimit=%lld", phrase.used > 0 ? " " : "", (long long)scope->limit);
    return phrase.used > 0 ? out : NULL;
}
