/*
 * queue_policies.c - see queue_policies.h.
 */
#include "cli/queue/queue_policies.h"

#include "view/policy_words.h"

static const char *unread_word(size_t index)
{
    return weir_policy_words_unread((enum weir_unread)index);
}

const struct weir_option_words weir_queue_policies_unread_words = {
    .at = unread_word,
    .count = WEIR_UNREAD_DROP + 1,
};
