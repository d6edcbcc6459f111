/*
 * record.h - one description of a public row, for every form in which it is shown.
 *
 * A record lists the fields of a struct: key in JSON, title in a table, name of a line,
 * type with unit, and one sentence. From it are made the table, JSON, the lines in full,
 * the JSON schema and the reference page, so these cannot differ.
 *
 *   #define FIELD(...) WEIR_FIELD(struct weir_queue_info, __VA_ARGS__)
 *   static const struct weir_record_field FIELDS[] = {
 *       FIELD("name", name, TEXT, "Name of the queue.", .title = "queue", .cut_to = 12),
 *       FIELD("oldest_age_seconds", oldest_age_us, US, "Age of the oldest message.",
 *             .title = "oldest"),
 *   };
 *
 * The compiler checks that the member has the type that the field says. A new field is a
 * member of the struct, a column of its SELECT, and a line here.
 *
 * Order    Fields stand in the order of JSON. Tables and lines have the same order,
 *          unless `column` or `line_at` gives another place.
 * Threads  Constants; any thread.
 * Failure  Appending never fails at the spot: the status of the buffer tells.
 */
#ifndef WEIR_VIEW_RECORD_H
#define WEIR_VIEW_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/count.h"
#include "view/table.h"
#include "view/value.h"
#include "weir/execution.h"
#include "weir/flow.h"

struct weir_record;
struct weir_record_list;

enum { WEIR_CELL_SIZE = 1536 };

/* Type of the member, with its unit, and what JSON has for it. */
enum weir_field_type {
    WEIR_FIELD_TEXT,         /* const char *; NULL: null */
    WEIR_FIELD_CHARS,        /* char[] */
    WEIR_FIELD_FLAG,         /* bool */
    WEIR_FIELD_I32,          /* int32_t */
    WEIR_FIELD_U32,          /* uint32_t */
    WEIR_FIELD_I64,          /* int64_t */
    WEIR_FIELD_U64,          /* uint64_t */
    WEIR_FIELD_SIZE,         /* size_t */
    WEIR_FIELD_RATE,         /* double; per second */
    WEIR_FIELD_US,           /* int64_t; a duration in microseconds; JSON: seconds */
    WEIR_FIELD_MS,           /* int64_t; in milliseconds; JSON: seconds */
    WEIR_FIELD_NS,           /* int64_t; in nanoseconds; JSON: seconds */
    WEIR_FIELD_TIME,         /* int64_t; microseconds since 1970; 0: null */
    WEIR_FIELD_UID,          /* uint8_t[16]; of a message */
    WEIR_FIELD_UUID,         /* uint8_t[16]; written with hyphens */
    WEIR_FIELD_EXECUTION_ID, /* struct weir_execution_id */
    WEIR_FIELD_FLOW_ID,      /* struct weir_flow_id */
    WEIR_FIELD_BYTES,        /* no member: bytes(); JSON: text, or key_base64 */
    WEIR_FIELD_WORD,         /* no member: word() or derive() has the text */
    WEIR_FIELD_OBJECT,       /* a struct in the row, with its record */
    WEIR_FIELD_PART,         /* the same, its fields among those of the row */
    WEIR_FIELD_LIST,         /* each() visits rows of `record` */
    WEIR_FIELD_MAP,          /* each() visits struct weir_record_pair */
    WEIR_FIELD_WORDS,        /* each() visits texts */
    WEIR_FIELD_COUNTS,       /* each() visits struct weir_record_count */
    WEIR_FIELD_LISTED,   /* struct weir_record_list: a list that is composed already */
    WEIR_FIELD_COMPOSED, /* struct weir_buf: an object of `record`; empty: null */
    WEIR_FIELD_COMPOSED_PART, /* the same, its members among those of the row */
    WEIR_FIELD_TYPE_COUNT
};

struct weir_record_pair {
    const char *name;
    const char *value;
};

struct weir_record_count {
    const char *name;
    int64_t number;
};

typedef void (*weir_record_emit_fn)(void *state, const void *element);

