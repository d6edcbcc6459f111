/*
 * policy_words.h - policies of queues in words: "backlog-max 100, attempts-max 5".
 */
#ifndef WEIR_VIEW_POLICY_WORDS_H
#define WEIR_VIEW_POLICY_WORDS_H

#include "base/buf.h"
#include "weir/outbox.h"

/* "unread keep, backlog-max 100 (was none), ...": all of them, with the old value of
 * each that has changed. */
void weir_policy_words_append(struct weir_buf *text,
                              const struct weir_queue_change *change);

/* "backlog-max 100, attempts-max 5": those that are not at their default; "-": none. */
void weir_policy_words_append_set(struct weir_buf *text,
                                  const struct weir_queue_options *options);

/* "keep" or "drop". */
const char *weir_policy_words_unread(enum weir_unread unread);

/* The members of JSON that stand for these policies, one after the other. */
void weir_policy_words_each(uint32_t policies, void (*emit)(void *state, const void *key),
                            void *state);

#endif
