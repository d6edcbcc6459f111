/*
 * print.c - see print.h.
 */
#include "server/config/print.h"

#include <string.h>

#include "base/buf.h"
#include "server/config/key.h"
#include "server/config/load.h"

struct print_call {
    struct weir_buf *out;
    const struct weir_config_section *section; /* of the entry before; NULL: none */
    const char *name;
};

static void print_section(struct print_call *self, const struct weir_config_entry *entry)
{
    if (self->section == entry->section && self->name == entry->name)
        return;
    weir_buf_append_format(self->out, "%s[%s%s%s]\n", self->section != NULL ? "\n" : "",
                           entry->section->name, entry->name != NULL ? " " : "",
                           entry->name != NULL ? entry->name : "");
    self->section = entry->section;
    self->name = entry->name;
}

/* What would mean something else if it was given: a policy of a queue is changed then. */
static bool is_unset(const struct weir_config_entry *entry)
{
    return entry->value == NULL || (entry->key->mark_bits != 0 && !entry->given);
}

static void print_unset(struct weir_buf *out, const struct weir_config_key *key)
{
    const char *meaning = key->fallback_note != NULL ? key->fallback_note : key->fallback;

    weir_buf_append_format(out, "# %s is not set%s%s\n", key->name,
                           meaning != NULL ? ": " : "", meaning != NULL ? meaning : "");
}

static void print_entry(void *state, const struct weir_config_entry *entry)
{
    struct print_call *self = state;

    print_section(self, entry);
    if (is_unset(entry))
        print_unset(self->out, entry->key);
    else
        weir_buf_append_format(self->out, "# %s\n%s = %s\n", entry->origin,
                               entry->key->name, entry->value);
}

void weir_config_print(const struct weir_config *self, struct weir_buf *out)
{
    struct print_call call = {.out = out};

    weir_config_each(self, print_entry, &call);
}
