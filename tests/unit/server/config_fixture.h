/*
 * config_fixture.h - configurations of a test: files in a folder of its own, loaded.
 *
 * The folder is the working directory, so that mistakes say "weir.ini:3".
 */
#ifndef WEIR_TEST_CONFIG_FIXTURE_H
#define WEIR_TEST_CONFIG_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/temp_dir.h"
#include "kit/test.h"
#include "server/config/load.h"
#include "weir/heap.h"

enum { CONFIG_WORDS = 32 };

struct config_fixture {
    struct weir_config_sources sources;
    const char *environment[CONFIG_WORDS];
    const char *sets[CONFIG_WORDS];
    struct weir_config *config; /* of the last load */
    struct weir_mistakes mistakes;
    struct weir_mistakes warnings;
    struct weir_error error;
};

/* What every configuration needs. */
#define CONFIG_DATABASE "[database shop]\nurl = sqlite:shop.db\n"

static inline void config_write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wbe");

    check(file != NULL);
    check_int(fwrite(bytes, 1, size, file), size);
    check_int(fclose(file), 0);
    check_int(chmod(path, 0600), 0);
}

static inline void config_write(const char *path, const char *text)
{
    config_write_bytes(path, text, strlen(text));
}

/* A new folder, and no file in it. */
static inline void config_setup(struct config_fixture *self)
{
    char folder[TEMP_DIR_SIZE + 32];

    memset(self, 0, sizeof *self);
    snprintf(folder, sizeof folder, "%s/config-XXXXXX", temp_dir_of_program());
    check(mkdtemp(folder) != NULL);
    check_int(chdir(folder), 0);
    self->sources.environment = self->environment;
    self->sources.sets = self->sets;
}

/* The file of the configuration. */
static inline void config_file(struct config_fixture *self, const char *text)
{
    config_write("weir.ini", text);
    self->sources.file = "weir.ini";
}

static inline void config_variable(struct config_fixture *self, const char *text)
{
    size_t count = 0;

    while (self->environment[count] != NULL)
        count++;
    check(count + 1 < CONFIG_WORDS);
    self->environment[count] = text;
}

static inline void config_set(struct config_fixture *self, const char *text)
{
    check(self->sources.set_count < CONFIG_WORDS);
    self->sets[self->sources.set_count++] = text;
}

static inline enum weir_status config_try(struct config_fixture *self)
{
    weir_config_destroy(self->config);
    return weir_config_load(&self->sources, &self->config, &self->mistakes,
                            &self->warnings, &self->error);
}

static inline void config_load(struct config_fixture *self)
{
    if (config_try(self) == WEIR_INVALID)
        weir_test_fail(__FILE__, __LINE__, "%s", self->mistakes.items[0].text);
    check(self->config != NULL);
}

/* The load is refused with this mistake, and no other. */
static inline void config_refuse(struct config_fixture *self, const char *line)
{
    check_status(config_try(self), WEIR_INVALID);
    check(self->config == NULL);
    check_str(self->mistakes.items[0].text, line);
    check_int(self->mistakes.count, 1);
}

/* A file of these lines behind those of a database is refused so. */
static inline void config_refuse_file(const char *text, const char *line)
{
    struct config_fixture fixture;
    char file[4096];

    config_setup(&fixture);
    snprintf(file, sizeof file, "%s%s", CONFIG_DATABASE, text);
    config_file(&fixture, file);
    config_refuse(&fixture, line);
}

static inline void config_teardown(struct config_fixture *self)
{
    weir_config_destroy(self->config);
    self->config = NULL;
}

#endif
