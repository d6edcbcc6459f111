/* Tests of db/postgres/error.c: codes to statuses, without a server. */
#include "db/postgres/error.h"

#include "kit/test.h"

WEIR_TEST(pg_error, decides_by_code)
{
    static const struct {
        const char *code;
        enum weir_status status;
    } known[] = {
        {"23505", WEIR_CONSTRAINT}, /* unique */
        {"23502", WEIR_CONSTRAINT}, /* not null */
        {"23503", WEIR_CONSTRAINT}, /* foreign key */
        {"40001", WEIR_CONFLICT},   {"40P01", WEIR_CONFLICT},  {"40002", WEIR_CONSTRAINT},
        {"40003", WEIR_LOST},       {"55P03", WEIR_LOCKED},    {"55000", WEIR_FAILED},
        {"57014", WEIR_TIMEOUT},    {"08006", WEIR_LOST},      {"08P01", WEIR_LOST},
        {"57P01", WEIR_LOST},       {"57P02", WEIR_LOST},      {"57P03", WEIR_LOST},
        {"57000", WEIR_FAILED},     {"53100", WEIR_DISK_FULL}, {"53200", WEIR_NO_MEMORY},
        {"53300", WEIR_BUSY},       {"53400", WEIR_FAILED},    {"42501", WEIR_DENIED},
        {"28P01", WEIR_DENIED},     {"28000", WEIR_DENIED},    {"3D000", WEIR_SCHEMA},
        {"42P01", WEIR_SCHEMA},     {"42703", WEIR_SCHEMA},    {"42601", WEIR_SCHEMA},
        {"0A000", WEIR_SCHEMA},     {"22003", WEIR_INVALID},   {"22P02", WEIR_INVALID},
        {"25006", WEIR_LOST},       {"25P02", WEIR_FAILED},    {"25P03", WEIR_LOST},
        {"26000", WEIR_CONFLICT},   {"58030", WEIR_FAILED},    {"XX000", WEIR_FAILED},
        {"P0001", WEIR_CONSTRAINT}, {"P0002", WEIR_FAILED},    {"99999", WEIR_FAILED},
        {"", WEIR_FAILED},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        enum weir_status status = weir_pg_status(known[i].code);

        if (status != known[i].status)
            weir_test_fail(__FILE__, __LINE__, "%s: got %s, want %s", known[i].code,
                           weir_status_name(status), weir_status_name(known[i].status));
    }
}

WEIR_TEST(pg_error, finds_the_code_in_a_verbose_text)
{
    char code[WEIR_SQLSTATE_SIZE];
    const char *message =
        weir_pg_find_sqlstate("connection to server at \"db\", port 5432 failed: FATAL:  "
                              "28P01: password wrong\nLOCATION:  auth_failed, auth.c:335",
                              code);

    check_str(code, "28P01");
    check_str(message, "password wrong\nLOCATION:  auth_failed, auth.c:335");
}

/* With several hosts each has its own line, and the last one was tried last. */
WEIR_TEST(pg_error, takes_the_last_code_of_several)
{
    char code[WEIR_SQLSTATE_SIZE];

    check(weir_pg_find_sqlstate("a: FATAL:  57P03: starting up\n"
                                "b: FATAL:  53300: too many clients",
                                code) != NULL);
    check_str(code, "53300");
}

WEIR_TEST(pg_error, finds_no_code_where_there_is_none)
{
    static const char *const texts[] = {
        "",
        "connection refused",
        "FATAL:  password wrong",
        "FATAL:  28p01: lower case",
        "FATAL:  28P01 no colon",
        "FATAL:  28P",
        "FATAL: 28P01: one space",
    };
    char code[WEIR_SQLSTATE_SIZE];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check(weir_pg_find_sqlstate(texts[i], code) == NULL);
        check_str(code, "");
    }
}
