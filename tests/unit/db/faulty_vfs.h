/*
 * faulty_vfs.h - a file system for SQLite whose flushes and writes fail when a test
 * says so.
 *
 *   faulty_vfs_install();          the default from here on, for connections opened now
 *   faulty_vfs.fail_sync = true;   each flush fails
 *   faulty_vfs_remove();
 *
 * It is the real one with two methods replaced in the log file's table.
 */
#ifndef WEIR_TEST_FAULTY_VFS_H
#define WEIR_TEST_FAULTY_VFS_H

#include <sqlite3.h>
#include <stdbool.h>

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    sqlite3_io_methods methods;        /* what we give out */
    const sqlite3_io_methods *genuine; /* what they stand for */
    bool fail_sync;
    bool fail_write;
} faulty_vfs;

static int faulty_vfs_sync(sqlite3_file *file, int flags)
{
    return faulty_vfs.fail_sync ? SQLITE_IOERR_FSYNC
                                : faulty_vfs.genuine->xSync(file, flags);
}

static int faulty_vfs_write(sqlite3_file *file, const void *bytes, int size,
                            sqlite3_int64 offset)
{
    return faulty_vfs.fail_write ? SQLITE_IOERR_WRITE
                                 : faulty_vfs.genuine->xWrite(file, bytes, size, offset);
}

static int faulty_vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file,
                           int flags, int *out_flags)
{
    int code = faulty_vfs.real->xOpen(faulty_vfs.real, name, file, flags, out_flags);

    (void)vfs;
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0)
        return code;
    faulty_vfs.genuine = file->pMethods;
    faulty_vfs.methods = *file->pMethods;
    faulty_vfs.methods.xSync = faulty_vfs_sync;
    faulty_vfs.methods.xWrite = faulty_vfs_write;
    file->pMethods = &faulty_vfs.methods;
    return SQLITE_OK;
}

static inline void faulty_vfs_install(void)
{
    faulty_vfs.real = sqlite3_vfs_find(NULL);
    faulty_vfs.vfs = *faulty_vfs.real;
    faulty_vfs.vfs.zName = "faulty";
    faulty_vfs.vfs.xOpen = faulty_vfs_open;
    faulty_vfs.fail_sync = false;
    faulty_vfs.fail_write = false;
    sqlite3_vfs_register(&faulty_vfs.vfs, 1);
}

static inline void faulty_vfs_remove(void)
{
    sqlite3_vfs_unregister(&faulty_vfs.vfs);
    sqlite3_vfs_register(faulty_vfs.real, 1);
}

#endif
