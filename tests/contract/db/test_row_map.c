/*
 * Row maps and queries in one call: every kind of column comes back as it went in, and
 * what does not fit its member is an error that names the column.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/count.h"
#include "db/query.h"
#include "kit/db/engines.h"

enum level { LEVEL_LOW, LEVEL_HIGH, LEVEL_COUNT };

struct thing {
    int64_t id;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    uint64_t u64;
    enum level level;
    bool flag;
    bool paused;
    double ratio;
    struct weir_str title;
    struct weir_str note;
    struct weir_str body;
    struct weir_str extra;
    char name[8];
    uint8_t uuid[4];
    uint8_t parent[4];
};

static const struct weir_column THING[] = {
    COLUMN(struct thing, id, INTEGER),
    COLUMN(struct thing, i8, INTEGER),
    COLUMN(struct thing, u8, INTEGER),
    COLUMN(struct thing, i16, INTEGER),
    COLUMN(struct thing, u16, INTEGER),
    COLUMN(struct thing, i32, INTEGER),
    COLUMN(struct thing, u32, INTEGER),
    COLUMN(struct thing, u64, INTEGER),
    COLUMN_ENUM(struct thing, level, LEVEL_COUNT - 1),
    COLUMN(struct thing, flag, FLAG),
    COLUMN(struct thing, paused, BOOLEAN),
    COLUMN(struct thing, ratio, REAL),
    COLUMN(struct thing, title, TEXT),
    COLUMN(struct thing, note, TEXT_OR_NONE),
    COLUMN(struct thing, body, BYTES),
    COLUMN(struct thing, extra, BYTES_OR_NONE),
    COLUMN(struct thing, name, CHARS),
    COLUMN(struct thing, uuid, FIXED),
    COLUMN(struct thing, parent, FIXED_OR_NONE),
};
enum { THING_COUNT = COUNT_OF(THING) };

static const struct weir_sql SQL_PUT = {
    .name = "put",
    .text = "INSERT INTO {p}_thing VALUES ({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9},"
            " {10}, {11}, {12}, {13}, {14}, {15}, {16}, {17}, {18}, {19})",
    .parameters = "iiiiiiiiiifrttbbtbb",
};

static const struct weir_sql SQL_GET = {
    .name = "get things",
    .text = "SELECT id, i8, u8, i16, u16, i32, u32, u64, level, flag, paused, ratio,"
            " title, note, body, extra, name, uuid, parent FROM {p}_thing"
            " WHERE id >= {1} ORDER BY id",
    .parameters = "i",
};

static const struct thing USUAL = {
    .id = 1,
    .i8 = -128,
    .u8 = 255,
    .i16 = -32768,
    .u16 = 65535,
    .i32 = INT32_MIN,
    .u32 = UINT32_MAX,
    .u64 = INT64_MAX,
    .level = LEVEL_HIGH,
    .flag = true,
    .paused = true,
    .ratio = 0.5,
    .title = {"title", 5},
    .note = {"note", 4},
    .body = {"b\0dy", 4},
    .extra = {"\xff", 1},
    .name = "letters",
    .uuid = {1, 2, 3, 4},
    .parent = {5, 6, 7, 8},
};

static struct weir_connection *make_things(struct fixture *fixture);
static void put(struct fixture *fixture, struct weir_connection *connection,
                const struct thing *thing);
static void change(struct fixture *fixture, struct weir_connection *connection,
                   const char *what);
static enum weir_status get(struct fixture *fixture, struct weir_connection *connection,
                            struct weir_arena *arena, struct thing *out);
static void check_view(struct weir_str text, const char *want, size_t size);
static void check_damaged(struct fixture *fixture, const char *what, const char *text);

/* ---- reading and writing ----------------------------------------------------------- */

ENGINE_TEST(row_map, reads_every_kind_of_column_as_it_was_written)
{
    struct weir_connection *connection = make_things(fixture);
    struct weir_arena arena;
    struct thing thing;

    weir_arena_init(&arena, &fixture->heap.heap, 4096);
    put(fixture, connection, &USUAL);
    check_db(get(fixture, connection, &arena, &thing), WEIR_OK);

    check_int(thing.id, 1);
    check_int(thing.i8, -128);
    check_int(thing.u8, 255);
    check_int(thing.i16, -32768);
    check_int(thing.u16, 65535);
    check_int(thing.i32, INT32_MIN);
    check_int(thing.u32, UINT32_MAX);
    check(thing.u64 == INT64_MAX);
    check_int(thing.level, LEVEL_HIGH);
    check(thing.flag && thing.paused && thing.ratio == 0.5);
    check_view(thing.title, "title", 5);
    check_view(thing.note, "note", 4);
    check_view(thing.body, "b\0dy", 4);
    check_view(thing.extra, "\xff", 1);
    check_str(thing.name, "letters");
    check(memcmp(thing.uuid, USUAL.uuid, sizeof thing.uuid) == 0);
    check(memcmp(thing.parent, USUAL.parent, sizeof thing.parent) == 0);
    weir_arena_fini(&arena);
    fixture_give(fixture, connection);
}

