#include "kit/test.h"

WEIR_TEST(door, opens_inwards)
{
}

WEIR_TEST(door,
          does_not_mind_a_name_that_is_too_long_for_one_line)
{
}
