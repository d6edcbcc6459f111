/*
 * Tests of cli/option.c and of weir_command_parse(): a row per type, what is refused and
 * with which words, and that a refused value changes nothing.
 */
#include "cli/option.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "db/clock.h"
#include "kit/test.h"
#include "weir/time.h"

enum colour { RED, GREEN, BLUE, COLOUR_COUNT };

struct pair {
    const char *name;
    const char *value;
};

struct call {
    bool force;
    const char *text;
    struct pair pairs[2];
    size_t pair_count;
    int32_t small;
    uint32_t count;
    int64_t large;
    size_t size;
    int64_t wait_ns;
    int64_t wait_ms;
    int64_t since_us;
    enum colour colour;
    enum colour shade;
    uint32_t colours;
    char letter;
    const char *lanes[2];
    size_t lane_count;
    bool named;
    uint32_t bits;
    const char *queue;
    const char *more[3];
    size_t more_count;
    const char *maybe;
};

static const char *colour_at(size_t index)
{
    static const char *const NAMES[] = {"red", "green", "blue"};

    return NAMES[index];
}

static const struct weir_option_words COLOURS = {.at = colour_at, .count = COLOUR_COUNT};
static const struct weir_option_words NAMED_COLOURS = {
    .at = colour_at,
    .count = COLOUR_COUNT,
    .noun = "colour",
};

static int parse_letter(const struct weir_command *command,
                        const struct weir_command_option *option, char *word, void *out)
{
    if (strlen(word) != 1)
        return weir_command_misuse(command, "--%s has %zu letters", option->name,
                                   strlen(word));
    *(char *)out = word[0];
    return WEIR_EXIT_DONE;
}

static const struct weir_command_option OPTIONS[] = {
    WEIR_OPTION('f', "force", NULL, "", WEIR_AS_FLAG(struct call, force)),
    WEIR_OPTION('t', "text", "T", "", WEIR_AS_TEXT(struct call, text),
                WEIR_ALSO_SET(struct call, named)),
    WEIR_OPTION(0, "pair", "K=V", "",
                WEIR_AS_PAIR(struct call, pairs[0].name, pairs[0].value, "a=b"),
                WEIR_IN_LIST(struct call, pairs, pair_count, "pairs")),
    WEIR_OPTION(0, "small", "N", "", WEIR_AS_NUMBER(struct call, small, 1, 64),
                WEIR_ALSO_BITS(struct call, bits, 4)),
    WEIR_OPTION(0, "count", "N", "", WEIR_AS_NUMBER(struct call, count, 0, UINT32_MAX)),
    WEIR_OPTION(0, "large", "N", "", WEIR_AS_NUMBER(struct call, large, 0, INT64_MAX)),
    WEIR_OPTION(0, "size", "N", "", WEIR_AS_NUMBER(struct call, size, 1, 1000)),
    WEIR_OPTION(0, "wait-ns", "D", "",
                WEIR_AS_NS(struct call, wait_ns, WEIR_MILLISECONDS(1), WEIR_SECONDS(90))),
    WEIR_OPTION(0, "wait-ms", "D", "", WEIR_AS_MS(struct call, wait_ms, 1, 3600000)),
    WEIR_OPTION(0, "since", "D", "", WEIR_AS_AGO(struct call, since_us)),
    WEIR_OPTION(0, "colour", "red|green|blue", "",
                WEIR_AS_CHOICE(struct call, colour, COLOURS)),
    WEIR_OPTION(0, "shade", "SHADE", "", WEIR_AS_CHOICE(struct call, shade, COLOURS)),
    WEIR_OPTION(0, "any-of", "COLOUR", "",
                WEIR_AS_CHOICES(struct call, colours, NAMED_COLOURS)),
    WEIR_OPTION(0, "letter", "L", "",
                WEIR_AS_PARSED(struct call, letter, char, parse_letter)),
    WEIR_OPTION('l', "lane", "LANE", "", WEIR_AS_TEXT(struct call, lanes[0]),
                WEIR_IN_SET(struct call, lanes, lane_count, "lanes")),
};

static const struct weir_command_option OPERANDS[] = {
    WEIR_OPERAND("QUEUE", WEIR_AS_TEXT(struct call, queue)),
    WEIR_OPERAND("WORD", WEIR_AS_TEXT(struct call, more[0]), .missing = "what else?",
                 WEIR_IN_LIST(struct call, more, more_count, "words")),
};
static const struct weir_command_option MAYBE[] = {
    WEIR_OPERAND("MAYBE", WEIR_AS_TEXT(struct call, maybe), .optional = true),
};