ENGINE_TEST(row_map, reads_a_null_as_nothing_of_its_kind)
{
    struct weir_connection *connection = make_things(fixture);
    struct weir_arena arena;
    struct thing thing;

    weir_arena_init(&arena, &fixture->heap.heap, 4096);
    put(fixture, connection, &USUAL);
    change(fixture, connection,
           "i8 = NULL, u64 = NULL, level = NULL, flag = NULL, paused = NULL,"
           " ratio = NULL, title = NULL, note = NULL, body = NULL, extra = NULL,"
           " name = NULL, parent = NULL");
    memset(&thing, 0xaa, sizeof thing);
    check_db(get(fixture, connection, &arena, &thing), WEIR_OK);

    check_int(thing.i8, 0);
    check(thing.u64 == 0);
    check_int(thing.level, LEVEL_LOW);
    check(!thing.flag && !thing.paused && thing.ratio == 0.0);
    check(thing.title.data != NULL && thing.title.size == 0);
    check(thing.note.data == NULL && thing.note.size == 0);
    check(thing.body.data != NULL && thing.body.size == 0);
    check(thing.extra.data == NULL && thing.extra.size == 0);
    check_int(thing.name[0], 0);
    check(memcmp(thing.parent, (uint8_t[4]){0}, sizeof thing.parent) == 0);
    weir_arena_fini(&arena);
    fixture_give(fixture, connection);
}

ENGINE_TEST(row_map, reads_an_empty_value_as_a_view_with_data)
{
    struct weir_connection *connection = make_things(fixture);
    struct weir_arena arena;
    struct thing thing = USUAL;

    weir_arena_init(&arena, &fixture->heap.heap, 4096);
    thing.note = thing.extra = (struct weir_str){"", 0};
    put(fixture, connection, &thing);
    check_db(get(fixture, connection, &arena, &thing), WEIR_OK);

    check(thing.note.data != NULL && thing.note.size == 0);
    check(thing.extra.data != NULL && thing.extra.size == 0);
    weir_arena_fini(&arena);
    fixture_give(fixture, connection);
}

ENGINE_TEST(row_map, writes_a_view_without_data_as_null)
{
    struct weir_connection *connection = make_things(fixture);
    struct thing thing = USUAL;

    thing.note = thing.extra = (struct weir_str){NULL, 0};
    put(fixture, connection, &thing);

    check_int(fixture_ask(fixture, "SELECT count(*) FROM weir_thing WHERE note IS NULL"
                                   " AND extra IS NULL AND title IS NOT NULL"),
              1);
    fixture_give(fixture, connection);
}

ENGINE_TEST(row_map, gives_an_integer_the_value_that_its_map_has_for_null)
{
    static const struct weir_sql SQL_DUE = {
        .name = "due", .text = "SELECT max(id), 0, max(id) FROM {p}_thing"};
    struct due {
        int64_t due_us;
        int64_t none_us;
        int64_t now_us;
    } due;
    static const struct weir_column DUE[] = {
        COLUMN_NULL_IS(struct due, due_us, INT64_MAX),
        COLUMN_NULL_IS(struct due, none_us, INT64_MAX),
        COLUMN(struct due, now_us, INTEGER),
    };
    struct weir_connection *connection = make_things(fixture);

    check_db(
        weir_query_one(connection, &SQL_DUE, NO_VALUES, INTO(DUE, &due), &fixture->error),
        WEIR_OK);

    check(due.due_us == INT64_MAX);
    check_int(due.none_us, 0);
    check_int(due.now_us, 0);
    fixture_give(fixture, connection);
}

struct second_half {
    int32_t i32;
    uint32_t u32;
};
static const struct weir_column SECOND_HALF[] = {
    COLUMN(struct second_half, i32, INTEGER),
    COLUMN(struct second_half, u32, INTEGER),
};

