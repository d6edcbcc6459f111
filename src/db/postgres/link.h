/*
 * link.h - one connection to PostgreSQL, and the talk on it.
 *
 * Every exchange with the server goes the same way:
 *
 *   weir_pg_ready()     may anything be sent?
 *   PQsend...()         libpq's non-blocking calls
 *   weir_pg_collect()   send what is left, wait, take the answer apart
 *
 * because libpq's blocking calls wait for ever, and a server that is frozen, or a proxy
 * that swallows everything, looks alive to TCP. Our own connections are therefore given
 * up when the server says nothing for longer than any statement may take. On an adopted
 * connection waiting is left to libpq: how long the application waits is its own
 * affair.
 *
 * Outside of these calls the PGconn is in blocking mode, as a handler that uses it
 * expects.
 *
 * Threads  The holder's; cancel() any.
 */
#ifndef WEIR_DB_POSTGRES_LINK_H
#define WEIR_DB_POSTGRES_LINK_H

#include <libpq-fe.h>

#include "db/driver.h"
#include "db/postgres/encode.h"
#include "ward/lock.h"

struct weir_pg_link {
    struct weir_link base;
    PGconn *connection;
    bool named;         /* statements are kept by the server, under names of ours */
    bool read_only;     /* the transaction was begun for reading */
    bool unset;         /* the session has forgotten its settings */
    uint32_t age;       /* counts how often the session forgot its statements */
    uint32_t names;     /* given away so far */
    int64_t silence_ns; /* longest of a living server; 0: for ever */
    struct weir_pg_encoder encoder;

    /* Guards what follows and is held while it is used, so that close() waits for a
     * cancel() under way: the one lock of ours that is held during I/O. */
    struct weir_lock lock;
    PGcancel *cancel;
};

/* ---- life (postgres/open.c) -------------------------------------------------------- */

WEIR_CHECKED enum weir_status weir_pg_open(const struct weir_link_config *config,
                                           struct weir_link **out,
                                           struct weir_error *error);
WEIR_CHECKED enum weir_status weir_pg_adopt(const struct weir_link_config *config,
                                            void *native, struct weir_link **out,
                                            struct weir_error *error);
void weir_pg_close(struct weir_link *link);

/* Give the session its settings, in one round trip (postgres/session.c). */
WEIR_CHECKED enum weir_status weir_pg_set_session(struct weir_pg_link *self,
                                                  struct weir_error *error);

/* Milliseconds of a timeout, rounded up, as the server wants them; 0 stays 0. */
int64_t weir_pg_milliseconds(int64_t duration_ns);

/* ---- talk (postgres/link.c) -------------------------------------------------------- */

/* Is the connection free for a statement of ours? WEIR_INVALID names what is in the
 * way. For connections that other code uses as well. */
WEIR_CHECKED enum weir_status weir_pg_check_free(const PGconn *connection,
                                                 struct weir_error *error);

/* For tests, see weir_driver_fault(): WEIR_OK unless one is due. */
WEIR_CHECKED enum weir_status weir_pg_ask_for_fault(struct weir_pg_link *self,
                                                    struct weir_error *error);

/*
 * Is a connection that was idle for a while still there? Looks at what has come
 * in unasked, a farewell of the server's for example, without a round trip and without
 * waiting. False: it is lost. True may be wrong when the server died without a word.
 */
bool weir_pg_is_alive(struct weir_link *link);

/* Before anything is sent. Restores the session's settings if need be. */
WEIR_CHECKED enum weir_status weir_pg_ready(struct weir_pg_link *self,
                                            struct weir_error *error);

/*
 * After a PQsend function, whose result is `sent`: wait for the whole answer. On
 * WEIR_OK *out is the last result, the caller's; on failure NULL, and `error` is about
 * the first that failed.
 */
WEIR_CHECKED enum weir_status weir_pg_collect(struct weir_pg_link *self, int sent,
                                              PGresult **out, struct weir_error *error);

/* A text without parameters: ready, send, collect, forget. */
WEIR_CHECKED enum weir_status weir_pg_execute_text(struct weir_pg_link *self,
                                                   const char *text,
                                                   struct weir_error *error);

/* The same for one statement with rows, in binary format. */
WEIR_CHECKED enum weir_status weir_pg_query_text(struct weir_pg_link *self,
                                                 const char *text, PGresult **out,
                                                 struct weir_error *error);

/* Send all that is left, or wait for a result: false when the server is silent for too
 * long. A broken connection is true: libpq's next answer tells about it. */
bool weir_pg_flush(struct weir_pg_link *self);
bool weir_pg_wait(struct weir_pg_link *self);

/* In pipeline mode, when all steps have been answered: wait for the answer to the sync.
 * Fails, with the link lost, also when libpq has no memory for it. */
WEIR_CHECKED enum weir_status weir_pg_wait_for_sync(struct weir_pg_link *self,
                                                    struct weir_error *error);

/* Whether a result is a success; if not, why. Marks the link as lost when it is.
 * Borrows. */
WEIR_CHECKED enum weir_status weir_pg_judge(struct weir_pg_link *self,
                                            const PGresult *result,
                                            struct weir_error *error);

/* Nothing came of it: a send that libpq refused, and a server that says nothing. The
 * link is lost. */
enum weir_status weir_pg_fail_send(struct weir_pg_link *self, struct weir_error *error);
enum weir_status weir_pg_fail_silence(struct weir_pg_link *self,
                                      struct weir_error *error);

/* Back to blocking mode, unless lost. */
void weir_pg_rest(struct weir_pg_link *self);

/* The link is lost. Our own connection is cut, so that nothing waits on it any more. */
void weir_pg_sever(struct weir_pg_link *self);

/*
 * The same for any link, an adopted one, too: the application finds its connection
 * broken, and the server rolls its transaction back. For a connection that cannot be
 * left as it was found.
 */
void weir_pg_cut(struct weir_pg_link *self);

/* Rows inserted, updated or deleted. 0 for a SELECT, also one around a changing WITH. */
int64_t weir_pg_changed(PGresult *result);

#endif
