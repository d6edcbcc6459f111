#include "door.h"

bool door_open(struct door *self)
{
    (void)WEIR_POINT(self->points, "door.opening");
    if (WEIR_POINT(self->points, "door.jams"))
        return false;
    if (self->locked &&
        !WEIR_POINT(self->points,
                    "door.ignores_the_lock")) /* a bug, for tests that must find it */
        return false;
    self->open = true;
    return true;
}
