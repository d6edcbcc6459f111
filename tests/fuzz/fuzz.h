/*
 * fuzz.h - what a harness for libFuzzer begins with.
 *
 * A harness is a file test_NAME.c that defines LLVMFuzzerTestOneInput(): it reads bytes
 * as one of our parsers would get them from outside, and asserts what must hold
 * whatever they are. It is built twice:
 *
 *   every preset with tests   a test program that runs the files of corpus/NAME through
 *                             it
 *   preset fuzz               also build/fuzz/fuzz/NAME, which makes inputs of its own
 *
 * An input that was found once belongs into the corpus, with the repair.
 */
#ifndef WEIR_TEST_FUZZ_H
#define WEIR_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "kit/test.h"

/* Returns 0. The bytes are the harness's for the call only. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Run all files of corpus/NAME; there must be some. */
void fuzz_replay(const char *name);

#ifdef WEIR_FUZZ
#define FUZZ_CORPUS(name) struct weir_test
#else
#define FUZZ_CORPUS(name)                                                                \
    WEIR_TEST(corpus, of_##name##_is_replayed)                                           \
    {                                                                                    \
        fuzz_replay(#name);                                                              \
    }                                                                                    \
    struct weir_test
#endif

#endif