struct weir_record_field {
    const char *key;   /* in JSON; NULL: not there */
    const char *about; /* one sentence, for schema and reference */
    enum weir_field_type type;
    size_t offset; /* of the member */

    const char *title; /* of the column; NULL: none */
    unsigned column;   /* place of the column; 0: as in this list */
    size_t cut_to;     /* as in table.h */
    unsigned rank;     /* likewise */
    bool right;        /* to the right, which numbers and durations are anyway */
    const char *empty; /* cell or line of an empty text, or of the number 0 */
    const char *line;  /* name of the line in full; NULL: none */
    unsigned line_at;  /* place of the line; 0: as in this list */
    size_t estimate;   /* WEIR_FLAG_AT(): a count with '~' before it; 0: exact */
    bool optional;     /* a number below 0 and a text that is NULL are left out of JSON */
    bool nullable;     /* a text that may be NULL */
    const struct weir_record *record; /* of OBJECT, PART, LIST and LISTED */

    /* All of these may be NULL. `now_us` is the wall clock of the whole view. */
    bool (*shown)(const void *row);       /* false: left out of JSON and lines */
    bool (*known)(const void *row);       /* false: null in JSON, left out of lines */
    int64_t (*compute)(const void *row);  /* the number, in place of the member */
    const char *(*word)(const void *row); /* the text */
    const char *(*derive)(const void *row, int64_t now_us, char *out); /* likewise */
    const char *(*cell)(const void *row, int64_t now_us, char *out); /* only in tables */
    const char *(*full)(const void *row, int64_t now_us, char *out); /* only in lines */
    struct weir_str (*bytes)(const void *row);
    enum weir_tone (*tone)(const void *row);
    void (*each)(const void *row, weir_record_emit_fn emit, void *state);
};

struct weir_record {
    const char *name; /* "queue" */
    const char *about;
    const struct weir_record_field *fields;
    size_t count;
};

/* ---- describing -------------------------------------------------------------------- */

#define WEIR_MEMBER(row_, member_) (((row_ *)0)->member_)

/* 1 if the member is what the type stands for. */
#define WEIR_FIELD_IS_TEXT(m) _Generic((m), const char * : 1, default : 0)
#define WEIR_FIELD_IS_CHARS(m) _Generic(&(m), char(*)[sizeof(m)] : 1, default : 0)
#define WEIR_FIELD_IS_FLAG(m) _Generic((m), bool : 1, default : 0)
#define WEIR_FIELD_IS_I32(m) _Generic((m), int32_t : 1, default : 0)
#define WEIR_FIELD_IS_U32(m) _Generic((m), uint32_t : 1, default : 0)
#define WEIR_FIELD_IS_I64(m) _Generic((m), int64_t : 1, default : 0)
#define WEIR_FIELD_IS_U64(m) _Generic((m), uint64_t : 1, default : 0)
#define WEIR_FIELD_IS_SIZE(m) _Generic((m), size_t : 1, default : 0)
#define WEIR_FIELD_IS_RATE(m) _Generic((m), double : 1, default : 0)
#define WEIR_FIELD_IS_US(m) WEIR_FIELD_IS_I64(m)
#define WEIR_FIELD_IS_MS(m) WEIR_FIELD_IS_I64(m)
#define WEIR_FIELD_IS_NS(m) WEIR_FIELD_IS_I64(m)
#define WEIR_FIELD_IS_TIME(m) WEIR_FIELD_IS_I64(m)
#define WEIR_FIELD_IS_UID(m) _Generic(&(m), uint8_t(*)[16] : 1, default : 0)
#define WEIR_FIELD_IS_UUID(m) WEIR_FIELD_IS_UID(m)
#define WEIR_FIELD_IS_EXECUTION_ID(m)                                                    \
    _Generic((m), struct weir_execution_id : 1, default : 0)
#define WEIR_FIELD_IS_FLOW_ID(m) _Generic((m), struct weir_flow_id : 1, default : 0)
#define WEIR_FIELD_IS_COMPOSED(m) _Generic((m), struct weir_buf : 1, default : 0)
#define WEIR_FIELD_IS_COMPOSED_PART(m) WEIR_FIELD_IS_COMPOSED(m)
#define WEIR_FIELD_IS_LISTED(m) _Generic((m), struct weir_record_list : 1, default : 0)

