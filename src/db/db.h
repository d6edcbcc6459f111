/*
 * db.h - the inside of weir/db.h: what the library may ask of a database handle.
 */
#ifndef WEIR_DB_DB_H
#define WEIR_DB_DB_H

#include "db/connection.h"
#include "db/driver.h"
#include "weir/db.h"

const struct weir_link_config *weir_db_config(const struct weir_db *self);
const struct weir_engine_traits *weir_db_traits(const struct weir_db *self);
const char *weir_db_prefix(const struct weir_db *self);
const struct weir_heap *weir_db_heap(const struct weir_db *self);
const struct weir_log *weir_db_log(const struct weir_db *self);

/* A session of one's own, beyond those of the pool and never shared. Owes
 * weir_connection_destroy(). */
WEIR_CHECKED enum weir_status weir_db_open_apart(struct weir_db *self,
                                                 struct weir_connection **out,
                                                 struct weir_error *error);

/* Where a session of our own has found the tables (qualifier.h); false: none has yet.
 * Any thread. */
bool weir_db_get_qualifier(struct weir_db *self, char out[WEIR_QUALIFIER_SIZE]);
void weir_db_keep_qualifier(struct weir_db *self, const char *qualifier);

/* Another number than before: a connection was found lost meanwhile. Any thread. */
uint64_t weir_db_generation(struct weir_db *self);

/* A signal to other processes was sent, or could not be. True: other than the one
 * before. */
bool weir_db_note_signal(struct weir_db *self, bool sent);

/*
 * For tests: faults at every driver call. Before the first connection. Also a place to
 * stop in front of every statement, which is a point of its own name, and of every
 * commit ("db.commit"); of those that are sent together, if "db.one_by_one"
 * is armed.
 */
void weir_db_set_fault_points(struct weir_db *self, struct weir_fault_points *points);

/* For tests: what the end of a process does. Closes all connections in the middle of
 * whatever they do, and frees nothing else; the database handle and its connections must
 * not be used again. */
void weir_db_cut_off(struct weir_db *self);

/*
 * The holder of this connection may not give it back before the database is destroyed:
 * a handler that hangs. The database's memory then stays until it does.
 */
void weir_db_abandon(struct weir_db *self, struct weir_connection *connection);

#endif