static enum weir_status read_second_half(void *state, struct weir_rows *rows,
                                         struct weir_error *error)
{
    return weir_row_read_from(rows, 5, COLUMNS(SECOND_HALF), state, error);
}

ENGINE_TEST(row_map, may_begin_at_a_later_column)
{
    struct weir_connection *connection = make_things(fixture);
    struct second_half half;

    put(fixture, connection, &USUAL);
    check_db(weir_query_one(connection, &SQL_GET, VALUES(weir_integer(1)),
                            read_second_half, &half, &fixture->error),
             WEIR_OK);

    check_int(half.i32, INT32_MIN);
    check_int(half.u32, UINT32_MAX);
    fixture_give(fixture, connection);
}

/* ---- what does not fit ------------------------------------------------------------- */

ENGINE_TEST(row_map, refuses_an_integer_that_its_member_cannot_hold)
{
    static const struct {
        const char *what;
        const char *text;
    } DAMAGES[] = {
        {"i8 = 128", "get things: column i8 has 128, which cannot be"},
        {"i8 = -129", "get things: column i8 has -129, which cannot be"},
        {"u8 = 256", "get things: column u8 has 256, which cannot be"},
        {"u8 = -1", "get things: column u8 has -1, which cannot be"},
        {"i16 = 32768", "get things: column i16 has 32768, which cannot be"},
        {"u16 = 65536", "get things: column u16 has 65536, which cannot be"},
        {"i32 = 2147483648", "get things: column i32 has 2147483648, which cannot be"},
        {"u32 = 4294967296", "get things: column u32 has 4294967296, which cannot be"},
        {"u32 = -1", "get things: column u32 has -1, which cannot be"},
        {"u64 = -1", "get things: column u64 has -1, which cannot be"},
    };

    for (size_t i = 0; i < COUNT_OF(DAMAGES); i++)
        check_damaged(fixture, DAMAGES[i].what, DAMAGES[i].text);
}

ENGINE_TEST(row_map, refuses_a_number_that_an_enum_does_not_have)
{
    check_damaged(fixture, "level = 2",
                  "get things: a row has level 2, which this library does not know: "
                  "install a newer weir");
    check_damaged(fixture, "level = -1",
                  "get things: a row has level -1, which this library does not know: "
                  "install a newer weir");
}

ENGINE_TEST(row_map, refuses_texts_and_bytes_of_another_size)
{
    check_damaged(fixture, "name = '12345678'",
                  "get things: column name has 8 bytes, must have at most 7");
    check_damaged(fixture, "uuid = body", NULL); /* four bytes */
    check_damaged(fixture, "uuid = extra",
                  "get things: column uuid has 1 byte, must have 4");
    check_damaged(fixture, "uuid = NULL",
                  "get things: column uuid has 0 bytes, must have 4");
    check_damaged(fixture, "parent = extra",
                  "get things: column parent has 1 byte, must have 4");
}

ENGINE_TEST(row_map, names_the_column_that_is_of_another_type)
{
    static const struct weir_sql SQL_MIXED = {
        .name = "mixed up", .text = "SELECT id, title, i8 FROM {p}_thing"};
    struct weir_connection *connection = make_things(fixture);
    struct thing thing;

    put(fixture, connection, &USUAL);
    check_db(weir_query_one(connection, &SQL_MIXED, NO_VALUES, weir_row_read_into,
                            &(struct weir_row_into){THING, 3, &thing, NULL, 0},
                            &fixture->error),
             WEIR_SCHEMA);

    check_str(fixture->error.text,
              "mixed up: column i8 is not of the type it was read as");
    fixture_give(fixture, connection);
}

ENGINE_TEST(row_map, names_the_column_that_the_statement_does_not_have)
{
    static const struct weir_sql SQL_SHORT = {.name = "short",
                                              .text = "SELECT id FROM {p}_thing"};
    struct weir_connection *connection = make_things(fixture);
    struct thing thing;

    put(fixture, connection, &USUAL);
    check_db(weir_query_one(connection, &SQL_SHORT, NO_VALUES, weir_row_read_into,
                            &(struct weir_row_into){THING, 2, &thing, NULL, 0},
                            &fixture->error),
             WEIR_SCHEMA);

    check_str(fixture->error.text, "short: column i8 is not of the type it was read as");
    fixture_give(fixture, connection);
}

/* ---- queries ----------------------------------------------------------------------- */

struct sum {
    int64_t rows;
    int64_t ids;
    int64_t rows_max;
    enum weir_status then;
};

