/*
 * The policy of an execution as a term of the dictionary, as another program has
 * written it.
 */
#include <string.h>

#include "execution/draft.h"
#include "execution/store/dictionary.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct weir_str text = {(const char *)bytes, size};
    struct weir_execution_policy policy;
    char again[WEIR_POLICY_TEXT_SIZE];

    if (!weir_policy_parse(text, &policy))
        return 0;
    WEIR_ASSERT(weir_execution_policy_check(&policy, NULL) == WEIR_OK);
    weir_policy_format(&policy, again);
    WEIR_ASSERT(weir_str_equal(weir_str(again), text));
    return 0;
}

FUZZ_CORPUS(policy);
