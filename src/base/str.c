/*
 * str.c - a view of borrowed bytes.
 */
#include "base/str.h"

#include <string.h>

#include "base/random.h"

struct weir_str weir_str(const char *text)
{
    return (struct weir_str){.data = text, .size = strlen(text)};
}

/* memcmp() must not see a NULL, not even for no bytes. */
bool weir_str_equal(struct weir_str a, struct weir_str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

uint64_t weir_str_hash(struct weir_str self)
{
    return weir_hash_bytes(self.data, self.size);
}
