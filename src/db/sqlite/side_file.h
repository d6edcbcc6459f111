/*
 * side_file.h - DATABASE-weir: an empty file beside a database, for what processes have
 * to say to each other without a transaction.
 *
 *   locks     a process that delivers locks a byte of it (outbox/sqlite/liveness.c)
 *   signals   a process that has committed opens it for writing and closes it; inotify
 *             reports that to the processes that watch it (watch.c)
 *
 * SQLite's own files cannot be used for either: closing one of them drops the locks
 * that this process holds on it.
 *
 * Users    It has the permissions of the database, whatever the umask. Symbolic links
 *          in its place are refused.
 * Threads  Any; several processes may make the same file, and one of them does.
 */
#ifndef WEIR_DB_SQLITE_SIDE_FILE_H
#define WEIR_DB_SQLITE_SIDE_FILE_H

struct weir_heap;

/* The path of the file, on the heap; `database` is the path of the database, best as
 * SQLite has found it out. NULL: no memory. */
char *weir_side_file_path(const struct weir_heap *heap, const char *database);

/* Open it for reading and writing, and make it if there is none. -1 and errno: that is
 * not possible. */
int weir_side_file_open(const char *path);

/* Signal. Waits for nothing, writes nothing. Without a file no process listens. */
void weir_side_file_touch(const char *path);

#endif
