/*
 * touch_file.h - a file by which processes of one host tell each other that something
 * was committed.
 *
 * MariaDB has no way to tell its clients of a commit. Where producers and delivering
 * processes run on one host, the operator may name a folder in the URL
 * (`signal=FOLDER`): producers open and close a file in it, and a process that watches
 * that file (mariadb/watch.c) looks at once.
 *
 * Opening for writing and closing is all: inotify reports it, nothing is written
 * or read, no disk is waited for, and there is no reader that a producer would have
 * to wait for, as there is with a fifo or a socket. It costs 5 microseconds. Producers
 * do not space signals out: the last of a burst must not be the one that is left out.
 * The watching process does that.
 *
 *   FOLDER/weir-<md5 of "database/channel", 32 hexadecimal digits>
 *
 * The server is not part of the name: one that is reached by TCP here and by its socket
 * there is the same one. Two servers with a database of the same name cost each other
 * some looks, or get a folder each.
 *
 * Users    The first process makes the file, for every user to open (0666). The
 *          permissions of the folder decide which users may. Symbolic links in the place
 *          of the file are refused.
 * Threads  Any.
 */
#ifndef WEIR_DB_TOUCH_FILE_H
#define WEIR_DB_TOUCH_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "weir/error.h"

enum { WEIR_TOUCH_FILE_FOLDER_MAX = 1000, WEIR_TOUCH_FILE_PATH_SIZE = 1048 };

/* Is it a folder that can serve? WEIR_INVALID with a text that names the URL's option. */
WEIR_CHECKED enum weir_status weir_touch_file_check(const char *folder,
                                                    struct weir_error *error);

/* Where the file is; `folder` has passed the check. */
void weir_touch_file_path(const char *folder, const char *database, const char *channel,
                          char out[WEIR_TOUCH_FILE_PATH_SIZE]);

/*
 * Signal; make the file if there is none. *out, unless NULL, gets which file it was.
 * Never waits. WEIR_SYSTEM with a text; the signalling process goes on all the same.
 */
WEIR_CHECKED enum weir_status weir_touch_file_touch(const char *path, struct stat *out,
                                                    struct weir_error *error);

#endif
