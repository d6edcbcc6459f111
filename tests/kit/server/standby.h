/*
 * standby.h - two PostgreSQL servers: a primary, and a standby that every commit waits
 * for.
 *
 *   struct pair *pair = pair_create();
 *   pair_url(pair, "app", url, sizeof url);      both, of which a client takes the one
 *                                                it can write to
 *   pair_fail_over(pair);                        the primary is killed, the other one
 *                                                promoted, and the one that was killed
 *                                                becomes its standby
 *   pair_destroy(pair);
 *
 * Ports stay, so the URL does. A commit that was acknowledged is on both servers; so is
 * what anybody has seen, since a transaction is visible only when it need not wait any
 * more. The one time that there is but one server is between a promotion and the end of
 * pair_fail_over().
 *
 * Threads  The test's main thread.
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_STANDBY_H
#define WEIR_TEST_STANDBY_H

#include "kit/server/server.h"

struct pair;

struct pair *pair_create(void);
void pair_destroy(struct pair *self);

/* Borrowed, and another one after a failover. */
struct server *pair_primary(const struct pair *self);
struct server *pair_standby(const struct pair *self);

/* The first half and the second: kill and promote; rebuild the other as a standby. */
void pair_promote(struct pair *self);
void pair_rebuild(struct pair *self);
void pair_fail_over(struct pair *self);

/* With target_session_attrs=read-write. */
void pair_url(const struct pair *self, const char *database, char *out, size_t size);

#endif
