/*
 * create.h - a new database file, with the permissions that its payloads need.
 *
 * SQLite makes files by the umask, which commonly lets every user read them; its log and
 * its index, FILE-wal and FILE-shm, take the permissions of the file. So a file that is
 * not there is made here, empty, before SQLite opens it.
 *
 * It appears under its name complete: it is made under another one and linked. Made in
 * place it would have to be closed afterwards, and a thread of this process that has
 * opened it meanwhile would lose its locks, which POSIX drops when any descriptor of
 * the file is closed. On a file system without hard links it is made in place all the
 * same: one that every user can read would be worse.
 *
 * Threads  Any; several processes may make the same file, and one of them does.
 * Failure  None of its own: where the file cannot be made (no such folder, no right to
 *          write there), SQLite tries and tells.
 */
#ifndef WEIR_DB_SQLITE_CREATE_H
#define WEIR_DB_SQLITE_CREATE_H

#include <stdbool.h>
#include <stdint.h>

/* Make `path`, unless there is such a file. Whatever the umask is, it has these
 * permissions. Did it? */
bool weir_sqlite_create(const char *path, uint32_t permissions);

#endif
