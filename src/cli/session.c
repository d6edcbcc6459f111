/*
 * session.c - see session.h.
 */
#include "cli/session.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/text.h"
#include "db/db.h"
#include "outbox/schema.h"
#include "weir/audit.h"
#include "weir/inspect.h"

enum { QUEUES_MAX = 64, WORD_SIZE = 64, USER_SIZE = WEIR_AUDIT_NAME_SIZE_MAX };

static const char *file_of(const struct weir_session *self)
{
    const struct weir_url *url = &weir_db_config(self->db)->url;

    return weir_url_is_memory(url) ? NULL : url->path;
}

bool weir_session_file_missing(const struct weir_session *self)
{
    const char *path = file_of(self);
    struct stat found;

    return path != NULL && stat(path, &found) != 0 && errno == ENOENT;
}

static int create_db(struct weir_session *self, const struct weir_session_wishes *wishes)
{
    struct weir_db_options options;
    struct weir_error error = {0};

    weir_db_options_init(&options);
    options.url = self->shared.db;
    options.prefix = self->shared.prefix;
    options.connections_max =
        16 + wishes->producers; /* what a relay uses at once, and some */
    if (weir_db_create(&options, &self->db, &error) != WEIR_OK)
        return weir_session_fail(self, &error, NULL);
    weir_url_describe(&weir_db_config(self->db)->url, self->name, sizeof self->name);
    return WEIR_EXIT_DONE;
}

/* Until the database can be reached, or will never be, or the command has waited
 * enough. */
static int reach(const struct weir_session *self,
                 const struct weir_session_wishes *wishes)
{
    struct weir_connection *connection = NULL;
    struct weir_error error = {0};
    enum weir_status status = weir_db_acquire(self->db, &connection, &error);

    while (status != WEIR_OK && weir_status_class(status) == WEIR_CLASS_RETRY &&
           wishes->away != NULL) {
        if (!wishes->away(wishes->state, &error))
            return WEIR_EXIT_FAILED;
        status = weir_db_acquire(self->db, &connection, &error);
    }
    weir_db_release(self->db, connection);
    return status == WEIR_OK ? WEIR_EXIT_DONE : weir_session_fail(self, &error, NULL);
}

/* Tables that are there and of a version we can work on. */
static int check_schema(const struct weir_session *self)
{
    struct weir_connection *connection = NULL;
    struct weir_schema_version version = {0};
    struct weir_error error = {0};
    enum weir_status status = weir_db_acquire(self->db, &connection, &error);

    if (status == WEIR_OK)
        status = weir_schema_read(&weir_outbox_schema, connection, &version, &error);
    if (status == WEIR_OK && version.number > 0)
        status = weir_schema_check(&weir_outbox_schema, connection, &error);
    weir_db_release(self->db, connection);
    if (status != WEIR_OK)
        return weir_session_fail(self, &error, NULL);
    if (version.number == 0)
        return weir_command_fail(self->command,
                                 "%s has no tables with prefix '%s'; run 'weir migrate'",
                                 self->name, weir_db_prefix(self->db));
    return WEIR_EXIT_DONE;
}

static int create_outbox(struct weir_session *self,
                         const struct weir_session_wishes *wishes)
{
    struct weir_outbox_options options;
    struct weir_error error = {0};

    weir_outbox_options_init(&options);
    options.db = self->db;
    options.no_savepoint = true; /* what fails here is rolled back as a whole */
    options.profile = wishes->profile;
    if (wishes->payload_size_max > 0)
        options.payload_size_max = wishes->payload_size_max;
    if (wishes->handlers > 0)
        options.handlers = wishes->handlers;
    if (weir_outbox_create(&options, &self->outbox, &error) != WEIR_OK)
        return weir_session_fail(self, &error, NULL);
    return WEIR_EXIT_DONE;
}

/* By whose order operators' commands act: the user that runs the process. */
static void set_actor(void)
{
    static char user[USER_SIZE];
    static const struct weir_audit_actor actor = {.name = user, .origin = WEIR_FROM_CLI};
    const struct passwd *found = getpwuid(geteuid());

    if (found != NULL && found->pw_name[0] != '\0')
        (void)weir_text_format(user, sizeof user, "%s", found->pw_name);
    else
        (void)weir_text_format(user, sizeof user, "uid %lu", (unsigned long)geteuid());
    (void)weir_audit_act_as(&actor);
}

