/*
 * traffic.c - see traffic.h.
 *
 * Messages are counted over a span that ends now. If the rows that were looked at are
 * all that the last minute has left, the span begins with the first of the queue; it is
 * a second at least, or the only message of a quiet queue, just enqueued, would be a
 * thousand per second. If there are more rows than that, it begins with the oldest that
 * was looked at, of whichever queue: all of this queue since then have been seen.
 */
#include "outbox/traffic.h"

#include "outbox/columns.h"
#include "outbox/engine.h"
#include "outbox/inspect_sql.h"
#include "weir/inspect.h"

#define SPAN_US_MIN INT64_C(1000000)

enum { LOOKED_AT, COUNT, OLDEST, OLDEST_MINE, NOW };

/* Small tables. */
static const struct weir_sql SQL_OUT = {
    .name = "read rate out",
    .text = "SELECT coalesce(max(x.rate), 0.0) FROM (SELECT sum(m.rate) AS rate"
            " FROM {p}_member m JOIN {p}_subscription s ON s.id = m.subscription"
            " WHERE s.queue = {1} AND ({2} = 0 OR s.id = {2}) AND m.until_us > {now}"
            " GROUP BY s.id) x",
    .parameters = "ii",
};

static double rate_of(struct weir_rows *rows)
{
    bool more = weir_rows_integer(rows, LOOKED_AT) == WEIR_RATE_ROWS_MAX;
    int64_t since_us = weir_rows_integer(rows, more ? OLDEST : OLDEST_MINE);
    int64_t span_us = weir_rows_integer(rows, NOW) - since_us;
    int64_t span_us_min = more ? 1 : SPAN_US_MIN;

    if (span_us < span_us_min)
        span_us = span_us_min;
    return (double)weir_rows_integer(rows, COUNT) * 1e6 / (double)span_us;
}

enum weir_status weir_traffic_read_in(struct weir_connection *connection, int64_t queue,
                                      double *per_s, struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &weir_outbox_engine_of(connection)->inspect->rate_in,
        VALUES(weir_integer(queue), weir_integer(WEIR_RATE_ROWS_MAX)), &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        *per_s = rate_of(&rows);
    weir_rows_close(&rows);
    return status;
}

enum weir_status weir_traffic_read_out(struct weir_connection *connection, int64_t queue,
                                       int64_t subscription, double *per_s,
                                       struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status = weir_connection_query(
        connection, &SQL_OUT, VALUES(weir_integer(queue), weir_integer(subscription)),
        &rows, error);

    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK)
        *per_s = weir_rows_real(&rows, 0);
    weir_rows_close(&rows);
    return status;
}
