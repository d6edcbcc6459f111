/*
 * dump.c - see dump.h.
 */
#include "kit/db/dump.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "kit/temp_dir.h"
#include "kit/test.h"

enum { WORD_SIZE = SERVER_URL_SIZE + 32, WORDS_MAX = 12 };

/* A command line. */
struct words {
    char text[WORDS_MAX][WORD_SIZE];
    const char *list[WORDS_MAX + 1];
    int count;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *self,
                                                      const char *format, ...)
{
    va_list arguments;

    check(self->count < WORDS_MAX);
    va_start(arguments, format);
    check(vsnprintf(self->text[self->count], WORD_SIZE, format, arguments) < WORD_SIZE);
    va_end(arguments);
    self->list[self->count] = self->text[self->count];
    self->list[++self->count] = NULL;
}

/* The program, and where it finds the database. */
static void begin(struct words *self, const struct server *server, const char *program,
                  const char *database)
{
    char path[SERVER_PATH_SIZE], url[SERVER_URL_SIZE];

    self->count = 0;
    server_program(server_engine(server), program, path, sizeof path);
    add(self, "%s", path);
    if (server_engine(server) == WEIR_POSTGRESQL) {
        server_direct_url(server, database, url, sizeof url);
        add(self, "--dbname=%s", url);
        return;
    }
    add(self, "--no-defaults");
    add(self, "--socket=%s", server_socket(server));
    add(self, "--user=%s", SERVER_USER);
    add(self, "--password=%s", SERVER_PASSWORD);
    add(self, "--default-character-set=utf8mb4");
}

static void run(const struct words *self)
{
    process_run(&(struct process_options){.folder = temp_dir_of_program(),
                                          .death_signal = SIGKILL},
                self->list);
}

static void dump_write_at(const struct server *server, const char *database,
                          const char *snapshot, const char *path)
{
    struct words words;

    begin(&words, server, "pg_dump", database);
    add(&words, "--format=custom");
    add(&words, "--snapshot=%s", snapshot);
    add(&words, "--file=%s", path);
    run(&words);
}

void dump_write(const struct server *server, const char *database, enum dump_form form,
                const char *path)
{
    struct words words;

    if (server_engine(server) == WEIR_POSTGRESQL) {
        begin(&words, server, "pg_dump", database);
        add(&words, "--format=%s", form == DUMP_PLAIN ? "plain" : "custom");
        add(&words, "--file=%s", path);
    } else {
        begin(&words, server, "mariadb-dump", database);
        add(&words, "--skip-ssl"); /* clients from 11.4 on ask for it by default */
        add(&words, "--single-transaction");
        add(&words, "--result-file=%s", path);
        add(&words, "%s", database);
    }
    run(&words);
}

void dump_read(const struct server *server, const char *database, enum dump_form form,
               const char *path)
{
    struct words words;

    if (server_engine(server) != WEIR_POSTGRESQL) {
        begin(&words, server, "mariadb", database);
        add(&words, "--skip-ssl");
        add(&words, "--execute=source %s", path);
        add(&words, "%s", database);
    } else if (form == DUMP_PLAIN) {
        begin(&words, server, "psql", database);
        add(&words, "--set=ON_ERROR_STOP=1");
        add(&words, "--quiet");
        add(&words, "--no-psqlrc");
        add(&words, "--file=%s", path);
    } else {
        begin(&words, server, "pg_restore", database);
        add(&words, "--exit-on-error");
        add(&words, "%s", path);
    }
    run(&words);
}

static void name_file(const char *name, char out[SERVER_PATH_SIZE])
{
    check(snprintf(out, SERVER_PATH_SIZE, "%s/%s.dump", temp_dir_of_program(), name) <
          SERVER_PATH_SIZE);
}

void dump_copy(const struct server *from, const char *database, enum dump_form form,
               const struct server *to, const char *name)
{
    char path[SERVER_PATH_SIZE];

    name_file(name, path);
    dump_write(from, database, form, path);
    server_create_database(to, name);
    dump_read(to, name, form, path);
    unlink(path);
}

void dump_copy_at(const struct server *from, const char *database, const char *snapshot,
                  const struct server *to, const char *name)
{
    char path[SERVER_PATH_SIZE];

    name_file(name, path);
    dump_write_at(from, database, snapshot, path);
    server_create_database(to, name);
    dump_read(to, name, DUMP_CUSTOM, path);
    unlink(path);
}
