/*
 * dead_letter.c - the statements of dead_letter_sql.h on SQLite.
 */
#include "outbox/dead_letter/dead_letter_sql.h"
#include "outbox/sqlite/engine.h"

const struct weir_letter_sql weir_letters_sqlite = {
    .list = WEIR_LETTER_LIST_BY(WEIR_LETTER_OF_STATUS, "length(d.payload)"),
    .list_sealed = WEIR_LETTER_LIST_BY(WEIR_LETTER_OF_STATUS, "0"),
    .claim = {.name = "pick dead letters",
              .text = WEIR_LETTER_PICK_CLAIMABLE(" INDEXED BY {n}_dead_letter_open"),
              .parameters = WEIR_LETTER_FILTER_LETTERS "ii"},
    .requeue = {.name = "pick dead letters to requeue",
                .text = WEIR_LETTER_STEP_OPEN(" NOT INDEXED"),
                .parameters = WEIR_LETTER_STEP_LETTERS},
    .step_open = {.name = "pick pending dead letters",
                  .text = WEIR_LETTER_STEP_OPEN(" NOT INDEXED"),
                  .parameters = WEIR_LETTER_STEP_LETTERS},
    .step_closed = {.name = "pick closed dead letters",
                    .text = WEIR_LETTER_STEP_CLOSED(" NOT INDEXED"),
                    .parameters = WEIR_LETTER_STEP_LETTERS},
    .expire = {.name = "pick old dead letters",
               .text = WEIR_LETTER_EXPIRED_PICKS(" INDEXED BY {n}_dead_letter_closed"),
               .parameters = "iii"},
    .store = {.name = "store dead letter",
              .text = WEIR_LETTER_INSERT
              "VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10},"
              " {11}, {12}, {now})" WEIR_LETTER_ONCE,
              .parameters = "iiiiibtttbit"},
    .lock = {.name = "lock dead letter",
             .text = WEIR_LETTER_LOCK " = {1}",
             .parameters = "i"},
};
