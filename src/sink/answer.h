/*
 * answer.h - what a process of exec-stream: says about a message: one line.
 *
 *   ok                  done
 *   retry WHY           try again; WHY may be missing
 *   reject WHY          a dead letter; WHY may be missing
 *
 * Behind the word may stand the id of the message as it is in the line that the process
 * was given:
 *
 *   ok 0f3c...9c        the same, and an answer for this message only
 *
 * An answer without an id is taken for the message that was sent last. A process that
 * may answer twice, or late, should repeat the id: then no answer counts for another
 * message than its own. So a WHY must not begin with a word of 32 hexadecimal digits
 * that is not the id.
 */
#ifndef WEIR_SINK_ANSWER_H
#define WEIR_SINK_ANSWER_H

#include "base/str.h"
#include "weir/batch.h"
#include "weir/message.h"

enum weir_answer_kind {
    WEIR_ANSWER_GIVEN,    /* `outcome` and `why` are known */
    WEIR_ANSWER_FOREIGN,  /* for another message, whose id is `id` */
    WEIR_ANSWER_NONSENSE, /* none of the answers */
};

struct weir_answer_line {
    enum weir_answer_kind kind;
    enum weir_outcome outcome;
    struct weir_str why; /* views into the line */
    struct weir_str id;
};

/* Read a line, without its newline, that was said when the message with the uid `id`,
 * as text, was worked on. */
struct weir_answer_line weir_answer_read(struct weir_str line, const char *id);

#endif
