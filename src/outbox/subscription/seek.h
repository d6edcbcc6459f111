/*
 * seek.h - moves a subscription to another place of the log.
 *
 *   find       where to: a place for each partition, whole for this subscription
 *   count      what lies between there and where the position is: the number at the new
 *              place
 *   move       under the locks (subscription.h): is what was counted still whole? Then
 *              each lease gets a new epoch and no owner, and each position the next
 *              version
 *
 * Whole, for a partition, is the log behind the oldest place of its queue
 * (weir_log_oldest()), and behind the position itself if that is earlier: what a
 * subscription has not passed is kept for it, whatever was removed beside it. The place
 * of a message never changes and neither does its number, so what was counted without a
 * lock holds, wherever the position has gone meanwhile, unless some of it was removed;
 * then it is done again, and after a few times under the locks.
 *
 * How a replay is known: the lease keeps the highest number that was passed before a
 * move back (`replay_to`), and the call of a message up to it adds a header
 * (weir/subscription.h).
 *
 * Threads  The holder of the connection.
 */
#ifndef WEIR_OUTBOX_SUBSCRIPTION_SEEK_H
#define WEIR_OUTBOX_SUBSCRIPTION_SEEK_H

#include "db/connection.h"
#include "outbox/log/log.h"
#include "weir/subscription.h"

/* `infos` has room for WEIR_PARTITIONS_MAX; *count gets how many there are. As
 * weir_outbox_seek_subscription(). */
WEIR_CHECKED enum weir_status
weir_seek_move(const struct weir_outbox_log *log, struct weir_connection *connection,
               const char *queue, const char *subscription, const struct weir_seek *seek,
               struct weir_seek_info *infos, size_t *count, struct weir_error *error);

#endif
