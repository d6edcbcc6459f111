/*
 * test_problem.c - what a client gets in place of an answer.
 */
#include "server/api/problem.h"

#include <string.h>

#include "base/json_read.h"
#include "kit/test.h"
#include "weir/heap.h"

enum { TEXT_SIZE_MAX = 16 << 10 };

static struct weir_buf text;

static const char *json_of(const struct weir_problem *problem)
{
    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_problem_append_json(problem, "r-1", &text);
    return weir_buf_text(&text);
}

WEIR_TEST(problem, has_the_members_of_rfc_9457_in_their_order)
{
    struct weir_problem problem;

    weir_problem_set(&problem, WEIR_PROBLEM_NOT_FOUND, "there is no queue '%s'", "a");

    check_str(json_of(&problem),
              "{\"type\":\"urn:weir:not_found\",\"title\":\"There is no such thing.\","
              "\"status\":404,\"detail\":\"there is no queue 'a'\",\"instance\":\"r-1\","
              "\"code\":\"not_found\",\"class\":\"reject\"}");
    weir_buf_fini(&text);
}

WEIR_TEST(problem, has_what_applies_and_nothing_else)
{
    struct weir_problem problem;

    weir_problem_set(&problem, WEIR_PROBLEM_OUT_OF_RANGE, "too much");
    strcpy(problem.field, "limit");
    strcpy(problem.nearest, "limits");
    problem.limit = 1000;
    problem.retry_after_seconds = 2;
    problem.repeat = WEIR_REPEAT_SAFE;

    check(
        strstr(json_of(&problem),
               "\"class\":\"reject\",\"field\":\"limit\",\"limit\":1000,"
               "\"nearest\":\"limits\",\"retry_after_seconds\":2,\"repeat\":\"safe\"}") !=
        NULL);
    weir_buf_fini(&text);
}

WEIR_TEST(problem, of_a_status_of_the_library_has_its_text)
{
    struct weir_problem problem;
    struct weir_error error = {0};

    weir_error_set(&error, WEIR_LOCKED, "table 'x' is locked");
    weir_problem_set_error(&problem, &error);

    check_int(problem.code, WEIR_PROBLEM_LOCKED);
    check_int(weir_problem_status(problem.code), 503);
    check_str(problem.detail, "table 'x' is locked");
}

WEIR_TEST(problem, says_to_look_first_after_a_commit_in_doubt)
{
    struct weir_problem problem;
    struct weir_error error = {0};

    weir_error_set(&error, WEIR_IN_DOUBT, "the reply was lost");
    weir_problem_set_error(&problem, &error);

    check_int(weir_problem_status(problem.code), 500);
    check_int(problem.repeat, WEIR_REPEAT_LOOK_FIRST);
}

/* As the specification pairs them. */
WEIR_TEST(problem, gives_every_status_its_http_status)
{
    static const struct {
        enum weir_status status;
        unsigned http;
        const char *code;
    } PAIRS[] = {
        {WEIR_INVALID, 400, "invalid"},     {WEIR_OUT_OF_RANGE, 400, "out_of_range"},
        {WEIR_TOO_DEEP, 400, "too_deep"},   {WEIR_TOO_LARGE, 413, "too_large"},
        {WEIR_NOT_FOUND, 404, "not_found"}, {WEIR_NO_ROW, 404, "not_completed"},
        {WEIR_EXISTS, 409, "exists"},       {WEIR_CONSTRAINT, 409, "constraint"},
        {WEIR_MISMATCH, 409, "mismatch"},   {WEIR_FOREIGN, 409, "foreign"},
        {WEIR_CYCLE, 409, "cycle"},         {WEIR_STALE, 409, "stale"},
        {WEIR_FENCED, 409, "fenced"},       {WEIR_FULL, 429, "full"},
        {WEIR_DISK_FULL, 507, "disk_full"}, {WEIR_BUSY, 503, "busy"},
        {WEIR_LOCKED, 503, "locked"},       {WEIR_CONFLICT, 503, "conflict"},
        {WEIR_TIMEOUT, 503, "timeout"},     {WEIR_LOST, 503, "lost"},
        {WEIR_FAILED, 503, "failed"},       {WEIR_PANICKED, 503, "panicked"},
        {WEIR_NO_MEMORY, 503, "no_memory"}, {WEIR_SYSTEM, 503, "system"},
        {WEIR_IN_DOUBT, 500, "in_doubt"},   {WEIR_DENIED, 500, "database_denied"},
        {WEIR_SCHEMA, 503, "schema"},       {WEIR_CLOSED, 503, "draining"},
        {WEIR_CANCELLED, 503, "draining"},
    };
    char name[WEIR_PROBLEM_WORD_SIZE];

    check_int(sizeof PAIRS / sizeof PAIRS[0], WEIR_STATUS_COUNT - 1); /* but for OK */
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        enum weir_problem_code code = weir_problem_code_of(PAIRS[i].status);

        check_int(weir_problem_status(code), PAIRS[i].http);
        check_str(weir_problem_code_name(code, name), PAIRS[i].code);
    }
}

WEIR_TEST(problem, is_json_whatever_its_text_is)
{
    struct weir_problem problem;
    struct weir_json_rules rules = {.object = true, .heap = weir_heap_system()};

    weir_problem_set(&problem, WEIR_PROBLEM_INVALID, "\xff \" \\ \n");

    json_of(&problem);
    check_status(weir_json_check(weir_buf_get(&text), &rules, NULL), WEIR_OK);
    weir_buf_fini(&text);
}

WEIR_TEST(problem, describes_each_of_its_members)
{
    struct weir_problem problem;
    struct weir_json_walk walk;
    struct weir_json_item item;
    struct weir_buf schema;

    weir_problem_set(&problem, WEIR_PROBLEM_OUT_OF_RANGE, "too much");
    strcpy(problem.field, "a");
    strcpy(problem.nearest, "b");
    problem.limit = 1;
    problem.retry_after_seconds = 1;
    problem.repeat = WEIR_REPEAT_SAFE;
    weir_buf_init(&schema, weir_heap_system(), TEXT_SIZE_MAX);
    weir_problem_append_schema(&schema);

    json_of(&problem);
    weir_json_walk_begin(&walk, weir_buf_get(&text));
    while (weir_json_walk_next(&walk, &item)) {
        char name[64] = "";

        memcpy(name, item.name.data, item.name.size);
        strcat(name, ":{");
        check(strstr(weir_buf_text(&schema), name) != NULL);
    }
    weir_buf_fini(&schema);
    weir_buf_fini(&text);
}
