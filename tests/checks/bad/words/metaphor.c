/* In a comment roster is an ordinary word. */
static const char *const NAME = "roster";

int weir_roster_count(const char *text);

WEIR_TEST(roster, is_a_word_as_others_in_the_name_of_a_test)
