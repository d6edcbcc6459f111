/*
 * frame.c - see frame.h.
 */
#include "lib/frame.h"

#include <stdio.h>

#include "lib/clock.h"
#include "lib/outbox_load.h"
#include "lib/proc.h"
#include "lib/table.h"

void bench_frame_begin(struct bench_frame *self, size_t rounds, bool quick)
{
    self->begun_ns = bench_now_ns();
    (void)printf("%zu cores, load %.2f, medians of %zu rounds%s; %d partitions, "
                 "%d byte payloads, durable commits\n",
                 bench_core_count(), bench_load(), rounds,
                 quick ? " (quick: too few to mean much)" : "", BENCH_PARTITIONS,
                 BENCH_PAYLOAD_SIZE);
    (void)fflush(stdout);
}

void bench_frame_section(enum weir_engine engine, const char *title, const char *baseline)
{
    char text[128];

    (void)snprintf(text, sizeof text, "%s, profile %s: %s", weir_engine_name(engine),
                   BENCH_PROFILE_NAME, title);
    bench_section(text, "weir", baseline);
}

void bench_frame_end(const struct bench_frame *self)
{
    bench_summary();
    (void)printf("took %.0f s, load now %.2f\n",
                 (double)(bench_now_ns() - self->begun_ns) / 1e9, bench_load());
}
