/*
 * answer.c - see answer.h.
 *
 * A byte that is no character ends no word: a line with a zero in it is nonsense, not
 * its beginning.
 */
#include "sink/answer.h"

#include <string.h>

#include "base/count.h"

enum { ID_SIZE = WEIR_UID_TEXT_SIZE - 1 };

static const struct {
    const char *word;
    enum weir_outcome outcome;
} WORDS[] = {
    {"ok", WEIR_DONE},
    {"retry", WEIR_RETRY},
    {"reject", WEIR_REJECT},
};

/* The first word of a text, which moves behind it and the spaces that follow. */
static struct weir_str take_word(struct weir_str *text)
{
    const char *space = text->size > 0 ? memchr(text->data, ' ', text->size) : NULL;
    struct weir_str word = *text;

    if (space != NULL)
        word.size = (size_t)(space - text->data);
    text->data += word.size;
    text->size -= word.size;
    while (text->size > 0 && text->data[0] == ' ') {
        text->data++;
        text->size--;
    }
    return word;
}

static bool is_id(struct weir_str word)
{
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];

        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return false;
    }
    return word.size == ID_SIZE;
}

/* Take the id, if there is one. False: it is another message's. */
static bool take_id(struct weir_str *text, const char *id, struct weir_str *found)
{
    struct weir_str rest = *text;
    struct weir_str word = take_word(&rest);

    if (!is_id(word))
        return true;
    *text = rest;
    *found = word;
    return weir_str_equal(word, weir_str(id));
}

/* "ok" is followed by nothing but an id. */
static bool is_whole(enum weir_outcome outcome, struct weir_str rest)
{
    return outcome != WEIR_DONE || rest.size == 0;
}

struct weir_answer_line weir_answer_read(struct weir_str line, const char *id)
{
    struct weir_answer_line answer = {.kind = WEIR_ANSWER_NONSENSE, .why = line};
    struct weir_str word;

    if (line.size == 0 || memchr(line.data, '\0', line.size) != NULL)
        return answer;
    word = take_word(&answer.why);
    for (size_t i = 0; i < COUNT_OF(WORDS); i++) {
        if (!weir_str_equal(word, weir_str(WORDS[i].word)))
            continue;
        answer.outcome = WORDS[i].outcome;
        if (!take_id(&answer.why, id, &answer.id))
            answer.kind = WEIR_ANSWER_FOREIGN;
        else if (is_whole(answer.outcome, answer.why))
            answer.kind = WEIR_ANSWER_GIVEN;
    }
    return answer;
}
