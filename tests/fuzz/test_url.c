/*
 * Where a database is, as somebody has typed it.
 */
#include <stdlib.h>
#include <string.h>

#include "db/url.h"
#include "fuzz.h"
#include "weir/heap.h"

enum { SHOWN_SIZE = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    char shown[SHOWN_SIZE];
    struct weir_url url;
    struct weir_error error = {0};

    WEIR_ASSERT(text != NULL);
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    if (weir_url_parse(weir_heap_system(), text, &url, &error) == WEIR_OK)
        weir_url_describe(&url, shown, sizeof shown);
    else
        WEIR_ASSERT(error.text[0] != '\0');
    weir_url_fini(weir_heap_system(), &url);
    free(text);
    return 0;
}

FUZZ_CORPUS(url);
