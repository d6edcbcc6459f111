/*
 * Tests of db/sql.c: a statement's text for each engine, and which prefixes there may be.
 */
#include "db/sql.h"

#include <string.h>

#include "base/heap.h"
#include "db/value.h"
#include "kit/alloc_failures.h"
#include "kit/test.h"

/* One text, and what becomes of it. */
struct expansion {
    const char *text;
    const char *parameters;
    const char *on_sqlite;
    const char *on_postgresql;
    const char *on_mariadb; /* NULL: refused there */
};

static void expands(const struct expansion *expansion);
static void refuses(const char *text, const char *parameters, enum weir_engine engine,
                    const char *why);
static void refuses_everywhere(const char *text, const char *parameters, const char *why);
static void accepts_prefix(const char *prefix);
static void refuses_prefix(const char *prefix, const char *why);

/* ---- expansion --------------------------------------------------------------------- */

WEIR_TEST(sql, has_the_engines_own_placeholders)
{
    expands(&(struct expansion){"UPDATE {p}_lease SET until = {1} WHERE id = {2}", "mi",
                                "UPDATE weir_lease SET until = ?1 WHERE id = ?2",
                                "UPDATE weir_lease SET until = $1 WHERE id = $2",
                                "UPDATE weir_lease SET until = ?1 WHERE id = ?2"});
}

WEIR_TEST(sql, without_braces_stays_as_it_is)
{
    expands(&(struct expansion){"SELECT 1", "", "SELECT 1", "SELECT 1", "SELECT 1"});
    expands(&(struct expansion){"SELECT 1", NULL, "SELECT 1", "SELECT 1", "SELECT 1"});
    expands(&(struct expansion){"", "", "", "", ""});
    expands(&(struct expansion){"SELECT '100%'", "", "SELECT '100%'", "SELECT '100%'",
                                "SELECT '100%'"});
}

WEIR_TEST(sql, has_the_prefix_wherever_it_is_asked_for)
{
    expands(&(struct expansion){"{p}", "", "weir", "weir", "weir"});
    expands(&(struct expansion){"{p}{p}_{p}", "", "weirweir_weir", "weirweir_weir",
                                "weirweir_weir"});
    expands(&(struct expansion){"SELECT {1} FROM {p}_a WHERE x = {2}{p}", "ii",
                                "SELECT ?1 FROM weir_a WHERE x = ?2weir",
                                "SELECT $1 FROM weir_a WHERE x = $2weir",
                                "SELECT ?1 FROM weir_a WHERE x = ?2weir"});
}

WEIR_TEST(sql, has_the_phrases_of_the_engines_dialect)
{
    expands(&(struct expansion){"VALUES ({1}){or_ignore:name}", "i",
                                "VALUES (?1) ON CONFLICT (name) DO NOTHING",
                                "VALUES ($1) ON CONFLICT (name) DO NOTHING",
                                "VALUES (?1) ON DUPLICATE KEY UPDATE id = id"});
    expands(
        &(struct expansion){"{insert_ignore} INTO x{unless_there:a, b} RETURNING id", "",
                            "INSERT INTO x ON CONFLICT (a, b) DO NOTHING RETURNING id",
                            "INSERT INTO x ON CONFLICT (a, b) DO NOTHING RETURNING id",
                            "INSERT IGNORE INTO x RETURNING id"});
    expands(&(struct expansion){"SELECT 1{for_no_key_update}", "", "SELECT 1",
                                "SELECT 1 FOR NO KEY UPDATE", "SELECT 1 FOR UPDATE"});
}

WEIR_TEST(sql, takes_an_argument_of_a_word_where_it_has_one)
{
    refuses_everywhere("{or_ignore}", "", "neither a name nor a word nor a parameter");
    refuses_everywhere("{or_ignore:}", "", "neither a name nor a word nor a parameter");
    refuses_everywhere("{now:x}", "", "neither a name nor a word nor a parameter");
    refuses_everywhere("{now:}", "", "neither a name nor a word nor a parameter");
    refuses_everywhere("{for_nothing}", "", "neither a name nor a word nor a parameter");
}

WEIR_TEST(sql, has_the_databases_clock_as_an_expression)
{
    expands(&(struct expansion){
        "SELECT {now}", "", "SELECT weir_now()",
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
        "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)"});
    expands(&(struct expansion){
        "{1} < {now} AND {now} < {2}", "ii", "?1 < weir_now() AND weir_now() < ?2",
        "$1 < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AND "
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint < $2",
        "?1 < CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) AND "
        "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) < ?2"});
}

/* Names are composed, never replaced: a prefix may contain anything that it may
 * contain. */
