/*
 * What a process of exec-stream: says. It comes in pieces, whose sizes the first byte
 * tells.
 */
#include <string.h>

#include "fuzz.h"
#include "sink/answer.h"
#include "sink/util/child.h"

#define ID "0123456789abcdef0123456789abcdef"

static bool begins(struct weir_str line, const char *word)
{
    size_t size = strlen(word);

    return line.size >= size && memcmp(line.data, word, size) == 0;
}

/* Only a line that says so is an acknowledgement. */
static void judge(struct weir_str line)
{
    struct weir_answer_line answer = weir_answer_read(line, ID);

    WEIR_ASSERT(memchr(line.data, '\n', line.size) == NULL);
    if (answer.kind == WEIR_ANSWER_NONSENSE)
        return;
    WEIR_ASSERT(memchr(line.data, '\0', line.size) == NULL);
    WEIR_ASSERT(begins(line, "ok") || begins(line, "retry") || begins(line, "reject"));
    WEIR_ASSERT((answer.outcome == WEIR_DONE) == begins(line, "ok"));
    WEIR_ASSERT(answer.id.size == 0 || answer.id.size == strlen(ID));
    if (answer.kind == WEIR_ANSWER_GIVEN) {
        WEIR_ASSERT(answer.id.size == 0 || begins(answer.id, ID));
        WEIR_ASSERT(answer.outcome != WEIR_DONE || answer.why.size == 0);
    } else {
        WEIR_ASSERT(answer.id.size > 0 && !begins(answer.id, ID));
    }
}

/* As much as there is room for and as has come; returns how much that was. */
static size_t hear(struct weir_child *child, const uint8_t *bytes, size_t size)
{
    size_t room = sizeof child->answer - child->answer_size;
    size_t taken = size < room ? size : room;

    memcpy(child->answer + child->answer_size, bytes, taken);
    child->answer_size += taken;
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct weir_child child = {.out = -1};
    char line[WEIR_CHILD_ANSWER_SIZE];
    size_t step, length;

    if (size == 0)
        return 0;
    step = (size_t)bytes[0] * 8 + 1;
    for (size_t at = 1; at < size && !weir_child_says_too_much(&child);) {
        at += hear(&child, bytes + at, size - at < step ? size - at : step);
        while (weir_child_take_answer(&child, line, &length)) {
            WEIR_ASSERT(length <= WEIR_CHILD_ANSWER_MAX);
            judge((struct weir_str){line, length});
        }
        WEIR_ASSERT(weir_child_says_too_much(&child) ==
                    (child.answer_size == sizeof child.answer));
    }
    return 0;
}

FUZZ_CORPUS(answer);
