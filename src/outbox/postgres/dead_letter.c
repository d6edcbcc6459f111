/*
 * dead_letter.c - the statements of dead_letter_sql.h on PostgreSQL.
 */
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/postgres/engine.h"

#define SKIP_LOCKED " FOR UPDATE OF d SKIP LOCKED"

const struct weir_letter_sql weir_letters_pg = {
    .list = WEIR_LETTER_LIST_BY(WEIR_LETTER_OF_STATUS, "length(d.payload)"),
    .list_sealed = WEIR_LETTER_LIST_BY(WEIR_LETTER_OF_STATUS, "0"),
    .claim = {.name = "pick dead letters",
              .text = WEIR_LETTER_PICK_CLAIMABLE("") SKIP_LOCKED,
              .parameters = WEIR_LETTER_FILTER_LETTERS "ii"},
    .requeue = {.name = "pick dead letters to requeue",
                .text = WEIR_LETTER_STEP_OPEN("") " FOR UPDATE OF d",
                .parameters = WEIR_LETTER_STEP_LETTERS},
    .step_open = {.name = "pick pending dead letters",
                  .text = WEIR_LETTER_STEP_OPEN("") SKIP_LOCKED,
                  .parameters = WEIR_LETTER_STEP_LETTERS},
    .step_closed = {.name = "pick closed dead letters",
                    .text = WEIR_LETTER_STEP_CLOSED("") SKIP_LOCKED,
                    .parameters = WEIR_LETTER_STEP_LETTERS},
    .expire = {.name = "pick old dead letters",
               .text = WEIR_LETTER_EXPIRED_PICKS("") SKIP_LOCKED,
               .parameters = "iii"},

    /* No row is updated twice in one statement: of a message that is there twice the
     * first counts. */
    .store =
        {.name = "store dead letters",
         .text = WEIR_LETTER_INSERT
         "SELECT DISTINCT ON (subscription, pid, seq) subscription, pid, seq, log_id,"
         " created_us, uid, message_key, type, headers, payload, attempts, error, {now}"
         " FROM unnest({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12})"
         " WITH ORDINALITY AS a (subscription, pid, seq, log_id, created_us, uid, "
         "message_key,"
         " type, headers, payload, attempts, error, n) ORDER BY subscription, pid, seq, "
         "n" WEIR_LETTER_ONCE,
         .parameters = "IIIIIBTTTBIT"},
    .lock = {.name = "lock dead letters",
             .text = WEIR_LETTER_LOCK " = ANY ({1}) ORDER BY d.id FOR UPDATE",
             .parameters = "I"},
};
