/*
 * log.c - see log.h.
 */
#include "outbox/log/log.h"

#include "outbox/engine.h"
#include "outbox/schema.h"

enum weir_status weir_outbox_log_open(struct weir_outbox_log *self,
                                      struct weir_connection *connection,
                                      struct weir_error *error)
{
    *self = (struct weir_outbox_log){.segment_bits = WEIR_LOG_SEGMENT_BITS,
                                     .ops = weir_outbox_engine_of(connection)->log};
    return self->ops->open != NULL ? self->ops->open(self, connection, error) : WEIR_OK;
}

enum weir_status weir_outbox_log_check(const struct weir_outbox_log *self,
                                       struct weir_connection *connection,
                                       struct weir_error *error)
{
    return self->ops->check != NULL ? self->ops->check(connection, error) : WEIR_OK;
}

enum weir_status weir_outbox_log_vet(const struct weir_outbox_log *self,
                                     struct weir_connection *connection,
                                     struct weir_error *error)
{
    return self->ops->vet != NULL ? self->ops->vet(connection, error) : WEIR_OK;
}

enum weir_status weir_log_oldest(const struct weir_outbox_log *self,
                                 struct weir_connection *connection, int64_t queue_id,
                                 struct weir_log_position *out, struct weir_error *error)
{
    return self->ops->start(self, connection, queue_id, false, out, error);
}

enum weir_status weir_log_catch_up(const struct weir_outbox_log *self,
                                   struct weir_connection *connection,
                                   struct weir_log_position *head,
                                   struct weir_error *error)
{
    struct weir_log_position before;
    bool moved = false;
    enum weir_status status =
        self->ops->advance(self, connection, (struct weir_log_position){0, 0}, false,
                           NULL, head, &moved, error);

    do {
        before = *head;
        if (status == WEIR_OK)
            status = self->ops->advance(self, connection, before, true, NULL, head,
                                        &moved, error);
    } while (status == WEIR_OK && moved && self->ops->advance_max > 0 &&
             head->id - before.id >= self->ops->advance_max);
    return status;
}
