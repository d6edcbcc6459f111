/*
 * noun.h - the word behind a count: "1 message", "2 messages", "0 messages".
 *
 *   printf("%" PRId64 " %s\n", count, WEIR_NOUN(count, "message", "messages"));
 *
 * A macro, so that the count may have any integer type. script/check/plurals finds
 * texts that need it.
 */
#ifndef WEIR_BASE_NOUN_H
#define WEIR_BASE_NOUN_H

#define WEIR_NOUN(count, one, many) ((count) == 1 ? (one) : (many))

/*
 * For code that counts things whose noun comes from its caller: {"message", "messages"}.
 * Texts are borrowed.
 */
struct weir_noun {
    const char *one;
    const char *many;
};

#endif
