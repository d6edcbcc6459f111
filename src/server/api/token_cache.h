/*
 * token_cache.h - which token allows what, for a few seconds.
 *
 * A request costs no statement for its token as long as the token was found within
 * `keep_ns`. So a token that was revoked is good for at most that long. What was not
 * found is not kept: each wrong token costs a statement, and takes no room.
 *
 * Threads  Any thread.
 * Memory   At most WEIR_TOKENS_MAX entries, then all are dropped.
 */
#ifndef WEIR_SERVER_API_TOKEN_CACHE_H
#define WEIR_SERVER_API_TOKEN_CACHE_H

#include "base/map.h"
#include "ward/lock.h"
#include "weir/token.h"

enum { WEIR_TOKENS_MAX = 10000 };

/* A token is one of a database: `place` is the database's number. */
struct weir_token_key {
    uint8_t hash[WEIR_TOKEN_HASH_SIZE];
    uint32_t place;
};

struct weir_token_cache {
    const struct weir_heap *heap; /* borrowed */
    struct weir_lock lock;        /* guards all that follows */
    int64_t keep_ns;
    struct weir_map entries;
};

/* Fails with WEIR_SYSTEM. */
WEIR_CHECKED enum weir_status weir_token_cache_init(struct weir_token_cache *self,
                                                    const struct weir_heap *heap,
                                                    int64_t keep_ns);
void weir_token_cache_fini(struct weir_token_cache *self);

void weir_token_cache_set_keep(struct weir_token_cache *self, int64_t keep_ns);

/* True: it was found less than keep_ns ago, and *out says what it allows. */
bool weir_token_cache_find(struct weir_token_cache *self,
                           const struct weir_token_key *key, int64_t now_ns,
                           struct weir_grant *out);

/* Without memory it is not kept. */
void weir_token_cache_put(struct weir_token_cache *self, const struct weir_token_key *key,
                          int64_t now_ns, const struct weir_grant *grant);

#endif
