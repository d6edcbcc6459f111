/*
 * Tests of cli/execution/execution_words.c: the token of a claim. What is none is in
 * tests/cli/test_flow.sh.
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "cli/execution/execution_words.h"
#include "kit/test.h"

static struct weir_claim claim_of(uint16_t partition, int64_t no, int64_t epoch)
{
    struct weir_claim claim = {.no = no, .epoch = epoch};

    claim.id.partition = partition;
    memset(claim.id.uuid, 0xab, sizeof claim.id.uuid);
    return claim;
}

static void comes_back(const struct weir_claim *claim)
{
    char token[WEIR_EXECUTION_TOKEN_SIZE];
    struct weir_claim found;

    check_int(weir_execution_take_token(&weir_cli_execution_renew,
                                        weir_execution_token_format(claim, token),
                                        &found),
              WEIR_EXIT_DONE);
    check_int(found.id.partition, claim->id.partition);
    check(memcmp(found.id.uuid, claim->id.uuid, sizeof found.id.uuid) == 0);
    check(found.no == claim->no);
    check(found.epoch == claim->epoch);
}

WEIR_TEST(token, is_id_row_and_epoch)
{
    const struct weir_claim claim = claim_of(7, 42, 3);
    char token[WEIR_EXECUTION_TOKEN_SIZE];

    check_str(weir_execution_token_format(&claim, token),
              "7-abababab-abab-abab-abab-abababababab/42/3");
}

WEIR_TEST(token, may_have_an_id_of_the_old_form)
{
    static const char TOKEN[] =
        "{fp:65535}:abababab-abab-abab-abab-abababababab/9223372036854775807/3";
    struct weir_claim found;

    check_int(weir_execution_take_token(&weir_cli_execution_renew, TOKEN, &found),
              WEIR_EXIT_DONE);
    check_int(found.id.partition, UINT16_MAX);
    check(found.no == INT64_MAX);
    check(found.epoch == 3);
}

WEIR_TEST(execution, is_told_from_flows_and_from_tokens_of_waitpoints)
{
    check(weir_execution_is_id("7-01902c5e-7d1a-7b3c-8f00-0123456789ab"));
    check(weir_execution_is_id("{fp:7}:01902c5e-7d1a-7b3c-8f00-0123456789ab"));
    check(weir_execution_is_id("65535-x"));
    check(!weir_execution_is_id("12345678-7d1a-7b3c-8f00-0123456789ab"));
    check(!weir_execution_is_id("7-k:0123abcd"));
    check(!weir_execution_is_id("-7-01902c5e"));
    check(!weir_execution_is_id("7"));
    check(!weir_execution_is_id(""));
}

WEIR_TEST(token, is_the_claim_again)
{
    const struct weir_claim small = claim_of(0, 1, 1);
    const struct weir_claim large = claim_of(UINT16_MAX, INT64_MAX, INT64_MAX);

    comes_back(&small);
    comes_back(&large);
}
