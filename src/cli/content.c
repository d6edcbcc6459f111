/*
 * content.c - see content.h.
 */
#include "cli/content.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "weir/heap.h"

/* One byte more than allowed is read, to see that it is too much. */
int weir_content_read(struct weir_content *self, const struct weir_command *command,
                      const char *what, const char *file, size_t size_max,
                      const char *remedy)
{
    bool standard_input = strcmp(file, "-") == 0;
    int from = standard_input ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;
    int reason;

    *self = (struct weir_content){
        .memory = weir_heap_alloc(weir_heap_system(), size_max + 1),
    };
    self->data = self->memory;
    while (from >= 0 && self->memory != NULL && self->size <= size_max && got != 0) {
        got = read(from, self->memory + self->size, size_max + 1 - self->size);
        if (got < 0 && errno != EINTR)
            break;
        self->size += got > 0 ? (size_t)got : 0;
    }
    reason = errno;
    if (!standard_input && from >= 0)
        close(from);
    if (self->memory == NULL)
        return weir_command_fail(command, "out of memory");
    if (from < 0 || got < 0)
        return weir_command_fail(command, "cannot read %s%s%s: %s",
                                 standard_input ? "" : "'",
                                 standard_input ? "standard input" : file,
                                 standard_input ? "" : "'", strerror(reason));
    if (self->size > size_max)
        return weir_command_fail(command, "the %s has more than %zu bytes%s", what,
                                 size_max, remedy);
    return WEIR_EXIT_DONE;
}

int weir_content_take(struct weir_content *self, const struct weir_command *command,
                      const char *what, const char *value, size_t size_max)
{
    if (strcmp(value, "-") == 0)
        return weir_content_read(self, command, what, "-", size_max, "");
    if (value[0] == '@')
        return weir_content_read(self, command, what, value + 1, size_max, "");
    *self = (struct weir_content){.data = value, .size = strlen(value)};
    if (self->size > size_max)
        return weir_command_fail(command, "the %s has more than %zu bytes", what,
                                 size_max);
    return WEIR_EXIT_DONE;
}

void weir_content_fini(struct weir_content *self)
{
    weir_heap_free(weir_heap_system(), self->memory);
    *self = (struct weir_content){.size = 0};
}
