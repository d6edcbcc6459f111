/* One path returns with the lock held. */
#include "ward/lock.h"

int weir_forgetful(struct weir_lock *lock, int early);

int weir_forgetful(struct weir_lock *lock, int early)
{
    weir_lock_acquire(lock);
    if (early)
        return 1;
    weir_lock_release(lock);
    return 0;
}
