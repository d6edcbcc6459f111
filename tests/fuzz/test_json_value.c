/*
 * Is it JSON? A result of a worker, which is put into a larger JSON text if it is.
 */
#include "base/buf.h"
#include "base/json_read.h"
#include "execution/flow/composition.h"
#include "fuzz.h"
#include "weir/heap.h"

/* Whatever the bytes are, what is composed of them is JSON. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct weir_str text = {(const char *)bytes, size};
    struct weir_composition composition;
    struct weir_buf out;

    weir_composition_init(&composition, weir_heap_system(), 8 * size + 1000);
    weir_buf_init(&out, weir_heap_system(), 32 * size + 1000);
    weir_composition_add(&composition, weir_str("one"), text);
    weir_composition_add(&composition, weir_str("two"), weir_str("2"));
    WEIR_ASSERT(weir_composition_finish(&composition, text, &out) == WEIR_OK);
    WEIR_ASSERT(weir_json_is_value(weir_buf_get(&out)));
    weir_buf_fini(&out);
    weir_composition_fini(&composition);
    return 0;
}

FUZZ_CORPUS(json_value);
