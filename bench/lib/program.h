/*
 * program.h - the program `weir` at work in a process of its own, for measuring it from
 * outside.
 *
 * It is the one that was built with this bench. What it says goes to a log in the
 * bench's folder.
 *
 * Threads  The main thread: it dies with the thread that started it.
 * Failure  Ends the bench, with the log's end.
 */
#ifndef WEIR_BENCH_PROGRAM_H
#define WEIR_BENCH_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* `weir --db URL` and what follows, as a shell would take it. It must end with 0;
 * returns how long that took. */
int64_t bench_program_run(const char *url, const char *words);

/* The same without waiting; owes one stop. */
pid_t bench_program_start(const char *url, const char *words);

/* As a supervisor does: SIGTERM, and it ends well. */
void bench_program_stop(pid_t pid);

/* Its resident memory in bytes, and the time that all its threads have been on a
 * processor. */
size_t bench_program_resident_size(pid_t pid);
int64_t bench_program_processor_ns(pid_t pid);

#endif
