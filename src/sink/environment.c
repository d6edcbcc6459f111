/*
 * environment.c - see environment.h.
 */
#include "sink/environment.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "weir/message.h"

enum { VARIABLES = 8, TEXTS_SIZE_MAX = 16 * 1024 };

static const char *const NAMES[VARIABLES] = {
    "WEIR_QUEUE=", "WEIR_PARTITION=", "WEIR_SEQ=",      "WEIR_ID=",
    "WEIR_KEY=",   "WEIR_TYPE=",      "WEIR_ATTEMPTS=", "WEIR_EPOCH=",
};

static bool is_ours(const char *text)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        if (strncmp(text, NAMES[i], strlen(NAMES[i])) == 0)
            return true;
    }
    return false;
}

static void write_texts(struct weir_buf *out, const struct weir_message *message)
{
    char uid[WEIR_UID_TEXT_SIZE];

    /* In the order of NAMES. */
    weir_buf_append_format(out, "%s%s%c", NAMES[0], message->queue, '\0');
    weir_buf_append_format(out, "%s%" PRId32 "%c", NAMES[1], message->partition, '\0');
    weir_buf_append_format(out, "%s%" PRId64 "%c", NAMES[2], message->seq, '\0');
    weir_buf_append_format(out, "%s%s%c", NAMES[3], weir_uid_format(message->uid, uid),
                           '\0');
    weir_buf_append_format(out, "%s%s%c", NAMES[4],
                           message->key != NULL ? message->key : "", '\0');
    weir_buf_append_format(out, "%s%s%c", NAMES[5], message->type, '\0');
    weir_buf_append_format(out, "%s%" PRIu32 "%c", NAMES[6], message->attempts, '\0');
    weir_buf_append_format(out, "%s%" PRId64 "%c", NAMES[7], message->epoch, '\0');
}

enum weir_status weir_environment_init(struct weir_environment *self,
                                       const struct weir_heap *heap,
                                       const struct weir_message *message)
{
    size_t inherited = 0;
    size_t count = 0;
    char *text;

    self->heap = heap;
    weir_buf_init(&self->texts, heap, TEXTS_SIZE_MAX);
    write_texts(&self->texts, message);
    while (environ != NULL && environ[inherited] != NULL)
        inherited++;
    self->list =
        weir_heap_zalloc_array(heap, inherited + VARIABLES + 1, sizeof *self->list);
    if (self->list == NULL || weir_buf_status(&self->texts) != WEIR_OK)
        return WEIR_NO_MEMORY;
    for (size_t i = 0; i < inherited; i++) {
        if (!is_ours(environ[i]))
            self->list[count++] = environ[i];
    }
    text = self->texts.data;
    for (size_t i = 0; i < VARIABLES; i++) {
        self->list[count++] = text;
        text += strlen(text) + 1;
    }
    return WEIR_OK;
}

void weir_environment_fini(struct weir_environment *self)
{
    weir_heap_free(self->heap, self->list);
    self->list = NULL;
    weir_buf_fini(&self->texts);
}
