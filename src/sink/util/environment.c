/*
 * environment.c - see environment.h.
 */
#include "sink/util/environment.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/count.h"
#include "base/heap.h"
#include "base/text.h"
#include "weir/message.h"

enum { TEXTS_SIZE_MAX = 192 * 1024, NUMBER_SIZE = 24 };

/* The kernel starts no process with a longer text in its environment (MAX_ARG_STRLEN). */
enum { TEXT_SIZE_MAX = WEIR_ENVIRONMENT_VALUE_MAX + 32 };
_Static_assert(TEXT_SIZE_MAX <= 128 * 1024, "32 pages of 4 KiB, the smallest there are");

/* "NAME=value" is one of the variables. */
static bool is_given(const char *text, const struct weir_environment_variable *variables,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(variables[i].name);

        if (strncmp(text, variables[i].name, size) == 0 && text[size] == '=')
            return true;
    }
    return false;
}

static bool is_too_large(const struct weir_environment_variable *variables, size_t count)
{
    size_t all = 0;

    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(variables[i].value);

        if (size > WEIR_ENVIRONMENT_VALUE_MAX)
            return true;
        all += strlen(variables[i].name) + size + 2;
    }
    return all > TEXTS_SIZE_MAX;
}

enum weir_status weir_environment_init(struct weir_environment *self,
                                       const struct weir_heap *heap,
                                       const struct weir_environment_variable *variables,
                                       size_t count)
{
    size_t inherited = 0;
    size_t filled = 0;
    char *text;

    WEIR_ASSERT(count <= WEIR_ENVIRONMENT_VARIABLES_MAX);
    *self = (struct weir_environment){.heap = heap};
    weir_buf_init(&self->texts, heap, TEXTS_SIZE_MAX);
    if (is_too_large(variables, count))
        return WEIR_TOO_LARGE;
    for (size_t i = 0; i < count; i++)
        weir_buf_append_format(&self->texts, "%s=%s%c", variables[i].name,
                               variables[i].value, '\0');
    while (environ != NULL && environ[inherited] != NULL)
        inherited++;
    self->list = weir_heap_zalloc_array(heap, inherited + count + 1, sizeof *self->list);
    if (self->list == NULL || weir_buf_status(&self->texts) != WEIR_OK)
        return WEIR_NO_MEMORY;
    for (size_t i = 0; i < inherited; i++) {
        if (!is_given(environ[i], variables, count))
            self->list[filled++] = environ[i];
    }
    text = self->texts.data;
    for (size_t i = 0; i < count; i++) {
        self->list[filled++] = text;
        text += strlen(text) + 1;
    }
    return WEIR_OK;
}

enum weir_status weir_environment_init_message(struct weir_environment *self,
                                               const struct weir_heap *heap,
                                               const struct weir_message *message)
{
    char uid[WEIR_UID_TEXT_SIZE];
    char partition[NUMBER_SIZE], seq[NUMBER_SIZE], attempts[NUMBER_SIZE],
        epoch[NUMBER_SIZE];
    const struct weir_environment_variable variables[] = {
        {"WEIR_QUEUE", message->queue},
        {"WEIR_PARTITION", partition},
        {"WEIR_SEQ", seq},
        {"WEIR_ID", weir_uid_format(message->uid, uid)},
        {"WEIR_KEY", message->key != NULL ? message->key : ""},
        {"WEIR_TYPE", message->type},
        {"WEIR_ATTEMPTS", attempts},
        {"WEIR_EPOCH", epoch},
    };

    weir_text_format(partition, sizeof partition, "%" PRId32, message->partition);
    weir_text_format(seq, sizeof seq, "%" PRId64, message->seq);
    weir_text_format(attempts, sizeof attempts, "%" PRIu32, message->attempts);
    weir_text_format(epoch, sizeof epoch, "%" PRId64, message->epoch);
    return weir_environment_init(self, heap, variables, COUNT_OF(variables));
}

void weir_environment_fini(struct weir_environment *self)
{
    weir_heap_free(self->heap, self->list);
    self->list = NULL;
    weir_buf_fini(&self->texts);
}
