/*
 * touch_file.h - a file by which processes of one host tell each other that something
 * was committed.
 *
 * MariaDB has no way to tell its clients of a commit. Where producers and delivering
 * processes run on one host, producers open and close a file, and a process that watches
 * that file (mariadb/watch.c) looks at once. The file is in a folder that the operator
 * names in the URL (`signal=FOLDER`), else in /dev/shm, unless the URL says `signal=off`.
 *
 * Opening for writing and closing is all: inotify reports it, nothing is written
 * or read, no disk is waited for, and there is no reader that a producer would have
 * to wait for, as there is with a fifo or a socket. It costs 5 microseconds. Producers
 * do not space signals out: the last of a burst must not be the one that is left out.
 * The watching process does that.
 *
 *   FOLDER/weir-<md5 of "database/channel", 32 hexadecimal digits>
 *   /dev/shm/weir-wake-<md5 of "server@database/channel">
 *
 * In a folder of the operator's the server is not part of the name, which other programs
 * can compute. Two servers with a database of the same name cost each other some looks,
 * or get a folder each. In /dev/shm the name has the key of the server (server_key.h),
 * and the file is there only while a process watches it (touch_hold.h).
 *
 * Users    The first process makes the file, for every user to open (0666). The
 *          permissions of the folder decide which users may; in /dev/shm all users of the
 *          host may, and the most that they can do is to cause a look each 2 ms, or to
 *          keep the file from being made: then it is polled. Nothing is read from the
 *          file. Symbolic links in the place of the file are refused.
 * Threads  Any.
 */
#ifndef WEIR_DB_TOUCH_FILE_H
#define WEIR_DB_TOUCH_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "weir/error.h"

enum { WEIR_TOUCH_FILE_FOLDER_MAX = 1000, WEIR_TOUCH_FILE_PATH_SIZE = 1048 };

/* What the names of files begin with that are held. */
#define WEIR_TOUCH_FILE_HELD "weir-wake-"

/* Is it a folder that can serve? WEIR_INVALID with a text that names the URL's option. */
WEIR_CHECKED enum weir_status weir_touch_file_check(const char *folder,
                                                    struct weir_error *error);

/* The folder for a URL that names none. NULL: there is none on this host, or this process
 * cannot make a file there. */
const char *weir_touch_file_default_folder(void);

/* Where the file is; `folder` has passed the check. `server` is the key of the server for
 * a file that is held, NULL in a folder of the operator's. */
void weir_touch_file_path(const char *folder, const char *database, const char *channel,
                          const char *server, char out[WEIR_TOUCH_FILE_PATH_SIZE]);

/*
 * Signal; make the file if there is none. *out, unless NULL, gets which file it was.
 * Never waits. WEIR_SYSTEM with a text; the signalling process goes on all the same.
 */
WEIR_CHECKED enum weir_status weir_touch_file_touch(const char *path, struct stat *out,
                                                    struct weir_error *error);

/* Signal if there is such a file: a process that watches has made it. */
void weir_touch_file_touch_held(const char *path);

#endif
