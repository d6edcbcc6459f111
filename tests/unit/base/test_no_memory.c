/* Tests of base/no_memory.c. */
#include "base/no_memory.h"

#include <stddef.h>

#include "kit/test.h"

WEIR_TEST(no_memory, says_what_failed)
{
    struct weir_error error;

    check_status(weir_no_memory(&error, "read lag"), WEIR_NO_MEMORY);
    check_status(error.status, WEIR_NO_MEMORY);
    check_str(error.text, "read lag: out of memory");

    check_status(weir_no_memory(&error, NULL), WEIR_NO_MEMORY);
    check_str(error.text, "out of memory");
}

WEIR_TEST(no_memory, says_what_the_memory_was_for)
{
    struct weir_error error;

    check_status(weir_no_memory_for(&error, "%d %s", 3, "acks"), WEIR_NO_MEMORY);

    check_status(error.status, WEIR_NO_MEMORY);
    check_str(error.text, "no memory for 3 acks");
}

WEIR_TEST(no_memory, returns_the_status_without_an_error_to_store_it_in)
{
    check_status(weir_no_memory(NULL, "read lag"), WEIR_NO_MEMORY);
    check_status(weir_no_memory_for(NULL, "%s", "acks"), WEIR_NO_MEMORY);
}
