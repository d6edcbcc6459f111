/*
 * mark.h - which message an owner was about to call its handler with, for the owners
 * after it.
 *
 * An owner that dies tells nothing of why. That a partition was not released says that
 * something ended its process, not that the message at its head did: the queue may have
 * been paused, the process stopped, or another message beside it was the killer. So the
 * number of owners that did not release a lease (`crashes`, lease.h) chooses how the
 * next one begins, with calls of one message, and counts nothing. What counts are
 * *marks*: `trying` of the position, stored ahead of a call.
 *
 *   owner before     found mark   the head is     its call                  mark
 *   released         -            as any other    of the usual size         none
 *   did not release  none         cornered        of one message            beside:  seq
 *   did not release  beside       a suspect       of one, one at a time     alone:  -seq
 *   did not release  alone        a suspect, with one failed attempt more   alone:  -seq
 *
 * A mark *beside* says only that the message was in the hands of a process that ended;
 * whatever ran beside the killer has one too. *Suspects* are therefore called one at a
 * time per process (partition_table.h), while everything else goes on beside them. A
 * mark *alone* that is found is a failed attempt. So a message that kills its process
 * each time becomes a dead letter after attempts_max + 2 deaths: one without a mark,
 * one beside, attempts_max alone. An innocent one loses an attempt only if another
 * killer, which is not a suspect yet, ends the process during its call alone.
 *
 * A mark ends
 *   with the ack behind its call     that answer counts, and the mark does not
 *   with a call that did not begin   an ack of its own, by way of the acker
 *   with the release of the lease    a found failure is stored with it
 *   with another incarnation         a failover is no death
 *   with `--restored`                what is in a copy happened to the original
 * and counts nothing in the epoch that has stored it. Otherwise it stays, over any
 * number of owners that end before they call: `marks_from` of the lease is the first
 * epoch of the owners in a row that did not release, and a mark of that epoch or a
 * later one is found. It is counted when it is found and replaced together with the
 * count, so once.
 *
 * Marks are stored only while `crashes` is above 0, so up to the first ack of a call
 * that is accepted: ordinary delivery stores none. The mark of a transactional call has
 * a transaction of its own before that call's. What cannot be distinguished from a death:
 * a process that is stopped, suspended or cut off from its database for longer than its
 * lease in the middle of a call alone. And a suspect may have to wait for as long as the
 * call of another one may last.
 *
 * Threads  The holder of the connection. Memory   None.
 */
#ifndef WEIR_OUTBOX_DELIVERY_MARK_H
#define WEIR_OUTBOX_DELIVERY_MARK_H

#include "outbox/delivery/ack.h"

enum weir_mark { WEIR_MARK_NONE, WEIR_MARK_BESIDE, WEIR_MARK_ALONE };

/* What is stored with a message that ended the process of its call. */
#define WEIR_MARK_DEATH "its process ended without an answer"

/* `trying` of a position. */
int64_t weir_mark_trying(int64_t seq, enum weir_mark mark);

/* The mark that the owner of this lease finds: of an owner before it, of the message at
 * the head. */
enum weir_mark weir_mark_find(const struct weir_stored_position *position,
                              const struct weir_lease *lease);

/* Store a mark, in a transaction of its own. WEIR_FENCED: refused, and the lease is
 * given up in case that it is still ours. WEIR_IN_DOUBT: the outcome is unknown. Else
 * as the database does: nothing is stored. */
WEIR_CHECKED enum weir_status weir_mark_store(struct weir_connection *connection,
                                              int64_t owner, struct weir_ack *mark,
                                              struct weir_error *error);

/* The database was restored: what its marks tell of happened elsewhere. While others
 * work it does no harm but that deaths in their calls under way are not counted. */
WEIR_CHECKED enum weir_status weir_mark_forget_all(struct weir_connection *connection,
                                                   struct weir_error *error);

#endif