void weir_session_refused(const struct weir_session *self, const char *action,
                          const char *target, enum weir_status status)
{
    const struct weir_audit_entry entry = {
        .action = action, .target = target, .outcome = status};

    if (self->command->operates && weir_status_class(status) != WEIR_CLASS_RETRY)
        (void)!weir_audit_write(self->db, NULL, &entry, NULL);
}

int weir_session_open(struct weir_session *self, const struct weir_command *command,
                      enum weir_session_need need,
                      const struct weir_session_wishes *wishes)
{
    static const struct weir_session_wishes NONE = {0};
    int code;

    *self = (struct weir_session){.command = command, .shared = weir_command_shared()};
    if (wishes == NULL)
        wishes = &NONE;
    if (command->operates)
        set_actor();
    code = create_db(self, wishes);
    if (code != WEIR_EXIT_DONE || need == WEIR_SESSION_DATABASE)
        return code;
    if (weir_session_file_missing(self))
        return weir_command_fail(command, "%s does not exist; run 'weir migrate'",
                                 self->name);
    code = reach(self, wishes);
    if (code == WEIR_EXIT_DONE)
        code = check_schema(self);
    if (code == WEIR_EXIT_DONE)
        code = create_outbox(self, wishes);
    return code;
}

void weir_session_close(struct weir_session *self)
{
    (void)weir_audit_act_as(NULL);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
    self->outbox = NULL;
    self->db = NULL;
}

int weir_session_run(struct weir_session *self, const struct weir_command *command,
                     enum weir_session_need need, int (*body)(void *state), void *state)
{
    int code = weir_session_open(self, command, need, NULL);

    if (code == WEIR_EXIT_DONE)
        code = body(state);
    weir_session_close(self);
    return code;
}

/* ---- telling ----------------------------------------------------------------------- */

struct names {
    char words[QUEUES_MAX][WORD_SIZE];
    size_t count;
};

static void keep_name(void *state, const char *name)
{
    struct names *names = state;

    if (names->count < QUEUES_MAX)
        weir_text_format(names->words[names->count++], WORD_SIZE, "%s", name);
}

static int tell_missing_queue(const struct weir_session *self, const char *queue)
{
    struct names names = {.count = 0};
    const char *words[QUEUES_MAX];
    const char *nearest = NULL;

    if (weir_outbox_read_queue_names(self->outbox, keep_name, &names, NULL) == WEIR_OK) {
        for (size_t i = 0; i < names.count; i++)
            words[i] = names.words[i];
        nearest = weir_nearest_find(queue, words, names.count);
    }
    if (nearest != NULL)
        return weir_command_fail(self->command,
                                 "there is no queue '%s', did you mean '%s'? "
                                 "'weir queue list' lists all",
                                 queue, nearest);
    return weir_command_fail(self->command,
                             "there is no queue '%s'; make it with "
                             "'weir queue add %s --partitions N'",
                             queue, queue);
}

static const char *remedy_of(const struct weir_session *self,
                             const struct weir_error *error)
{
    switch (error->status) {
    case WEIR_LOST:
        return "; is the server running, and --db right?";
    case WEIR_DENIED:
        if (strncmp(error->sqlstate, "28", 2) == 0) /* authentication failed */
            return "; check user and password in --db";
        return self->db != NULL && weir_db_traits(self->db)->in_process
                   ? "; see the owner of the file and of its folder"
                   : "; see docs/roles.md for the rights that are needed";
    case WEIR_LOCKED:
        return "; another transaction holds a lock, try again";
    case WEIR_DISK_FULL:
        return "; make room and try again";
    default:
        return "";
    }
}

int weir_session_fail(const struct weir_session *self, const struct weir_error *error,
                      const char *queue)
{
    switch (error->status) {
    case WEIR_NOT_FOUND:
        if (queue != NULL)
            return tell_missing_queue(self, queue);
        break;
    case WEIR_INVALID:
    case WEIR_OUT_OF_RANGE:
    case WEIR_TOO_LARGE:
        return weir_command_misuse(self->command, "%s", error->text);
    default:
        break;
    }
    return weir_command_fail(self->command, "%s%s", error->text, remedy_of(self, error));
}