/* Offset of a member, which is refused unless `is` is 1. */
#define WEIR_CHECKED_OFFSET(row_, member_, is)                                           \
    (offsetof(row_, member_) +                                                           \
     0 * sizeof(struct {                                                                 \
         _Static_assert(is, "the member has another type than its field");               \
         char none;                                                                      \
     }))

/* A field that is a member: of this row, with this key (or NULL), type and sentence. */
#define WEIR_FIELD(row_, key_, member_, type_, ...)                                      \
    {                                                                                    \
        .key = (key_), .type = WEIR_FIELD_##type_,                                       \
        .offset = WEIR_CHECKED_OFFSET(                                                   \
            row_, member_, WEIR_FIELD_IS_##type_(WEIR_MEMBER(row_, member_))),           \
        .about = __VA_ARGS__                                                             \
    }

/* A field of no single member: with compute(), derive(), each() or a record. */
#define WEIR_FIELD_OF(key_, type_, ...)                                                  \
    {                                                                                    \
        .key = (key_), .type = WEIR_FIELD_##type_, .about = __VA_ARGS__                  \
    }

/* A struct in the row, of this record. */
#define WEIR_FIELD_IN(row_, key_, member_, type_, record_, ...)                          \
    {                                                                                    \
        .key = (key_), .type = WEIR_FIELD_##type_, .record = (record_),                  \
        .offset = offsetof(row_, member_), .about = __VA_ARGS__                          \
    }

/* For `estimate`. */
#define WEIR_FLAG_AT(row_, member_)                                                      \
    (1 +                                                                                 \
     WEIR_CHECKED_OFFSET(row_, member_, WEIR_FIELD_IS_FLAG(WEIR_MEMBER(row_, member_))))

/* A record of an array of fields. */
#define WEIR_RECORD(name_, fields_, about_)                                              \
    {                                                                                    \
        .name = (name_), .about = (about_), .fields = (fields_),                         \
        .count = COUNT_OF(fields_)                                                       \
    }

/* ---- forms ------------------------------------------------------------------------- */

/* Append `"name":{...}`, or `{...}` if `name` is NULL, after a comma where one is
 * needed. */
void weir_record_append_json(const struct weir_record *self, struct weir_buf *json,
                             const char *name, const void *row, int64_t now_us);

/* Append only the members, to an object that is open. */
void weir_record_append_members(const struct weir_record *self, struct weir_buf *json,
                                const void *row, int64_t now_us);

/* The columns of a table, at most WEIR_TABLE_COLUMNS_MAX, and the fields they show.
 * Returns their number. */
size_t weir_record_columns(const struct weir_record *self,
                           struct weir_table_column *columns,
                           const struct weir_record_field **fields);

/* Add a row to a table that has the columns of these fields. */
void weir_record_add_cells(const struct weir_record_field *const *fields, size_t count,
                           struct weir_table *table, const void *row, int64_t now_us);

/* Append "name          value", a line for each field that has one. */
void weir_record_append_lines(const struct weir_record *self, struct weir_buf *text,
                              const void *row, int64_t now_us);

/* Append the JSON schema of the row, an object. */
void weir_record_append_schema(const struct weir_record *self, struct weir_buf *json);

/* Append the table of the reference page, in Markdown. */
void weir_record_append_reference(const struct weir_record *self, struct weir_buf *text);

/* Set the number under `key`, a field of type I64. */
void weir_record_set(const struct weir_record *self, void *row, const char *key,
                     int64_t number);

/* ---- values ------------------------------------------------------------------------ */

/* The member of a field, and its number: compute(), or the member. */
const void *weir_field_at(const struct weir_record_field *self, const void *row);
int64_t weir_field_number(const struct weir_record_field *self, const void *row);

/* The value as text for people: a member of the row, or in `out` of WEIR_CELL_SIZE
 * bytes. */
const char *weir_field_spell(const struct weir_record_field *self, const void *row,
                             int64_t now_us, char *out);

#endif
