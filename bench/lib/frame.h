/*
 * frame.h - the lines around the figures of a bench of the outbox: how busy the machine
 * was, which engine it is about, and how long it took.
 */
#ifndef WEIR_BENCH_FRAME_H
#define WEIR_BENCH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/db.h>

struct bench_frame {
    int64_t begun_ns;
};

void bench_frame_begin(struct bench_frame *self, size_t rounds, bool quick);

/* As bench_section(), of one engine with the profile of lib/outbox_load.h. */
void bench_frame_section(enum weir_engine engine, const char *title,
                         const char *baseline);

/* Counts the targets too. */
void bench_frame_end(const struct bench_frame *self);

#endif
