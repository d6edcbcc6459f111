/*
 * message.h - what is enqueued, and what a handler gets.
 *
 * A producer fills in a draft; weir_enqueue() makes a message of it, in the producer's
 * own transaction. A handler is given messages of one partition in the order of their
 * numbers: `seq` is 1, 2, 3, ... without a gap, and the same at every redelivery.
 *
 * Memory   A draft is borrowed for the call. A message lives until its handler returns.
 */
#ifndef WEIR_MESSAGE_H
#define WEIR_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

struct weir_batch;

enum {
    WEIR_QUEUE_NAME_SIZE_MAX = 1024,
    WEIR_TYPE_SIZE_MAX = 1024,
    WEIR_KEY_SIZE_MAX = 1024,
    WEIR_HEADERS_MAX = 64,
    WEIR_HEADERS_SIZE_MAX = 16 * 1024, /* names and values together */
    WEIR_PAYLOAD_SIZE_DEFAULT = 64 * 1024,
    WEIR_PAYLOAD_SIZE_MAX = 16 * 1024 * 1024,
    WEIR_PARTITIONS_MAX = 64,
    WEIR_UID_SIZE = 16
};

struct weir_header {
    const char *name;  /* 1 to 256 printable ASCII characters; each name once */
    const char *value; /* UTF-8 */
};

/* Where a message goes. All zero: to the partition of its key or, without a key, to
 * any. To choose the partition: weir_route_to_partition(). */
struct weir_route {
    int32_t partition; /* if pinned: 0 to partitions - 1; otherwise 0 */
    bool pinned;
};

/* What a producer gives. All zero but for `type` is an empty message without key. */
struct weir_draft {
    struct weir_route
        route;           /* of a draft without key; leave it zero to let weir choose */
    const char *key;     /* UTF-8, at most WEIR_KEY_SIZE_MAX bytes; NULL: none */
    const char *type;    /* 1 to 1024 printable ASCII characters */
    const void *payload; /* any bytes; NULL when payload_size is 0 */
    size_t payload_size;
    const struct weir_header *headers;
    size_t header_count;
};

/* How a message can be known again. */
struct weir_receipt {
    int64_t id;                 /* grows, with gaps; of no use to a receiver */
    uint8_t uid[WEIR_UID_SIZE]; /* random: what receivers de-duplicate by */
    int32_t partition;          /* where it went */
};

/* What a handler gets. Texts end in a zero. */
struct weir_message {
    const char *queue;
    const char *subscription;
    int32_t partition;
    int64_t seq; /* within subscription and partition, from 1 */
    uint8_t uid[WEIR_UID_SIZE];
    const char *key; /* NULL: none */
    const char *type;
    const void *payload; /* with a zero behind it that is not part of it */
    size_t payload_size;
    const struct weir_header *headers;
    size_t header_count;
    int64_t created_us; /* when it was enqueued, microseconds since 1970 */
    /* how often the head of this partition has failed before; a process that ended counts
     * if the message was called alone (weir/outbox.h) */
    uint32_t attempts;
    int64_t epoch; /* fencing token: a later owner of the partition has a larger one */
    struct weir_batch *batch; /* it is part of: to ask how much time is left */
};

enum { WEIR_UID_TEXT_SIZE = 33 };

WEIR_BEGIN_DECLS

/* 32 hexadecimal digits and a zero, into `out` of WEIR_UID_TEXT_SIZE bytes; returns
 * `out`. */
WEIR_API const char *weir_uid_format(const uint8_t *uid, char *out);

/* The value of a header, or NULL. */
WEIR_API const char *weir_message_header(const struct weir_message *self,
                                         const char *name);

/* A message of this partition, whatever it holds: `.route =
 * weir_route_to_partition(3)`. Refused together with a key, which has a partition of
 * its own. */
WEIR_API struct weir_route weir_route_to_partition(int32_t partition);

/* The partition of a key: the first four bytes of md5(key), big-endian, modulo
 * `partitions` (at least 1). The same in every language that follows the rule. */
WEIR_API int32_t weir_partition_of_key(const char *key, size_t key_size,
                                       int32_t partitions);

WEIR_END_DECLS

#endif
