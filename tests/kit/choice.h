/*
 * choice.h - what the environment asks of a test: its long form, a seed, how many seeds.
 */
#ifndef WEIR_TEST_CHOICE_H
#define WEIR_TEST_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/* WEIR_LONG=1. */
bool choice_is_long(void);

/* Built with the address or the thread sanitizer, and so several times slower. */
bool choice_is_sanitized(void);

/* WEIR_SEED, or a random one; printed as a comment of the test. */
uint64_t choice_seed(void);

/* WEIR_SEEDS, or one of these. */
uint64_t choice_seeds(uint64_t short_form, uint64_t long_form);

#endif
