/*
 * time.h - microseconds since 1970 as MariaDB's DATETIME(6), and back.
 *
 * A DATETIME has no time zone; ours are in UTC, whatever the session's time zone is.
 * The calendar is the Gregorian one for all years, as MariaDB's, and there are no leap
 * seconds.
 *
 * Threads  Any thread.
 * Memory   None.
 */
#ifndef WEIR_DB_MARIADB_TIME_H
#define WEIR_DB_MARIADB_TIME_H

#include <mysql.h>
#include <stdbool.h>
#include <stdint.h>

/* False when the year is not within 1 to 9999, which is what a DATETIME holds. */
bool weir_maria_time_split(int64_t time_us, MYSQL_TIME *out);

/* False for what is no moment: month or day 0 ("0000-00-00"), or fields out of range. */
bool weir_maria_time_join(const MYSQL_TIME *time, int64_t *out_us);

#endif
