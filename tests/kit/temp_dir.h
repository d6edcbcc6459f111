/*
 * temp_dir.h - folders for tests, gone when the tests are.
 *
 * script/test makes a folder for all programs of a run and names it in WEIR_RUN_DIR. A
 * program that is started by hand makes one of its own, in memory if the machine lets
 * it (/dev/shm). That one is removed when the program ends, and by a small process that
 * waits for its end when it cannot do so itself.
 *
 * Failure  Fails the running test.
 */
#ifndef WEIR_TEST_TEMP_DIR_H
#define WEIR_TEST_TEMP_DIR_H

#include <stdbool.h>

enum { TEMP_DIR_SIZE = 200 };

/* The run's folder, the same for all its programs. */
const char *temp_dir_of_run(void);

/* This program's folder inside of it, made when first asked for. */
const char *temp_dir_of_program(void);

/* A folder on disk, for what must be as durable as in earnest: in TMPDIR, or in
 * /var/tmp. Made when first asked for and removed like the others. */
const char *temp_dir_on_disk(void);

/* No script/test around: the run ends with this program. */
bool temp_dir_is_ours(void);

/* Call this when the program ends, before its folder is removed. One function. */
void temp_dir_before_end(void (*end)(void));

/* With everything in it. It need not be there. */
void temp_dir_remove(const char *path);

#endif
