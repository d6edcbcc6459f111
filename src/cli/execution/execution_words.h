/*
 * execution_words.h - words of the command line that name executions, claims and tags.
 *
 *   id       7-0193...                  as `weir submit` printed it
 *   token    7-0193.../42/3             as `weir execution claim` printed it: id, row,
 *            epoch
 *   tag      tenant.plan=gold
 *
 * A mistake is reported here.
 *
 * Memory   The caller's; `tag` points into the word.
 */
#ifndef WEIR_CLI_EXECUTION_EXECUTION_WORDS_H
#define WEIR_CLI_EXECUTION_EXECUTION_WORDS_H

#include "cli/command.h"
#include "view/execution_text.h"
#include "weir/execution.h"

/* Ids or tokens that one command line may have. */
enum { WEIR_EXECUTION_WORDS_MAX = 1000 };

/* Does it begin as ids of executions do, in either form, and is no uuid? */
bool weir_execution_is_id(const char *word);

/* The exit code, as all that follow. */
WEIR_CHECKED int weir_execution_take_token(const struct weir_command *command,
                                           const char *word, struct weir_claim *out);
WEIR_CHECKED int weir_execution_take_id(const struct weir_command *command,
                                        const char *word, struct weir_execution_id *out);

/* "dimension=7": a name and a whole number from 0 on; the word is cut in two at its
 * last '='. */
WEIR_CHECKED int weir_execution_take_amount(const struct weir_command *command,
                                            const char *option, char *word,
                                            const char **name, int64_t *out);

/* For rows of options and operands. */
#define WEIR_AS_EXECUTION_ID(T, m)                                                       \
    WEIR_AS_PARSED(T, m, struct weir_execution_id, weir_execution_parse_id)
#define WEIR_AS_CLAIM(T, m)                                                              \
    WEIR_AS_PARSED(T, m, struct weir_claim, weir_execution_parse_claim)
/* "tenant.plan=gold": cut in two at its '='. */
#define WEIR_AS_TAG(T, key_, value_) WEIR_AS_PAIR(T, key_, value_, "tenant.plan=gold")
WEIR_CHECKED int weir_execution_parse_id(const struct weir_command *command,
                                         const struct weir_command_option *option,
                                         char *word, void *out);
WEIR_CHECKED int weir_execution_parse_claim(const struct weir_command *command,
                                            const struct weir_command_option *option,
                                            char *word, void *out);

#endif
