/*
 * ack_health.c - see ack_health.h.
 */
#include "outbox/delivery/ack_health.h"

#include "base/text.h"

enum weir_status weir_ack_health_init(struct weir_ack_health *self)
{
    self->status = WEIR_OK;
    self->text[0] = '\0';
    return weir_lock_init(&self->lock);
}

void weir_ack_health_fini(struct weir_ack_health *self)
{
    weir_lock_fini(&self->lock);
}

void weir_ack_health_note(struct weir_ack_health *self, enum weir_status status,
                          const struct weir_error *error)
{
    weir_lock_acquire(&self->lock);
    self->status = status;
    (void)weir_text_format(self->text, sizeof self->text, "%s",
                           status != WEIR_OK ? error->text : "");
    weir_lock_release(&self->lock);
}

enum weir_status weir_ack_health_read(struct weir_ack_health *self, char *out)
{
    enum weir_status status;

    weir_lock_acquire(&self->lock);
    status = self->status;
    (void)weir_text_format(out, sizeof self->text, "%s", self->text);
    weir_lock_release(&self->lock);
    return status;
}