static const struct weir_command TWO_OPERANDS = {
    .name = "sample",
    .usage = "QUEUE WORD...",
    .details = "",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(OPERANDS),
};
static const struct weir_command ONE_OPERAND = {
    .name = "sample",
    .usage = "[MAYBE]",
    .details = "",
    WEIR_OPTIONS(OPTIONS),
    WEIR_OPERANDS(MAYBE),
};

/* ---- a command line ---------------------------------------------------------------- */

enum { WORDS_MAX = 16, ERROR_SIZE = 512 };

static char complaint[ERROR_SIZE]; /* of the last line, on standard error */

static void listen(int ends[2], int *before)
{
    check(pipe(ends) == 0);
    fflush(stderr);
    *before = dup(STDERR_FILENO);
    check(dup2(ends[1], STDERR_FILENO) >= 0);
    close(ends[1]);
}

static void hear(const int ends[2], int before)
{
    ssize_t size;

    fflush(stderr);
    check(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    size = read(ends[0], complaint, sizeof complaint - 1);
    close(ends[0]);
    complaint[size > 0 ? size : 0] = '\0';
}

/* `line` is cut at its blanks, and stays where it is. */
static int parse(const struct weir_command *command, char *line, struct call *out)
{
    char name[] = "sample";
    char *argv[WORDS_MAX + 1] = {name};
    int ends[2], before, code, argc = 1;

    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        check(argc < WORDS_MAX);
        argv[argc++] = word;
    }
    optind = 0;
    listen(ends, &before);
    code = weir_command_parse(command, argc, argv, out, sizeof *out);
    hear(ends, before);
    return code;
}

/* Two calls may differ in the padding: start from the same bytes. */
static void refuses(char *line, const char *wanted)
{
    struct call before, after;
    char expected[ERROR_SIZE];

    memset(&before, 0x2a, sizeof before);
    before.pair_count = before.lane_count = before.more_count = 0;
    memcpy(&after, &before, sizeof after);
    snprintf(expected, sizeof expected, "weir sample: %s; see 'weir sample --help'\n",
             wanted);

    check_int(parse(&ONE_OPERAND, line, &after), WEIR_EXIT_MISUSE);

    check_str(complaint, expected);
    check(memcmp(&before, &after, sizeof before) == 0);
}

/* String literals are constant: a line needs memory of its own. */
#define LINE(text) ((char[]){text})

/* ---- values ------------------------------------------------------------------------ */

WEIR_TEST(option, stores_each_type_where_the_row_says)
{
    char line[] = "-f --text hello --pair a=b=c --small 64 --count 4294967295 "
                  "--large 9223372036854775807";
    char rest[] = "--size 7 --wait-ns 90s --wait-ms 2min --colour blue --shade green "
                  "--letter x --lane one";
    struct call call = {.force = false};

    check_int(parse(&ONE_OPERAND, line, &call), -1);
    check_int(parse(&ONE_OPERAND, rest, &call), -1);

    check(call.force);
    check_str(call.text, "hello");
    check_int(call.pair_count, 1);
    check_str(call.pairs[0].name, "a");
    check_str(call.pairs[0].value, "b=c");
    check_int(call.small, 64);
    check_int(call.count, UINT32_MAX);
    check_int(call.large, INT64_MAX);
    check_int(call.size, 7);
    check_int(call.wait_ns, WEIR_SECONDS(90));
    check_int(call.wait_ms, 120000);
    check_int(call.colour, BLUE);
    check_int(call.shade, GREEN);
    check_int(call.letter, 'x');
    check_int(call.lane_count, 1);
    check_str(call.lanes[0], "one");
    check_str(complaint, "");
}

WEIR_TEST(option, leaves_the_neighbours_of_a_member_alone)
{
    struct call call = {.force = false};

    call.pair_count = SIZE_MAX;
    call.count = 77;
    check_int(parse(&ONE_OPERAND, LINE("--small 3"), &call), -1);

    check_int(call.small, 3);
    check(call.pair_count == SIZE_MAX);
    check_int(call.count, 77);
}

