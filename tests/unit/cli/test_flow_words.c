/*
 * Tests of cli/execution/flow_words.c: the token of a claim. What is none is in tests/cli/test_flow.sh.
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "cli/execution/flow_words.h"
#include "lib/test.h"

static struct weir_claim claim_of(uint16_t partition, int64_t no, int64_t epoch)
{
    struct weir_claim claim = {.no = no, .epoch = epoch};

    claim.id.partition = partition;
    memset(claim.id.uuid, 0xab, sizeof claim.id.uuid);
    return claim;
}

static void comes_back(const struct weir_claim *claim)
{
    char token[WEIR_FLOW_TOKEN_SIZE];
    struct weir_claim found;

    check_int(weir_flow_take_token(&weir_cli_flow_renew,
                                   weir_flow_token_format(claim, token), &found),
              WEIR_EXIT_DONE);
    check_int(found.id.partition, claim->id.partition);
    check(memcmp(found.id.uuid, claim->id.uuid, sizeof found.id.uuid) == 0);
    check(found.no == claim->no);
    check(found.epoch == claim->epoch);
}

WEIR_TEST(token, is_id_row_and_epoch)
{
    const struct weir_claim claim = claim_of(7, 42, 3);
    char token[WEIR_FLOW_TOKEN_SIZE];

    check_str(weir_flow_token_format(&claim, token),
              "{fp:7}:abababab-abab-abab-abab-abababababab/42/3");
}

WEIR_TEST(token, is_the_claim_again)
{
    const struct weir_claim small = claim_of(0, 1, 1);
    const struct weir_claim large = claim_of(UINT16_MAX, INT64_MAX, INT64_MAX);

    comes_back(&small);
    comes_back(&large);
}
