/*
 * Tests of cli/flow/flow_plan.c: what is to be added to a flow, as JSON.
 *
 * What is refused is told on standard error, which is closed here; the words are in
 * tests/cli/test_flow_graph.sh.
 */
#include "cli/flow/flow_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/test.h"

static int read_plan(struct weir_flow_plan *plan, const char *text, size_t size)
{
    char *copy =
        malloc(size > 0 ? size : 1); /* so that what is read beyond it is noticed */
    int code;

    check(copy != NULL);
    memcpy(copy, text, size);
    weir_flow_plan_init(plan, &weir_cli_flow_add, 0);
    code = weir_flow_plan_read(plan, (struct weir_str){copy, size});
    free(copy);
    return code;
}

static int code_of(const char *text)
{
    struct weir_flow_plan plan;
    int code;

    check(freopen("/dev/null", "w", stderr) != NULL);
    code = read_plan(&plan, text, strlen(text));
    weir_flow_plan_fini(&plan);
    return code;
}

WEIR_TEST(plan, has_what_the_options_of_a_draft_are_called)
{
    static const char TEXT[] =
        "{\"name\": \"a\", \"lane\": \"l\", \"kind\": \"k\", \"priority\": 7, "
        "\"retries\": 2,"
        " \"attempt_timeout\": \"5s\", \"delay\": \"1s\", \"namespace\": \"n\","
        " \"key\": null, \"input\": {\"x\": [1]}, \"tags\": {\"a.b\": \"c\"},"
        " \"capabilities\": [\"gpu\", \"ssd\"], \"budgets\": [\"cents\"]}\n";
    struct weir_flow_plan plan;
    const struct weir_execution_draft *draft;

    check_int(read_plan(&plan, TEXT, strlen(TEXT)), WEIR_EXIT_DONE);

    check_int(weir_flow_plan_member_count(&plan), 1);
    check_str(weir_flow_plan_member(&plan, 0)->name, "a");
    draft = &weir_flow_plan_member(&plan, 0)->drafting->draft;
    check_str(draft->lane, "l");
    check_str(draft->kind, "k");
    check_str(draft->name_space, "n");
    check_int(draft->priority, 7);
    check_int(draft->policy->retries_max, 2);
    check_int(draft->policy->attempt_timeout_ms, 5000);
    check_int(draft->delay_ms, 1000);
    check(draft->idempotency_key == NULL);
    check_int(draft->input_size, strlen("{\"x\": [1]}"));
    check(memcmp(draft->input, "{\"x\": [1]}", draft->input_size) == 0);
    check_int(draft->tag_count, 1);
    check_str(draft->tags[0].key, "a.b");
    check_str(draft->tags[0].value, "c");
    check_int(draft->capability_count, 2);
    check_str(draft->capabilities[1], "ssd");
    check_int(draft->budget_count, 1);
    weir_flow_plan_fini(&plan);
}

WEIR_TEST(plan, is_lines_or_one_object_over_lines)
{
    check_int(
        code_of(
            "{\"lane\": \"l\", \"kind\": \"k\"}\n\n{\"from\": \"a\", \"to\": \"b\"}\n"),
        WEIR_EXIT_DONE);
    check_int(
        code_of("{\"members\": [\n {\"lane\": \"l\",\n \"kind\": \"k\"}],\n \"joins\": "
                "[{\"to\": \"x\", \"join\": \"any\"}]}"),
        WEIR_EXIT_DONE);
    check_int(code_of(""), WEIR_EXIT_DONE);
    check_int(code_of("{\"lane\": \"l\",\n \"kind\": \"k\"}\n{\"lane\": \"l\"}"),
              WEIR_EXIT_MISUSE);
}

WEIR_TEST(plan, refuses_what_is_something_else)
{
    static const char *const BAD[] = {
        "[]",
        "{}",
        "{\"members\": {}}",
        "{\"members\": [1]}",
        "{\"members\": [], \"edge\": []}",
        "{\"edges\": [{\"from\": \"a\"}]}",
        "{\"joins\": [{\"join\": \"all\"}]}",
        "{\"to\": \"x\", \"join\": \"quorum:\"}",
        "{\"to\": \"x\", \"join\": \"quorum:99999999999999999999\"}",
        "{\"lane\": \"l\", \"kind\": \"k\", \"tag\": \"a.b=c\"}",
        "{\"lane\": \"l\", \"kind\": \"k\", \"pass_data\": true}",
        "{\"lane\": \"l\", \"kind\": \"k\", \"id\": \"x\"}",
        "{\"lane\": 7, \"kind\": \"\"}",
    };

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        check_int(code_of(BAD[i]), WEIR_EXIT_MISUSE);
}

/* A plan with some of its bytes changed is read, or refused, and nothing else happens. */
WEIR_TEST(plan, may_be_any_bytes)
{
    static const char PLAN[] =
        "{\"name\": \"a\", \"lane\": \"l\", \"kind\": \"k\", \"tags\": {\"a.b\": "
        "\"c\\u0041\"}}\n"
        "{\"name\": \"b\", \"lane\": \"l\", \"kind\": \"k\", \"after\": [\"a\", \"x\"],"
        " \"join\": \"quorum:1\", \"capabilities\": [\"gpu\"], \"input\": [{\"y\": "
        "\"]\"}]}\n"
        "{\"from\": \"a\", \"to\": \"b\", \"pass_data\": true}\n";
    static const char BYTES[] = "\"{}[]:,\\ \nntu0\xff";
    struct weir_flow_plan plan;
    char text[sizeof PLAN];

    check(freopen("/dev/null", "w", stderr) != NULL);
    for (unsigned seed = 1; seed <= 3000; seed++) {
        size_t size = sizeof PLAN - 1;
        int code;

        srand(seed);
        memcpy(text, PLAN, sizeof PLAN);
        for (int changes = rand() % 4; changes >= 0; changes--)
            text[(size_t)rand() % size] = BYTES[(size_t)rand() % (sizeof BYTES - 1)];
        if (rand() % 3 == 0)
            size = (size_t)rand() % size;
        code = read_plan(&plan, text, size);
        check(code == WEIR_EXIT_DONE || code == WEIR_EXIT_MISUSE);
        weir_flow_plan_fini(&plan);
    }
}