WEIR_TEST(option, notes_beside_the_value_that_it_was_given)
{
    struct call call = {.bits = 1};

    check_int(parse(&ONE_OPERAND, LINE("--text a --small 2"), &call), -1);

    check(call.named);
    check_int(call.bits, 1 | 4);
}

WEIR_TEST(option, counts_a_duration_back_from_now)
{
    struct call call = {.since_us = 0};
    int64_t before_us = weir_clock_wall_us();
    int64_t after_us;

    check_int(parse(&ONE_OPERAND, LINE("--since 2h"), &call), -1);

    after_us = weir_clock_wall_us();
    check(call.since_us >= before_us - WEIR_HOURS(2) / 1000);
    check(call.since_us <= after_us - WEIR_HOURS(2) / 1000);
}

WEIR_TEST(option, collects_choices_as_bits)
{
    struct call call = {.colours = 0};

    check_int(parse(&ONE_OPERAND, LINE("--any-of blue --any-of red"), &call), -1);

    check_int(call.colours, 1U << BLUE | 1U << RED);
}

/* ---- refusals ---------------------------------------------------------------------- */

WEIR_TEST(option, names_the_limits_of_a_number)
{
    refuses(LINE("--small 0"), "--small is '0', must be a whole number from 1 to 64");
    refuses(LINE("--small 65"), "--small is '65', must be a whole number from 1 to 64");
    refuses(LINE("--small -1"), "--small is '-1', must be a whole number from 1 to 64");
    refuses(LINE("--count 4294967296"),
            "--count is '4294967296', must be a whole number from 0 to 4294967295");
    refuses(LINE("--large 9223372036854775808"),
            "--large is '9223372036854775808', must be a whole number from 0 to "
            "9223372036854775807");
    refuses(LINE("--size 7x"), "--size is '7x', must be a whole number from 1 to 1000");
}

WEIR_TEST(option, names_the_limits_of_a_duration)
{
    refuses(LINE("--wait-ns 91s"),
            "--wait-ns is '91s', must be a duration from 1 ms to 90 s, as in 500ms, 30s "
            "or 5min");
    refuses(LINE("--wait-ms 0"),
            "--wait-ms is '0', must be a duration from 1 ms to 1 h, as in 500ms, 30s or "
            "5min");
    refuses(LINE("--since x"),
            "--since is 'x', must be a duration from 0 to 366 d, as in 500ms, 30s or "
            "5min");
}

WEIR_TEST(option, names_the_words_of_a_choice_or_the_nearest)
{
    refuses(LINE("--colour yellow"), "--colour is 'yellow', must be red, green or blue");
    refuses(LINE("--colour gren"),
            "--colour is 'gren', must be red, green or blue, did you mean 'green'?");
    refuses(LINE("--shade yellow"), "--shade is 'yellow', which is not known");
    refuses(LINE("--shade gren"),
            "--shade is 'gren', which is not known, did you mean 'green'?");
    refuses(LINE("--any-of yellow"), "--any-of is 'yellow', which is no colour");
    refuses(LINE("--any-of gren"), "--any-of is 'gren', did you mean 'green'?");
}

WEIR_TEST(option, refuses_half_a_pair_and_what_its_parser_refuses)
{
    refuses(LINE("--pair ab"), "--pair is 'ab', must be K=V, as in a=b");
    refuses(LINE("--letter xy"), "--letter has 2 letters");
}

WEIR_TEST(option, refuses_what_is_no_option_with_the_nearest_one)
{
    refuses(LINE("--smal"), "option '--small' needs a value N");
    refuses(LINE("--smalll 1"), "unknown option '--smalll', did you mean '--small'?");
    refuses(LINE("-z"), "unknown option '-z'");
    refuses(LINE("--force=1"), "option '--force' takes no value");
    refuses(LINE("-l"), "option '--lane' needs a value LANE");
}

WEIR_TEST(option, ends_a_list_where_its_array_ends)
{
    struct call call = {.lane_count = 0};

    check_int(parse(&ONE_OPERAND, LINE("-l a -l b -l c"), &call), WEIR_EXIT_MISUSE);

    check_str(complaint, "weir sample: more than 2 lanes; see 'weir sample --help'\n");
    check_int(call.lane_count, 2);
    check_str(call.lanes[1], "b");
}

