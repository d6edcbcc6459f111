#include "kit/outbox/outbox_engines.h"

OUTBOX_TEST(door, opens_inwards)
{
}

OUTBOX_SERVER_TEST(door, is_painted)
{
}

SQLITE_TEST(door, is_heavy)
{
}

WEIR_TEST(door, is_green_on_postgresql)
{
}
