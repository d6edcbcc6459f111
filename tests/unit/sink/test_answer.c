/*
 * Tests of sink/answer.c.
 */
#include "kit/test.h"
#include "sink/answer.h"

#define ID "0123456789abcdef0123456789abcdef"
#define OTHER "f123456789abcdef0123456789abcdef"

static struct weir_answer_line read_answer(const char *line)
{
    return weir_answer_read(weir_str(line), ID);
}

static void gives(const char *line, enum weir_outcome outcome, const char *why)
{
    struct weir_answer_line answer = read_answer(line);

    check_int(answer.kind, WEIR_ANSWER_GIVEN);
    check_int(answer.outcome, outcome);
    check(weir_str_equal(answer.why, weir_str(why)));
}

WEIR_TEST(answer, is_a_word_and_a_reason)
{
    gives("ok", WEIR_DONE, "");
    gives("retry", WEIR_RETRY, "");
    gives("retry   not  now ", WEIR_RETRY, "not  now ");
    gives("reject bad thing", WEIR_REJECT, "bad thing");
}

WEIR_TEST(answer, may_repeat_the_id)
{
    gives("ok " ID, WEIR_DONE, "");
    gives("retry " ID, WEIR_RETRY, "");
    gives("retry " ID " not now", WEIR_RETRY, "not now");
    gives("reject  " ID "  bad", WEIR_REJECT, "bad");
}

WEIR_TEST(answer, of_another_message_is_told_apart)
{
    static const char *const LINES[] = {"ok " OTHER, "retry " OTHER " why",
                                        "reject " OTHER};

    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        struct weir_answer_line answer = read_answer(LINES[i]);

        check_int(answer.kind, WEIR_ANSWER_FOREIGN);
        check(weir_str_equal(answer.id, weir_str(OTHER)));
    }
}

WEIR_TEST(answer, with_a_reason_that_only_looks_like_an_id_is_for_this_message)
{
    gives("retry " ID "0", WEIR_RETRY, ID "0");
    gives("retry 0123456789ABCDEF0123456789ABCDEF", WEIR_RETRY,
          "0123456789ABCDEF0123456789ABCDEF");
}

WEIR_TEST(answer, is_nonsense_otherwise)
{
    static const char *const LINES[] = {
        "", " ok", "okay", "OK", "ok\r", "ok now", "ok\t", "retrying", "ok " ID " " ID};

    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++)
        check_int(read_answer(LINES[i]).kind, WEIR_ANSWER_NONSENSE);
    check_int(weir_answer_read((struct weir_str){"ok\0", 3}, ID).kind,
              WEIR_ANSWER_NONSENSE);
    check_int(weir_answer_read((struct weir_str){"retry \0", 7}, ID).kind,
              WEIR_ANSWER_NONSENSE);
    check_int(weir_answer_read((struct weir_str){NULL, 0}, ID).kind,
              WEIR_ANSWER_NONSENSE);
}