WEIR_TEST(option, refuses_a_word_twice_in_a_set)
{
    struct call call = {.lane_count = 0};

    check_int(parse(&ONE_OPERAND, LINE("-l a -l a"), &call), WEIR_EXIT_MISUSE);

    check_str(complaint,
              "weir sample: --lane 'a' is given twice; see 'weir sample --help'\n");
    check_int(call.lane_count, 1);
}

/* ---- operands ---------------------------------------------------------------------- */

WEIR_TEST(operand, is_taken_in_order_and_a_list_takes_the_rest)
{
    struct call call = {.more_count = 0};

    check_int(parse(&TWO_OPERANDS, LINE("q -f a b"), &call), -1);

    check_str(call.queue, "q");
    check_int(call.more_count, 2);
    check_str(call.more[0], "a");
    check_str(call.more[1], "b");
}

WEIR_TEST(operand, that_is_missing_is_named)
{
    struct call call = {.more_count = 0};

    check_int(parse(&TWO_OPERANDS, LINE(""), &call), WEIR_EXIT_MISUSE);
    check_str(complaint, "weir sample: no QUEUE given; see 'weir sample --help'\n");
    check_int(parse(&TWO_OPERANDS, LINE("q"), &call), WEIR_EXIT_MISUSE);
    check_str(complaint, "weir sample: what else?; see 'weir sample --help'\n");
}

WEIR_TEST(operand, may_be_optional_but_none_may_be_left_over)
{
    struct call call = {.maybe = NULL};

    check_int(parse(&ONE_OPERAND, LINE(""), &call), -1);
    check(call.maybe == NULL);
    check_int(parse(&ONE_OPERAND, LINE("a"), &call), -1);
    check_str(call.maybe, "a");
    check_int(parse(&ONE_OPERAND, LINE("a b"), &call), WEIR_EXIT_MISUSE);
    check_str(complaint,
              "weir sample: unexpected argument 'b'; see 'weir sample --help'\n");
}

/* ---- fields of JSON ---------------------------------------------------------------- */

static const struct weir_command_option *row(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(OPTIONS); i++) {
        if (strcmp(OPTIONS[i].name, name) == 0)
            return &OPTIONS[i];
    }
    return NULL;
}

WEIR_TEST(field, is_called_as_its_option_or_as_the_list)
{
    char field[WEIR_OPTION_FIELD_SIZE];

    check_str(weir_option_field(row("wait-ms"), field), "wait_ms");
    check_str(weir_option_field(row("lane"), field), "lanes");
}

WEIR_TEST(field, of_a_flag_is_true_or_false)
{
    struct call call = {.force = false};
    int ends[2], before, code;

    check_int(weir_option_take_field(row("force"), &ONE_OPERAND, LINE("false"), &call),
              WEIR_EXIT_DONE);
    check(!call.force);
    check_int(weir_option_take_field(row("force"), &ONE_OPERAND, LINE("true"), &call),
              WEIR_EXIT_DONE);
    check(call.force);
    listen(ends, &before);
    code = weir_option_take_field(row("force"), &ONE_OPERAND, LINE("1"), &call);
    hear(ends, before);
    check_int(code, WEIR_EXIT_MISUSE);
    check_str(complaint, "weir sample: force is '1', must be true or false; see 'weir "
                         "sample --help'\n");
}

WEIR_TEST(field, of_another_type_is_read_as_its_option)
{
    struct call call = {.wait_ms = 0};

    check_int(weir_option_take_field(row("wait-ms"), &ONE_OPERAND, LINE("5s"), &call),
              WEIR_EXIT_DONE);

    check_int(call.wait_ms, 5000);
}

WEIR_TEST(field, of_a_pair_is_taken_in_two_texts)
{
    struct call call = {.pair_count = 0};
    int ends[2], before, code;

    check_int(weir_option_take_pair(row("pair"), &ONE_OPERAND, "a=b", "c=d", &call),
              WEIR_EXIT_DONE);
    check_int(weir_option_take_pair(row("pair"), &ONE_OPERAND, "e", "f", &call),
              WEIR_EXIT_DONE);
    listen(ends, &before);
    code = weir_option_take_pair(row("pair"), &ONE_OPERAND, "g", "h", &call);
    hear(ends, before);

    check_int(code, WEIR_EXIT_MISUSE);
    check_int(call.pair_count, 2);
    check_str(call.pairs[0].name, "a=b");
    check_str(call.pairs[0].value, "c=d");
    check_str(call.pairs[1].name, "e");
}
