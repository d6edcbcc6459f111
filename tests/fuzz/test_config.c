/*
 * A file of the configuration of the server, as an operator has written it.
 *
 * The first byte chooses where the rest comes from: the file, or a variable and an
 * argument. What is taken is printed and compared with itself; what is refused has a
 * mistake. The values name no files that are there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "server/config/load.h"
#include "server/config/print.h"
#include "weir/heap.h"

enum { PATH_SIZE = 64, TEXT_SIZE_MAX = 16 << 20 };

static void refuse_change(void *state, const struct weir_config_change *change)
{
    (void)state;
    WEIR_ASSERT(change == NULL); /* a configuration does not differ from itself */
}

static void check_line(void *state, const char *line)
{
    (void)state;
    WEIR_ASSERT(line[0] != '\0' && strchr(line, '\n') == NULL);
    WEIR_ASSERT(weir_utf8_valid(weir_str(line)));
}

static void check_taken(const struct weir_config *config)
{
    struct weir_mistakes mistakes;
    struct weir_buf text;

    weir_config_compare(config, config, refuse_change, NULL);
    WEIR_ASSERT(weir_config_check_reload(config, config, &mistakes));
    WEIR_ASSERT(config->database_count > 0 && config->http.listen.count > 0);
    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_config_print(config, &text);
    WEIR_ASSERT(weir_buf_status(&text) == WEIR_OK);
    weir_buf_fini(&text);
}

static void load(const struct weir_config_sources *sources)
{
    struct weir_config *config = NULL;
    struct weir_mistakes mistakes;
    struct weir_mistakes warnings;
    struct weir_error error = {0};
    enum weir_status status =
        weir_config_load(sources, &config, &mistakes, &warnings, &error);

    WEIR_ASSERT(status == WEIR_OK || status == WEIR_INVALID);
    WEIR_ASSERT((status == WEIR_OK) == (mistakes.count == 0));
    weir_mistakes_each(&mistakes, "mistake", "mistakes", check_line, NULL);
    weir_mistakes_each(&warnings, "warning", "warnings", check_line, NULL);
    if (status == WEIR_OK)
        check_taken(config);
    weir_config_destroy(config);
}

static void load_file(const uint8_t *bytes, size_t size)
{
    int file = memfd_create("config", MFD_CLOEXEC);
    char path[PATH_SIZE];
    const struct weir_config_sources sources = {.file = path,
                                                .db_without_file = "sqlite:a"};

    WEIR_ASSERT(file >= 0);
    WEIR_ASSERT(size == 0 || write(file, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    load(&sources);
    close(file);
}

/* As a variable, and as an argument. */
static void load_words(const char *text)
{
    size_t size = strlen(text) + sizeof "WEIR_";
    char *variable = malloc(size);
    const char *environment[] = {variable, "WEIR_RELAY_A_QUEUE=q",
                                 "WEIR_RELAY_A_TO=stdout:", NULL};
    const struct weir_config_sources sources = {
        .environment = environment, .sets = &text, .set_count = 1, .db = "sqlite:a"};

    WEIR_ASSERT(variable != NULL);
    snprintf(variable, size, "WEIR_%s", text);
    load(&sources);
    free(variable);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text;

    if (size == 0)
        return 0;
    if (bytes[0] != '!') {
        load_file(bytes, size);
        return 0;
    }
    text = malloc(size);
    WEIR_ASSERT(text != NULL);
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = '\0';
    load_words(text);
    free(text);
    return 0;
}

FUZZ_CORPUS(config);
