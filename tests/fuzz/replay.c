/*
 * replay.c - runs a corpus through a harness; see fuzz.h.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

enum { PATH_SIZE = 4096, FILE_SIZE_MAX = 1 << 20 };

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* In a block of just this size, so that a sanitizer sees a byte that is read behind
 * it. */
static void run_file(const char *path)
{
    static uint8_t buffer[FILE_SIZE_MAX];
    FILE *file = fopen(path, "rbe");
    uint8_t *bytes;
    size_t size;

    check(file != NULL);
    size = fread(buffer, 1, sizeof buffer, file);
    check(size < sizeof buffer);
    check_int(fclose(file), 0);
    bytes = malloc(size > 0 ? size : 1);
    check(bytes != NULL);
    for (size_t i = 0; i < size; i++)
        bytes[i] = buffer[i];
    check_int(LLVMFuzzerTestOneInput(bytes, size), 0);
    free(bytes);
}

void fuzz_replay(const char *name)
{
    char folder[PATH_SIZE];
    char path[PATH_SIZE + 256];
    struct dirent **entries = NULL;
    int count;

    snprintf(folder, sizeof folder, "%s/%s", WEIR_FUZZ_CORPUS, name);
    count = scandir(folder, &entries, is_input, alphasort);
    check(count > 0);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        run_file(path);
        free(entries[i]);
    }
    free(entries);
}
