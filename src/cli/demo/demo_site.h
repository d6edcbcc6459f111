/*
 * demo_site.h - the database that the demo takes place in.
 *
 *   (nothing given)   a SQLite file in a new temporary folder     all of it is removed
 *                     at the end
 *   --dir PATH        PATH/demo.db, which must not exist yet      kept, to be looked at
 *   --db URL          a database that is there                    queue and table are
 *                     removed
 *
 * In a database with other data the demo touches only its own: the queue
 * WEIR_SHOP_QUEUE and the table of orders. Tables of weir are made if there are none,
 * and stay. What a demo that was killed has left is cleared away, unless messages or
 * dead letters are in it: then it refuses, and says how to remove them. WEIR_DB is not
 * looked at: a demo must be asked for by name to run in a database that matters.
 *
 * What does not work is reported here, and the command only returns the exit code.
 *
 * Threads  The main thread.
 */
#ifndef WEIR_CLI_DEMO_DEMO_SITE_H
#define WEIR_CLI_DEMO_DEMO_SITE_H

#include <limits.h>

#include "cli/session.h"

struct weir_demo_site {
    struct weir_session session;
    char folder[PATH_MAX]; /* "": none of ours */
    char url[3 * PATH_MAX + 32];
    bool temporary; /* the folder goes at the end */
    bool made;      /* queue and table are there */
};

/* Folder and database, and nothing in it. WEIR_EXIT_DONE, or what the command returns
 * after close(), which is owed either way. `dir` may be NULL. */
WEIR_CHECKED int weir_demo_site_found(struct weir_demo_site *self,
                                      const struct weir_command *command,
                                      const char *dir);

/* The same, with outbox and table for the shop. */
WEIR_CHECKED int weir_demo_site_open(struct weir_demo_site *self,
                                     const struct weir_command *command, const char *dir);

/* Remove what is to be removed, and close. Delivering processes must be stopped. Returns
 * WEIR_EXIT_FAILED after telling what could not be removed. */
WEIR_CHECKED int weir_demo_site_close(struct weir_demo_site *self);

/* Remove the temporary folder, if it is one, even while processes work in it: for
 * the end at once. */
void weir_demo_site_remove_folder(struct weir_demo_site *self);

/* What the database has kept. */
WEIR_CHECKED enum weir_status weir_demo_site_count(struct weir_demo_site *self,
                                                   int64_t *orders, int64_t *dead_letters,
                                                   struct weir_error *error);

#endif
