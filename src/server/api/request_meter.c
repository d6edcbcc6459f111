/*
 * request_meter.c - see request_meter.h.
 */
#include "server/api/request_meter.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/count.h"
#include "base/heap.h"
#include "base/text.h"

enum { STATUS_FIRST = 200, STATUS_COUNT = 400, NUMBER_SIZE = 32 };

/* Upper ends of the buckets, in seconds; one more has no end. */
static const char *const ENDS[] = {"0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025",
                                   "0.05",   "0.1",   "0.25",   "0.5",   "1",    "2.5",
                                   "5",      "10",    "30",     "60",    "+Inf"};
static const int64_t ENDS_NS[] = {
    500000,     1000000,     2500000,     5000000,     10000000,   25000000,
    50000000,   100000000,   250000000,   500000000,   1000000000, 2500000000,
    5000000000, 10000000000, 30000000000, 60000000000, INT64_MAX};
enum { BUCKET_COUNT = COUNT_OF(ENDS) };

struct route {
    atomic_uint_fast64_t answered[STATUS_COUNT];
    atomic_uint_fast64_t buckets[BUCKET_COUNT];
    atomic_uint_fast64_t total_ns;
};

struct weir_request_meter {
    const struct weir_heap *heap; /* borrowed */
    struct route routes[];        /* of each endpoint, and of none */
};

enum weir_status weir_request_meter_create(const struct weir_heap *heap,
                                           struct weir_request_meter **out)
{
    size_t size = (weir_endpoint_count + 1) * sizeof(struct route);

    *out = weir_heap_zalloc(heap, sizeof **out + size);
    if (*out == NULL)
        return WEIR_NO_MEMORY;
    (*out)->heap = heap;
    return WEIR_OK;
}

void weir_request_meter_destroy(struct weir_request_meter *self)
{
    if (self != NULL)
        weir_heap_free(self->heap, self);
}

void weir_request_meter_count(struct weir_request_meter *self,
                              const struct weir_endpoint *endpoint, unsigned status,
                              int64_t duration_ns)
{
    size_t index =
        endpoint != NULL ? (size_t)(endpoint - weir_endpoints) : weir_endpoint_count;
    struct route *route = &self->routes[index];
    size_t bucket = 0;

    while (duration_ns > ENDS_NS[bucket])
        bucket++;
    if (status >= STATUS_FIRST && status < STATUS_FIRST + STATUS_COUNT)
        atomic_fetch_add(&route->answered[status - STATUS_FIRST], 1);
    atomic_fetch_add(&route->buckets[bucket], 1);
    atomic_fetch_add(&route->total_ns, (uint64_t)(duration_ns > 0 ? duration_ns : 0));
}

static const char *path_of(size_t index)
{
    return index < weir_endpoint_count ? weir_endpoints[index].path : "none";
}

static const char *method_of(size_t index)
{
    return index < weir_endpoint_count ? weir_method_name(weir_endpoints[index].method)
                                       : "none";
}

static void add_answered(const struct route *route, size_t index,
                         struct weir_metrics_text *text)
{
    char code[NUMBER_SIZE];
    struct weir_metric_label labels[] = {
        {"route", path_of(index)}, {"method", method_of(index)}, {"code", code}};

    for (size_t i = 0; i < STATUS_COUNT; i++) {
        uint64_t count = atomic_load(&route->answered[i]);

        if (count == 0)
            continue;
        weir_text_format(code, sizeof code, "%zu", i + STATUS_FIRST);
        weir_metrics_text_add(text, "", labels, COUNT_OF(labels), (double)count);
    }
}

/* Routes without a request have no series. */
static void add_durations(const struct route *route, size_t index,
                          struct weir_metrics_text *text)
{
    struct weir_metric_label labels[] = {
        {"route", path_of(index)}, {"method", method_of(index)}, {"le", NULL}};
    uint64_t counts[BUCKET_COUNT];
    uint64_t count = 0;

    for (size_t i = 0; i < BUCKET_COUNT; i++) {
        count += atomic_load(&route->buckets[i]);
        counts[i] = count;
    }
    if (count == 0)
        return;
    for (size_t i = 0; i < BUCKET_COUNT; i++) {
        labels[2].value = ENDS[i];
        weir_metrics_text_add(text, "_bucket", labels, 3, (double)counts[i]);
    }
    weir_metrics_text_add(text, "_sum", labels, 2,
                          (double)atomic_load(&route->total_ns) / 1e9);
    weir_metrics_text_add(text, "_count", labels, 2, (double)count);
}

void weir_request_meter_add(const struct weir_request_meter *self,
                            struct weir_metrics_text *text)
{
    weir_metrics_text_family(text, "weir_http_requests_total",
                             "Requests that were answered.", WEIR_FAMILY_COUNTER);
    for (size_t i = 0; i <= weir_endpoint_count; i++)
        add_answered(&self->routes[i], i, text);
    weir_metrics_text_family(text, "weir_http_request_seconds",
                             "Time from the head of a request to its answer.",
                             WEIR_FAMILY_HISTOGRAM);
    for (size_t i = 0; i <= weir_endpoint_count; i++)
        add_durations(&self->routes[i], i, text);
}