static enum weir_status add_up(void *state, struct weir_rows *rows,
                               struct weir_error *error)
{
    struct sum *sum = state;

    (void)error;
    sum->rows++;
    sum->ids += weir_rows_integer(rows, 0);
    return sum->rows == sum->rows_max ? sum->then : WEIR_OK;
}

static enum weir_status misread(void *state, struct weir_rows *rows,
                                struct weir_error *error)
{
    (void)state;
    (void)error;
    (void)weir_rows_integer(rows, 12);
    return WEIR_OK;
}

static struct weir_connection *make_three(struct fixture *fixture)
{
    struct weir_connection *connection = make_things(fixture);
    struct thing thing = USUAL;

    for (thing.id = 1; thing.id <= 3; thing.id++)
        put(fixture, connection, &thing);
    return connection;
}

ENGINE_TEST(query, calls_the_function_for_each_row)
{
    struct weir_connection *connection = make_three(fixture);
    struct sum sum = {0};

    check_db(weir_query_each(connection, &SQL_GET, VALUES(weir_integer(2)), add_up, &sum,
                             &fixture->error),
             WEIR_OK);

    check_int(sum.rows, 2);
    check_int(sum.ids, 5);
    check_db(weir_query_each(connection, &SQL_GET, VALUES(weir_integer(9)), add_up, &sum,
                             &fixture->error),
             WEIR_OK);
    check_int(sum.rows, 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(query, ends_with_the_status_of_the_function)
{
    struct weir_connection *connection = make_three(fixture);
    struct sum fails = {.rows_max = 2, .then = WEIR_TOO_LARGE};
    struct sum stops = {.rows_max = 2, .then = WEIR_NO_ROW};

    check_db(weir_query_each(connection, &SQL_GET, VALUES(weir_integer(1)), add_up,
                             &fails, &fixture->error),
             WEIR_TOO_LARGE);
    check_db(weir_query_each(connection, &SQL_GET, VALUES(weir_integer(1)), add_up,
                             &stops, &fixture->error),
             WEIR_OK);

    check_int(fails.rows, 2);
    check_int(stops.rows, 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(query, for_one_row_reads_the_first)
{
    struct weir_connection *connection = make_three(fixture);
    struct sum sum = {0};
    bool found = false;

    check_db(weir_query_one(connection, &SQL_GET, VALUES(weir_integer(2)), add_up, &sum,
                            &fixture->error),
             WEIR_OK);
    check_int(sum.rows, 1);
    check_int(sum.ids, 2);
    check_db(weir_query_find(connection, &SQL_GET, VALUES(weir_integer(3)), add_up, &sum,
                             &found, &fixture->error),
             WEIR_OK);
    check(found);
    check_int(sum.ids, 5);
    fixture_give(fixture, connection);
}

ENGINE_TEST(query, for_one_row_says_that_there_is_none)
{
    struct weir_connection *connection = make_three(fixture);
    struct sum sum = {0};
    bool found = true;

    check_db(weir_query_one(connection, &SQL_GET, VALUES(weir_integer(4)), add_up, &sum,
                            &fixture->error),
             WEIR_NO_ROW);
    check_db(weir_query_find(connection, &SQL_GET, VALUES(weir_integer(4)), add_up, &sum,
                             &found, &fixture->error),
             WEIR_OK);

    check(!found);
    check_int(sum.rows, 0);
    fixture_give(fixture, connection);
}

ENGINE_TEST(query, fails_when_its_function_misreads_the_last_row)
{
    struct weir_connection *connection = make_things(fixture);

    put(fixture, connection, &USUAL);
    check_db(weir_query_one(connection, &SQL_GET, VALUES(weir_integer(1)), misread, NULL,
                            &fixture->error),
             WEIR_SCHEMA);
    check_str(fixture->error.text,
              "get things: a column is not of the type it was read as");
    check_db(weir_query_each(connection, &SQL_GET, VALUES(weir_integer(1)), misread, NULL,
                             &fixture->error),
             WEIR_SCHEMA);
    fixture_give(fixture, connection);
}

ENGINE_TEST(query, for_integers_reads_as_many_as_there_is_room_for)
{
    struct weir_connection *connection = make_three(fixture);
    int64_t ids[4] = {0};
    size_t count = 9;

    check_db(weir_query_integers(connection, &SQL_GET, VALUES(weir_integer(1)), ids, 4,
                                 &count, &fixture->error),
             WEIR_OK);
    check_int(count, 3);
    check(ids[0] == 1 && ids[1] == 2 && ids[2] == 3 && ids[3] == 0);
    check_db(weir_query_integers(connection, &SQL_GET, VALUES(weir_integer(2)), ids, 1,
                                 &count, &fixture->error),
             WEIR_OK);
    check_int(count, 1);
    check(ids[0] == 2 && ids[1] == 2);
    fixture_give(fixture, connection);
}

ENGINE_TEST(query, fills_a_list_whose_texts_outlive_their_rows)
{
    struct weir_connection *connection = make_three(fixture);
    struct weir_arena arena;
    struct weir_row_list list = ROW_LIST(THING, struct thing, &arena);
    const struct thing *things;

    weir_arena_init(&arena, &fixture->heap.heap, 65536);
    change(fixture, connection, "title = 'second' WHERE id = 2");
    check_db(weir_query_each(connection, &SQL_GET, VALUES(weir_integer(1)),
                             weir_row_append, &list, &fixture->error),
             WEIR_OK);

    things = list.rows;
    check_int(list.count, 3);
    check_int(things[2].id, 3);
    check_view(things[0].title, "title", 5);
    check_view(things[1].title, "second", 6);
    weir_arena_fini(&arena);
    fixture_give(fixture, connection);
}

ENGINE_TEST(query, that_fills_a_list_says_when_there_is_no_memory)
{
    struct weir_connection *connection = make_three(fixture);
    struct weir_arena arena;
    struct weir_row_list list = ROW_LIST(THING, struct thing, &arena);

    weir_arena_init(&arena, &fixture->heap.heap, sizeof(struct thing));
    check_db(weir_query_each(connection, &SQL_GET, VALUES(weir_integer(1)),
                             weir_row_append, &list, &fixture->error),
             WEIR_NO_MEMORY);

    check_int(list.count, 0);
    weir_arena_fini(&arena);
    fixture_give(fixture, connection);
}

/* ---- helpers ----------------------------------------------------------------------- */

static struct weir_connection *make_things(struct fixture *fixture)
{
    struct weir_connection *connection = fixture_take(fixture);

    fixture_execute(
        fixture, connection,
        "CREATE TABLE {p}_thing (id $integer PRIMARY KEY, i8 $integer, u8 $integer,"
        " i16 $integer, u16 $integer, i32 $integer, u32 $integer, u64 $integer,"
        " level $integer, flag $integer, paused $boolean, ratio $real, title $text,"
        " note $text, body $bytes, extra $bytes, name $text, uuid $bytes,"
        " parent $bytes)");
    return connection;
}

static void put(struct fixture *fixture, struct weir_connection *connection,
                const struct thing *thing)
{
    struct weir_value values[THING_COUNT];

    weir_row_values(COLUMNS(THING), thing, values, 1);
    check_db(weir_connection_execute(connection, &SQL_PUT, values, THING_COUNT, NULL,
                                     &fixture->error),
             WEIR_OK);
}

static void change(struct fixture *fixture, struct weir_connection *connection,
                   const char *what)
{
    char text[512];

    (void)snprintf(text, sizeof text, "UPDATE {p}_thing SET %s", what);
    fixture_execute(fixture, connection, text);
}

static enum weir_status get(struct fixture *fixture, struct weir_connection *connection,
                            struct weir_arena *arena, struct thing *out)
{
    return weir_query_one(connection, &SQL_GET, VALUES(weir_integer(1)),
                          KEPT_INTO(THING, out, arena), &fixture->error);
}

static void check_view(struct weir_str text, const char *want, size_t size)
{
    check_int(text.size, size);
    check(memcmp(text.data, want, size) == 0);
}

/* A thing with this change cannot be read, for this reason; NULL: it can. */
static void check_damaged(struct fixture *fixture, const char *what, const char *text)
{
    struct weir_connection *connection = make_things(fixture);
    struct weir_arena arena;
    struct thing thing;
    enum weir_status status;

    weir_arena_init(&arena, &fixture->heap.heap, 4096);
    put(fixture, connection, &USUAL);
    change(fixture, connection, what);
    status = get(fixture, connection, &arena, &thing);

    check_db(status, text == NULL ? WEIR_OK : WEIR_SCHEMA);
    if (text != NULL)
        check_str(fixture->error.text, text);
    weir_arena_fini(&arena);
    fixture_execute(fixture, connection, "DROP TABLE {p}_thing");
    fixture_give(fixture, connection);
}
