/*
 * Tests of sink/sink.c: which sinks there are, and what is refused.
 */
#include "sink/sink.h"

#include "sink_fixture.h"

static void refuses(const char *url, enum weir_status status, const char *words)
{
    struct sink_fixture sink_fixture;

    sink_fixture_init(&sink_fixture);
    check_status(sink_fixture_try(&sink_fixture, url), status);
    check(sink_fixture.sink == NULL);
    if (strstr(sink_fixture.error.text, words) == NULL)
        weir_test_fail(__FILE__, __LINE__, "\"%s\" says: %s", url,
                       sink_fixture.error.text);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(sink, names_the_nearest_scheme)
{
    refuses("fiel:x", WEIR_INVALID, "did you mean \"file:PATH\"?");
    refuses("stdou:", WEIR_INVALID, "did you mean \"stdout:\"?");
    refuses("stdout", WEIR_INVALID, "did you mean \"stdout:\"?");
    refuses("exec-steam:cat", WEIR_INVALID, "did you mean \"exec-stream:COMMAND\"?");
    refuses("kafkaesque:x", WEIR_INVALID, "there are stdout:, file:PATH");
    refuses("", WEIR_INVALID, "there are stdout:, file:PATH");
    refuses(":", WEIR_INVALID, "there are stdout:, file:PATH");
    refuses("a-scheme-that-is-longer-than-any-other-one:x", WEIR_INVALID, "there are");
}

WEIR_TEST(sink, refuses_what_makes_no_sense)
{
    refuses("stdout:x", WEIR_INVALID, "nothing may follow the colon");
    refuses("file:", WEIR_INVALID, "a path must follow the colon");
    refuses("exec:", WEIR_INVALID, "a command must follow the colon");
    refuses("exec:  \t", WEIR_INVALID, "a command must follow the colon");
    refuses("exec-stream: ", WEIR_INVALID, "a command must follow the colon");
}

WEIR_TEST(sink, lists_its_kinds)
{
    size_t count = 0;

    for (; weir_sink_kind(count) != NULL; count++) {
        const struct weir_sink_ops *kind = weir_sink_kind(count);

        check_int(strncmp(kind->usage, kind->scheme, strlen(kind->scheme)), 0);
        check(kind->about[0] != '\0');
    }
    check_int(count, 4);
    check(weir_sink_kind(1000) == NULL);
}

WEIR_TEST(sink, remembers_how_the_last_delivery_went)
{
    struct weir_sink_health health;
    struct sink_fixture sink_fixture;

    sink_fixture_open(&sink_fixture,
                      "exec:test $WEIR_SEQ = 2 || { echo no >&2; exit 75; }");
    check_str(weir_sink_name(sink_fixture.sink),
              "exec:test $WEIR_SEQ = 2 || { echo no >&2; exit 75; }");
    weir_sink_read_health(sink_fixture.sink, &health);
    check_status(health.status, WEIR_OK);
    sink_fixture_fill(&sink_fixture, 1);
    check_int(sink_fixture_deliver(&sink_fixture), WEIR_RETRY);
    weir_sink_read_health(sink_fixture.sink, &health);
    check_status(health.status, WEIR_FAILED);
    check_str(health.text, "no");

    sink_fixture_fill(&sink_fixture, 1);
    sink_fixture.messages[0].seq = 2;
    check_int(sink_fixture_deliver(&sink_fixture), WEIR_DONE);
    weir_sink_read_health(sink_fixture.sink, &health);
    check_status(health.status, WEIR_OK);
    check_str(health.text, "");
    sink_fixture_close(&sink_fixture);
}

/* Opening fails cleanly at each allocation. */
WEIR_TEST(sink, opens_or_leaves_nothing)
{
    char path[SINK_FIXTURE_PATH_SIZE], url[SINK_FIXTURE_PATH_SIZE + 8];
    const char *urls[] = {"stdout:", "exec:true", "exec-stream:cat", url};

    make_path(path, "open");
    snprintf(url, sizeof url, "file:%s", path);
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        enum weir_status status = WEIR_NO_MEMORY;

        for (uint64_t n = 1; status != WEIR_OK; n++) {
            struct sink_fixture sink_fixture;

            sink_fixture_init(&sink_fixture);
            weir_faulty_heap_fail_at(&sink_fixture.heap, n);
            status = sink_fixture_try(&sink_fixture, urls[i]);
            if (status != WEIR_OK)
                check_status(status, WEIR_NO_MEMORY);
            sink_fixture_close(&sink_fixture);
        }
    }
}