WEIR_TEST(sql, does_not_look_into_the_prefix)
{
    const struct weir_sql sql = {.name = "a", .text = "FROM {p}_log", .parameters = ""};
    struct weir_error error;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);

    check_status(weir_sql_expand(&sql, WEIR_MARIADB, "weir_log_p", &out, &error),
                 WEIR_OK);

    check_str(weir_buf_text(&out), "FROM weir_log_p_log");
    weir_buf_fini(&out);
}

WEIR_TEST(sql, may_repeat_and_reorder_parameters)
{
    expands(&(struct expansion){"{2} {1}", "ii", "?2 ?1", "$2 $1", "?2 ?1"});
    expands(&(struct expansion){"{1} {1}", "i", "?1 ?1", "$1 $1", "?1 ?1"});
    expands(&(struct expansion){"{1} {2} {1}", "ii", "?1 ?2 ?1", "$1 $2 $1", "?1 ?2 ?1"});
}

WEIR_TEST(sql, may_have_99_parameters)
{
    char text[99 * 6 + 1];
    char parameters[100];
    char *end = text;
    struct weir_sql sql = {.name = "a", .text = text, .parameters = parameters};
    struct weir_error error;
    struct weir_buf out;

    for (int i = 1; i <= 99; i++) {
        *end++ = '{';
        if (i > 9)
            *end++ = (char)('0' + i / 10);
        *end++ = (char)('0' + i % 10);
        *end++ = '}';
        parameters[i - 1] = 'i';
    }
    *end = '\0';
    parameters[99] = '\0';
    weir_buf_init(&out, weir_heap_system(), 1000);

    check_status(weir_sql_expand(&sql, WEIR_POSTGRESQL, "weir", &out, &error), WEIR_OK);

    check(strstr(weir_buf_text(&out), "$98$99") != NULL);
    weir_buf_fini(&out);
}

WEIR_TEST(sql, that_is_malformed_is_told_by_its_name)
{
    refuses_everywhere("SELECT {1", "i", "not closed");
    refuses_everywhere("SELECT {", "", "not closed");
    refuses_everywhere("SELECT {p", "", "not closed");
    refuses_everywhere("SELECT {}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {0}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {2}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {1}", "", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {1}", NULL, "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {100}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {-1}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT { 1}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {1 }", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {x}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {P}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {NOW}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {nowx}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {no}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {now", "", "not closed");
    refuses_everywhere("SELECT {pp}", "i", "neither a name nor a word nor a parameter");
    refuses_everywhere("SELECT {{p}}", "i", "neither a name nor a word nor a parameter");
}

/* What is declared is also used: a value nobody asks for is a mistake somewhere. */
WEIR_TEST(sql, that_declares_more_than_it_uses_is_malformed)
{
    refuses_everywhere("SELECT {1}", "ii", "parameter");
    refuses_everywhere("SELECT 1", "i", "parameter");
    refuses_everywhere("SELECT {2}", "ii", "parameter");
}

WEIR_TEST(sql, with_a_letter_that_is_no_type_is_malformed)
{
    refuses_everywhere("SELECT {1}", "x", "letter");
    refuses_everywhere("SELECT {1}", "1", "letter");
}

/* "A literal brace is not available", neither of the two. */
WEIR_TEST(sql, with_a_brace_that_closes_nothing_is_malformed)
{
    refuses_everywhere("SELECT }", "", "brace");
    refuses_everywhere("SELECT {1}}", "i", "brace");
}

/* The text is added to what is there. */
WEIR_TEST(sql, is_appended)
{
    const struct weir_sql sql = {.name = "a", .text = "b {1}", .parameters = "i"};
    struct weir_error error;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);
    weir_buf_append_text(&out, "a ");

    check_status(weir_sql_expand(&sql, WEIR_SQLITE, "weir", &out, &error), WEIR_OK);

    check_str(weir_buf_text(&out), "a b ?1");
    weir_buf_fini(&out);
}

WEIR_TEST(sql, that_is_too_long_for_its_buffer_is_refused)
{
    const struct weir_sql sql = {
        .name = "long", .text = "SELECT 12345", .parameters = ""};
    struct weir_error error;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 8);

    check_status(weir_sql_expand(&sql, WEIR_SQLITE, "weir", &out, &error), WEIR_INVALID);

    check(strstr(error.text, "\"long\"") != NULL);
    weir_buf_fini(&out);
}

static enum weir_status expand_one(const struct weir_heap *heap)
{
    const struct weir_sql sql = {.name = "a", .text = "{p} {1}", .parameters = "i"};
    struct weir_error error;
    struct weir_buf out;
    enum weir_status status;

    weir_buf_init(&out, heap, 1000);
    status = weir_sql_expand(&sql, WEIR_POSTGRESQL, "weir", &out, &error);
    weir_buf_fini(&out);
    return status;
}

