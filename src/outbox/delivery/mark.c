/*
 * mark.c - see mark.h.
 */
#include "outbox/delivery/mark.h"

#include "base/fault_point.h"

/* Older versions on PostgreSQL have theirs too; the table is small. */
static const struct weir_sql SQL_FORGET_ALL = {
    .name = "forget marks",
    .text = "UPDATE {p}_ack SET trying = 0 WHERE trying <> 0",
};

int64_t weir_mark_trying(int64_t seq, enum weir_mark mark)
{
    if (mark == WEIR_MARK_NONE)
        return 0;
    return mark == WEIR_MARK_ALONE ? -seq : seq;
}

enum weir_mark weir_mark_find(const struct weir_stored_position *position,
                              const struct weir_lease *lease)
{
    int64_t head = position->seq + 1;

    if (position->epoch < lease->marks_from || position->epoch >= lease->epoch)
        return WEIR_MARK_NONE;
    if (position->trying == head)
        return WEIR_MARK_BESIDE;
    return position->trying == -head ? WEIR_MARK_ALONE : WEIR_MARK_NONE;
}

enum weir_status weir_mark_store(struct weir_connection *connection, int64_t owner,
                                 struct weir_ack *mark, struct weir_error *error)
{
    struct weir_lease lease = {.key = mark->key, .epoch = mark->epoch};
    enum weir_status status = weir_ack_move(connection, owner, mark, 1, error);

    if (status == WEIR_OK &&
        WEIR_POINT(weir_connection_config(connection)->points, "mark.unanswered"))
        status = weir_error_set(error, WEIR_IN_DOUBT, "lost by order of a test");
    if (status != WEIR_OK || mark->accepted)
        return status;
    (void)!weir_lease_release(connection, owner, &lease, 1, error); /* or it runs out */
    return weir_error_set(error, WEIR_FENCED, "another process has the lease");
}

enum weir_status weir_mark_forget_all(struct weir_connection *connection,
                                      struct weir_error *error)
{
    return weir_connection_execute(connection, &SQL_FORGET_ALL, NO_VALUES, NULL, error);
}
