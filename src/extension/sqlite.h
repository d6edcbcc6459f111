/*
 * sqlite.h - SQLite as an extension sees it.
 *
 * An extension is loaded by a program that has its SQLite already, perhaps a copy of
 * its own, and must call that one and no other: every call goes through a table that it
 * is given when it is loaded (extension.c), and it is linked with no SQLite.
 */
#ifndef WEIR_EXTENSION_SQLITE_H
#define WEIR_EXTENSION_SQLITE_H

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

#endif
