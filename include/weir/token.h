/*
 * token.h - tokens of clients of a server, and what each of them allows.
 *
 *   weir_  43 letters: 32 random bytes, base64url  6 letters: CRC-32 of these letters
 *
 * The checksum detects a mistyped text without a database. The database stores one
 * SHA-256 of the whole text: the bytes are random, so a slower hash would add nothing.
 * The text is returned once, when the token is made.
 *
 *   client ... Authorization: Bearer weir_...
 *   server     weir_token_hash()        no statement; WEIR_INVALID for what is no token
 *              (its cache, by the hash)
 *              weir_token_find()        one statement by the index of hashes
 *              weir_grant_is_valid()    at this moment
 *              weir_grant_allows()      this scope
 *              weir_grant_covers()      this queue, lane, namespace or database
 *
 * Scopes   `admin` includes all others; `operator` and `content` include `read`.
 * Globs    A restriction is a list of patterns with commas between them; * stands for any
 *          characters, also none, and ? for one. An empty list does not restrict.
 * Rotation Makes a second token with the same name, scopes and restrictions; those before
 *          it are valid for the overlap only.
 * Names    Several tokens may have one name; the id is unique.
 * Audit    create, rotate and revoke are recorded (weir/audit.h).
 * Threads  Any thread.
 */
#ifndef WEIR_TOKEN_H
#define WEIR_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/db.h>
#include <weir/error.h>

enum {
    WEIR_API_TOKEN_SIZE = 54, /* characters of the text, without the zero */
    WEIR_TOKEN_HASH_SIZE = 32,
    WEIR_TOKEN_ID_SIZE = 8,        /* hexadecimal digits */
    WEIR_TOKEN_NAME_SIZE_MAX = 64, /* of A-Z a-z 0-9 . _ -, as a queue's name */
    WEIR_TOKEN_GLOBS_SIZE_MAX = 1024
};

enum weir_scope {
    WEIR_SCOPE_READ = 1 << 0,     /* all but payloads, headers, inputs and results */
    WEIR_SCOPE_CONTENT = 1 << 1,  /* these, too */
    WEIR_SCOPE_PRODUCER = 1 << 2, /* enqueue, submit */
    WEIR_SCOPE_WORKER = 1 << 3,   /* pull, ack, claim, settle */
    WEIR_SCOPE_SIGNAL = 1 << 4,   /* with the token of a waitpoint */
    WEIR_SCOPE_OPERATOR = 1 << 5,
    WEIR_SCOPE_ADMIN = 1 << 6,
    WEIR_SCOPE_ALL = (1 << 7) - 1
};
enum { WEIR_SCOPE_COUNT = 7 };

enum weir_restriction {
    WEIR_RESTRICT_DATABASES,
    WEIR_RESTRICT_QUEUES,
    WEIR_RESTRICT_LANES,
    WEIR_RESTRICT_NAMESPACES,
    WEIR_RESTRICTION_COUNT
};

/* What a token allows: a value without pointers, which a cache may copy. */
struct weir_grant {
    char id[WEIR_TOKEN_ID_SIZE + 1];
    char name[WEIR_TOKEN_NAME_SIZE_MAX + 1];
    uint32_t scopes; /* enum weir_scope, or-ed */
    char globs[WEIR_RESTRICTION_COUNT][WEIR_TOKEN_GLOBS_SIZE_MAX + 1];
    int64_t created_us; /* since 1970, by the database's clock */
    int64_t expires_us; /* 0: never */
    int64_t used_us;    /* day on which it was used last; 0: not yet */
    int64_t revoked_us; /* 0: not revoked */
};
typedef void (*weir_grant_visit_fn)(void *state, const struct weir_grant *grant);

struct weir_token_options {
    const char *name;                          /* not like an id */
    uint32_t scopes;                           /* at least one */
    const char *globs[WEIR_RESTRICTION_COUNT]; /* NULL or "": no restriction */
    int64_t lifetime_ns;                       /* 0: without end; else at least 1 s */
};

/* A token that was just made: the only place where its text is. */
struct weir_new_token {
    struct weir_grant grant;
    char text[WEIR_API_TOKEN_SIZE + 1];
};

WEIR_BEGIN_DECLS

/* ---- in the database --------------------------------------------------------------- */

/* `connection` is one of ours with an open transaction, or an adopted one; NULL: a
 * transaction of its own. */

/* WEIR_INVALID names field, value and limit. */
WEIR_CHECKED WEIR_API enum weir_status
weir_token_create(struct weir_db *db, struct weir_connection *connection,
                  const struct weir_token_options *options, struct weir_new_token *out,
                  struct weir_error *error);

/*
 * A new token like the newest valid one called `token`, which is an id or a name; all
 * valid ones of that name expire after `overlap_ns` at the latest. The lifetime of the
 * new one is that of the one before. WEIR_NOT_FOUND: there is no valid one.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_token_rotate(struct weir_db *db, struct weir_connection *connection,
                  const char *token, int64_t overlap_ns, struct weir_new_token *out,
                  struct weir_error *error);

/* By id, or all of a name. *count: how many were valid until now. WEIR_NOT_FOUND: there
 * is none, not even a revoked one. May be repeated. */
WEIR_CHECKED WEIR_API enum weir_status
weir_token_revoke(struct weir_db *db, struct weir_connection *connection,
                  const char *token, size_t *count, struct weir_error *error);

/* All, by name and then by age, the newest first; with those that are not valid. */
WEIR_CHECKED WEIR_API enum weir_status weir_token_list(struct weir_db *db,
                                                       weir_grant_visit_fn visit,
                                                       void *state,
                                                       struct weir_error *error);

/*
 * The token of a hash. WEIR_NOT_FOUND: there is none, or it has expired, or it was
 * revoked: which one is not said, and the same statement finds it out. Records the day
 * of the use, at most once a day; a failure of that is no failure of the call.
 */
WEIR_CHECKED WEIR_API enum weir_status
weir_token_find(struct weir_db *db, const uint8_t hash[WEIR_TOKEN_HASH_SIZE],
                struct weir_grant *out, struct weir_error *error);

/* ---- without a database ------------------------------------------------------------ */

/* The hash of a text of `size` bytes. WEIR_INVALID: it is no token, by its form or its
 * checksum; WEIR_SYSTEM: no SHA-256 is available. */
WEIR_CHECKED WEIR_API enum weir_status weir_token_hash(const char *text, size_t size,
                                                       uint8_t out[WEIR_TOKEN_HASH_SIZE],
                                                       struct weir_error *error);

/* Neither expired nor revoked at `now_us`. */
WEIR_API bool weir_grant_is_valid(const struct weir_grant *self, int64_t now_us);

/* Does one of the token's scopes allow what needs `scope`? */
WEIR_API bool weir_grant_allows(const struct weir_grant *self, enum weir_scope scope);

/* Does `name` match one of the patterns? Also when there is none. */
WEIR_API bool weir_grant_covers(const struct weir_grant *self,
                                enum weir_restriction restriction, const char *name);

/* A scope by its name: "read". WEIR_INVALID lists the names. And back; a number that is
 * none: "unknown". */
WEIR_CHECKED WEIR_API enum weir_status
weir_scope_parse(const char *name, enum weir_scope *out, struct weir_error *error);
WEIR_API const char *weir_scope_name(enum weir_scope scope);

/* "databases", "queues", "lanes", "namespaces". */
WEIR_API const char *weir_restriction_name(enum weir_restriction restriction);

WEIR_END_DECLS

#endif
