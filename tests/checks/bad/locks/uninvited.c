/* Calls a function that wants the lock held, without holding it. */
#include "ward/lock.h"

struct weir_box {
    struct weir_lock lock;
    int value;
};

void weir_box_add(struct weir_box *self) WEIR_REQUIRES(self->lock);
void weir_uninvited(struct weir_box *box);

void weir_uninvited(struct weir_box *box)
{
    weir_box_add(box);
}
