/*
 * subscription_target.c - see subscription_target.h.
 */
#include "cli/subscription/subscription_target.h"

static void note_queue(void *state, const struct weir_subscription_info *info)
{
    (void)info;
    *(bool *)state = true;
}

/* A queue that is missing is named with the nearest; a subscription, with where to
 * look. */
int weir_subscription_target_fail(const struct weir_subscription_target *self,
                                  const struct weir_session *session,
                                  const struct weir_error *error)
{
    bool any = false;

    if (error->status != WEIR_NOT_FOUND ||
        weir_outbox_read_subscriptions(session->outbox, self->queue, note_queue, &any,
                                       NULL) != WEIR_OK)
        return weir_session_fail(session, error, self->queue);
    if (!any)
        return weir_command_fail(session->command, "queue '%s' has no subscriptions",
                                 self->queue);
    return weir_command_fail(session->command,
                             "queue '%s' has no subscription '%s'; 'weir subscription "
                             "list %s' shows them",
                             self->queue, self->name, self->queue);
}
