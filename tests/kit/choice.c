/*
 * choice.c - see choice.h.
 */
#include "kit/choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/clock.h"

bool choice_is_long(void)
{
    const char *wish = getenv("WEIR_LONG");

    return wish != NULL && strcmp(wish, "1") == 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

bool choice_is_sanitized(void)
{
    return SANITIZED;
}

uint64_t choice_seed(void)
{
    const char *text = getenv("WEIR_SEED");
    uint64_t seed =
        text != NULL ? strtoull(text, NULL, 10) : weir_clock_random() % 1000000;

    printf("# WEIR_SEED=%" PRIu64 "\n", seed);
    (void)fflush(stdout);
    return seed;
}

uint64_t choice_seeds(uint64_t short_form, uint64_t long_form)
{
    const char *number = getenv("WEIR_SEEDS");

    if (number != NULL)
        return strtoull(number, NULL, 10);
    return choice_is_long() ? long_form : short_form;
}
