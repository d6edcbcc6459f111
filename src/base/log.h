/*
 * log.h - writing a line to the host's log callback (see weir/log.h).
 */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include <stdbool.h>

#include "weir/log.h"

/* Would a line of this level go anywhere? Ask before building something costly. */
bool weir_log_wants(const struct weir_log *self, enum weir_log_level level);

/*
 * One event: a stable name and, after a space, facts as key=value; NULL means that
 * there are none. Longer than 511 bytes is cut and ends in "...". Control characters in
 * the facts become spaces, so that an event stays one line. `self` may be NULL.
 * Allocates nothing; must not be called under a lock.
 *
 *   weir_log_event(log, WEIR_LOG_INFO, "ward.stopped", "ward=%s unfinished=%zu", ...);
 */
void weir_log_event(const struct weir_log *self, enum weir_log_level level,
                    const char *event, const char *facts, ...) WEIR_PRINTF(4, 5);

#endif
