WEIR_TEST(door, stays_shut_when_it_is_locked)
{
}