WEIR_TEST(sql, survives_any_failing_allocation)
{
    check_alloc_failures(expand_one);
}

/* ---- where tables are -------------------------------------------------------------- */

static void expands_at(const char *home, const char *text, const char *want)
{
    const struct weir_sql sql = {.name = "a", .text = text, .parameters = ""};
    struct weir_error error;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);
    check_status(weir_sql_expand_at(&sql, WEIR_POSTGRESQL, home, "weir", &out, &error),
                 WEIR_OK);
    check_str(weir_buf_text(&out), want);
    weir_buf_fini(&out);
}

static void refuses_at(const char *home, const char *text, const char *why)
{
    const struct weir_sql sql = {.name = "a", .text = text, .parameters = ""};
    struct weir_error error;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);
    check_status(weir_sql_expand_at(&sql, WEIR_POSTGRESQL, home, "weir", &out, &error),
                 WEIR_INVALID);
    check(strstr(error.text, why) != NULL);
    weir_buf_fini(&out);
}

WEIR_TEST(sql, names_tables_with_their_home)
{
    expands_at(
        "\"app\".", "SELECT {p}_b() FROM {p}_a WHERE {p}_a.c = 'x'",
        "SELECT \"app\".weir_b() FROM \"app\".weir_a WHERE \"app\".weir_a.c = 'x'");
    expands_at("\"app\".", "SELECT '{n}_a' FROM {p}_a FORCE INDEX ({n}_i)",
               "SELECT 'weir_a' FROM \"app\".weir_a FORCE INDEX (weir_i)");
    expands_at("", "SELECT '{q}_a', 'it''s {n}' FROM {p}_a",
               "SELECT 'weir_a', 'it''s weir' FROM weir_a");
}

WEIR_TEST(sql, doubles_the_quotes_of_a_home_in_a_literal)
{
    expands_at("\"bob's\".", "SELECT '{q}_a'::regclass FROM {p}_a",
               "SELECT '\"bob''s\".weir_a'::regclass FROM \"bob's\".weir_a");
}

/* With a home that is none as well: so the tests of any engine find it. */
WEIR_TEST(sql, refuses_tables_without_their_home)
{
    refuses_at("", "SELECT '{p}_a'::regclass", "{p} in a literal");
    refuses_at("", "SELECT 1 FROM {q}_a", "{q} outside of a literal");
    refuses_at("", "SELECT 1 FROM {n}_a", "{n} for a table");
    refuses_at("", "update {n}_a SET b = 1", "{n} for a table");
    refuses_at("", "INSERT INTO  {n}_a VALUES (1)", "{n} for a table");
    refuses_at("", "SELECT 1 FROM {p}_a JOIN {n}_b", "{n} for a table");
    refuses_at("", "TRUNCATE {n}_a", "{n} for a table");
    refuses_at("", "LOCK TABLE {n}_a", "{n} for a table");
}

WEIR_TEST(sql, has_bare_names_where_no_home_is_given)
{
    const struct weir_sql sql = {
        .name = "a", .text = "CREATE INDEX {p}_i ON {p}_a ('{p}')", .parameters = ""};
    struct weir_error error;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), 1000);
    check_status(weir_sql_expand(&sql, WEIR_POSTGRESQL, "weir", &out, &error), WEIR_OK);
    check_str(weir_buf_text(&out), "CREATE INDEX weir_i ON weir_a ('weir')");
    weir_buf_fini(&out);
}

/* ---- types ------------------------------------------------------------------------- */

WEIR_TEST(sql, has_a_letter_for_each_type_and_its_capital_for_an_array)
{
    static const struct {
        char letter;
        enum weir_type type;
    } LETTERS[] = {
        {'i', WEIR_TYPE_INTEGER}, {'r', WEIR_TYPE_REAL},    {'t', WEIR_TYPE_TEXT},
        {'b', WEIR_TYPE_BYTES},   {'f', WEIR_TYPE_BOOLEAN}, {'m', WEIR_TYPE_TIME},
    };

    for (size_t i = 0; i < sizeof LETTERS / sizeof LETTERS[0]; i++) {
        check_int(weir_sql_type(LETTERS[i].letter), LETTERS[i].type);
        check_int(weir_sql_type((char)(LETTERS[i].letter - 32)), LETTERS[i].type);
    }
}

WEIR_TEST(sql, has_no_other_letters)
{
    for (int c = 0; c < 256; c++) {
        if (c != 0 && strchr("irtbfmIRTBFM", c) != NULL)
            continue;
        check_int(weir_sql_type((char)c), WEIR_TYPE_NULL);
    }
}

/* ---- the prefix -------------------------------------------------------------------- */

#define LETTERS_36 "abcdefghijklmnopqrstuvwxyz0123456789"

