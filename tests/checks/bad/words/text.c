/* "nobody" in a comment of a file that is not listed */
static const char *const TEXT = "the peer holds it";
static const char *const PEOPLE = "somebody holds it";
