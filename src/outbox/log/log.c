/*
 * log.c - see log.h.
 */
#include "outbox/log/log.h"

#include "db/row_map.h"
#include "outbox/engine.h"
#include "outbox/log/page.h"
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

static const struct weir_column REMOVAL[] = {
    COLUMN(struct weir_removal, queue_id, INTEGER),
    COLUMN(struct weir_removal, count, INTEGER),
    COLUMN(struct weir_removal, log_position.id, INTEGER),
};

enum weir_status weir_page_read_removals(struct weir_page *self, struct weir_rows *rows,
                                         struct weir_error *error)
{
    enum { QUEUE_ID };
    enum weir_status status;

    while ((status = weir_rows_next(rows, error)) == WEIR_OK &&
           weir_rows_integer(rows, QUEUE_ID) < 0) {
        struct weir_removal removal = {.queue_id = 0};

        status = weir_row_read(rows, COLUMNS(REMOVAL), &removal, error);
        if (status != WEIR_OK)
            break;
        removal.queue_id = -removal.queue_id;
        weir_page_note_removal(self, &removal);
    }
    return status;
}