WEIR_TEST(prefix, may_have_letters_digits_and_underscores)
{
    accepts_prefix("a");
    accepts_prefix("Z");
    accepts_prefix("outbox1");
    accepts_prefix("toolkit_outbox");
    accepts_prefix("toolkit_outbox_body");
    accepts_prefix("mini_chat_outbox");
    accepts_prefix("a_");
    accepts_prefix("a__1");
    accepts_prefix("ABCxyz_789");
}

WEIR_TEST(prefix, may_have_36_characters_and_not_37)
{
    accepts_prefix(LETTERS_36);

    refuses_prefix(LETTERS_36 "x", "too long");
    refuses_prefix(LETTERS_36 LETTERS_36, "too long");
}

WEIR_TEST(prefix, must_not_be_empty)
{
    refuses_prefix("", "empty");
}

WEIR_TEST(prefix, must_begin_with_a_letter)
{
    refuses_prefix("1outbox", "begin");
    refuses_prefix("_outbox", "begin");
    refuses_prefix(" outbox", "begin");
    refuses_prefix("\xc3\xa4", "begin");
}

/* Each of these would end the name and begin something else. */
WEIR_TEST(prefix, must_not_have_anything_else)
{
    refuses_prefix("my outbox", "0x20 at 2");
    refuses_prefix("my-outbox", "0x2d at 2");
    refuses_prefix("my.outbox", "0x2e at 2");
    refuses_prefix("my;outbox", "0x3b at 2");
    refuses_prefix("my'outbox", "0x27 at 2");
    refuses_prefix("my\"outbox", "0x22 at 2");
    refuses_prefix("my`outbox", "0x60 at 2");
    refuses_prefix("my{p}", "0x7b at 2");
    refuses_prefix("my\n", "0x0a at 2");
    refuses_prefix("m\xc3\xbcller", "0xc3 at 1");
    refuses_prefix("a\xef\xbd\x81", "0xef at 1");
    refuses_prefix("a\x7f", "0x7f at 1");
}

WEIR_TEST(prefix, is_every_byte_but_letters_digits_and_underscore_refused)
{
    char prefix[] = "a?b";

    for (int c = 1; c < 256; c++) {
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9') || c == '_';

        prefix[1] = (char)c;
        check_status(weir_prefix_check(prefix, NULL), fine ? WEIR_OK : WEIR_INVALID);
    }
}

/* ---- helpers ----------------------------------------------------------------------- */

static void expands(const struct expansion *expansion)
{
    const char *const wanted[] = {
        [WEIR_SQLITE] = expansion->on_sqlite,
        [WEIR_POSTGRESQL] = expansion->on_postgresql,
        [WEIR_MARIADB] = expansion->on_mariadb,
    };
    const struct weir_sql sql = {
        .name = "touch", .text = expansion->text, .parameters = expansion->parameters};

    for (int engine = 0; engine < 3; engine++) {
        struct weir_error error;
        struct weir_buf out;

        if (wanted[engine] == NULL)
            continue;
        weir_buf_init(&out, weir_heap_system(), 1000);
        check_status(
            weir_sql_expand(&sql, (enum weir_engine)engine, "weir", &out, &error),
            WEIR_OK);
        check_str(weir_buf_text(&out), wanted[engine]);
        weir_buf_fini(&out);
    }
}

static void refuses(const char *text, const char *parameters, enum weir_engine engine,
                    const char *why)
{
    const struct weir_sql sql = {.name = "touch", .text = text, .parameters = parameters};
    struct weir_error error;
    struct weir_buf out;
    enum weir_status status;

    weir_buf_init(&out, weir_heap_system(), 1000);
    weir_error_clear(&error);
    status = weir_sql_expand(&sql, engine, "weir", &out, &error);
    weir_buf_fini(&out);

    if (status != WEIR_INVALID || strstr(error.text, why) == NULL ||
        strstr(error.text, "\"touch\"") == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" with \"%s\" on %s: %s: %s", text,
                       parameters != NULL ? parameters : "", weir_engine_name(engine),
                       weir_status_name(status), error.text);
}

static void refuses_everywhere(const char *text, const char *parameters, const char *why)
{
    refuses(text, parameters, WEIR_SQLITE, why);
    refuses(text, parameters, WEIR_POSTGRESQL, why);
    refuses(text, parameters, WEIR_MARIADB, why);
}

static void accepts_prefix(const char *prefix)
{
    struct weir_error error;

    if (weir_prefix_check(prefix, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is refused: %s", prefix, error.text);
}

static void refuses_prefix(const char *prefix, const char *why)
{
    struct weir_error error;

    check_status(weir_prefix_check(prefix, &error), WEIR_INVALID);
    if (strstr(error.text, why) == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" is refused without \"%s\": %s", prefix,
                       why, error.text);
}
