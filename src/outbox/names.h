/*
 * names.h - what a producer or an operator may call things, and how large they may be.
 *
 * Every rule gives a status and a text that names the thing, the value and the limit.
 */
#ifndef WEIR_OUTBOX_NAMES_H
#define WEIR_OUTBOX_NAMES_H

#include "base/buf.h"
#include "weir/message.h"
#include "weir/outbox.h"

/* 1 to 1024 of A-Z a-z 0-9 . _ -, first and last a letter or digit. `what`: "queue
 * name", ... */
WEIR_CHECKED enum weir_status weir_queue_name_check(const char *what, const char *name,
                                                    struct weir_error *error);

/* 1 to `size_max` printable ASCII characters: WEIR_INVALID. Reads at most one byte
 * beyond. */
WEIR_CHECKED enum weir_status weir_printable_check(const char *what, const char *value,
                                                   int size_max,
                                                   struct weir_error *error);

/* Type, then payload size, then key, then headers, then whether key and route agree:
 * WEIR_INVALID, WEIR_TOO_LARGE. Reads at most one byte beyond each limit of a text. */
WEIR_CHECKED enum weir_status weir_draft_check(const struct weir_draft *draft,
                                               size_t payload_size_max,
                                               struct weir_error *error);

/* A power of two from 1 to 64: WEIR_INVALID. */
WEIR_CHECKED enum weir_status weir_partitions_check(int32_t partitions,
                                                    struct weir_error *error);

/* 0 <= partition < partitions: WEIR_OUT_OF_RANGE names queue, partition and limit. */
WEIR_CHECKED enum weir_status weir_partition_check(const char *queue, int32_t partition,
                                                   int32_t partitions,
                                                   struct weir_error *error);

/* Headers as the JSON object that is stored; nothing is appended when there are none. */
void weir_headers_write(const struct weir_header *headers, size_t count,
                        struct weir_buf *out);

#endif
