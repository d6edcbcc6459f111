/*
 * touch_hold.h - a touch file (touch_file.h) in a folder that all users share, for as
 * long as processes watch it.
 *
 * In a folder of the operator's the file may stay for ever. In /dev/shm, which is used
 * where the URL names no folder, no file is left behind: a process that watches the file
 * holds it, by a shared flock(), and the last one that lets go removes it. Producers only
 * open a file that is there. No file means that no process of this host watches.
 *
 *   hold()   make or open, lock shared; is it still the file of that name? else again
 *   drop()   lock alone, without waiting: then no other process holds it; remove it
 *   tidy()   the same for all files that are there: those of processes that were killed
 *
 * A process that was killed held by the kernel's lock, which has ended with it. Its file
 * stays until the next process of the same user begins to watch, in any database, or
 * until the host starts anew: the folder is in memory.
 *
 * Names    weir-wake-<md5, 32 hexadecimal digits>. tidy() looks at no others, and at
 *          empty files of this user only.
 * Threads  Any.
 */
#ifndef WEIR_DB_TOUCH_HOLD_H
#define WEIR_DB_TOUCH_HOLD_H

#include <sys/stat.h>

#include "db/touch_file.h"

struct weir_touch_hold {
    int file; /* open, locked; -1: none */
    char path[WEIR_TOUCH_FILE_PATH_SIZE];
};

/* Hold the file of this path; *out gets which file it is. Waits for nothing. WEIR_LOCKED:
 * another process is about to remove it, try again soon. WEIR_SYSTEM: there can be none.
 * Then self->file is -1, and drop() is fine. */
WEIR_CHECKED enum weir_status weir_touch_hold_take(struct weir_touch_hold *self,
                                                   const char *path, struct stat *out,
                                                   struct weir_error *error);
void weir_touch_hold_drop(struct weir_touch_hold *self);

/* Remove files in `folder` that no process holds. */
void weir_touch_hold_tidy(const char *folder);

#endif
