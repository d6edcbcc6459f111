/*
 * proc.h - what the kernel says about this process.
 */
#ifndef WEIR_BENCH_PROC_H
#define WEIR_BENCH_PROC_H

#include <stddef.h>
#include <stdint.h>

/* Cores this process may use. */
size_t bench_core_count(void);

/* Load average of the last minute; 0 when unknown. */
double bench_load(void);

/* Resident memory of this process, in bytes. */
size_t bench_resident_size(void);

/*
 * How often all threads but the calling one went to sleep by themselves: each time they
 * were woken, they did so once more.
 */
uint64_t bench_other_threads_sleeps(void);

/* Keep the calling thread on the nth core it may use; let it go where it likes again. */
void bench_pin(size_t index);
void bench_unpin(void);

#endif
