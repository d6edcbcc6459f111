/*
 * dead_letter.h - messages that were rejected, kept for a decision.
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_H
#define WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_H

#include "outbox/delivery/ack.h"

/* One that is to be stored. Borrowed; its texts fit the database (plain_text.h). */
struct weir_dead_letter_entry {
    struct weir_lease_key key;
    const struct weir_rejection *rejection;
    struct weir_str reason; /* in place of the rejection's */
};

/* Store these, as pending, inside the caller's transaction. One that is there already, by
 * (subscription, partition, seq), stays as it is. */
WEIR_CHECKED enum weir_status
weir_dead_letter_store(struct weir_connection *connection,
                       const struct weir_dead_letter_entry *entries, size_t count,
                       struct weir_error *error);

#endif
