/*
 * dead_letter_statements.h - statements on dead letters whose plans a test looks at.
 *
 * Dead letters are few where all is well, and a million where something was wrong all
 * night. Then a page of them, or a claim, must not read all of them. By engine.
 */
#ifndef WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_STATEMENTS_H
#define WEIR_OUTBOX_DEAD_LETTER_DEAD_LETTER_STATEMENTS_H

#include "db/sql.h"

extern const struct weir_sql weir_letter_sql_list[];
extern const struct weir_sql weir_letter_sql_claim[];
extern const struct weir_sql weir_letter_sql_requeue[];
extern const struct weir_sql weir_letter_sql_expire[];

#endif
