/*
 * demo_site.c - see demo_site.h.
 */
#include "cli/demo/demo_site.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/noun.h"
#include "base/text.h"
#include "cli/demo/demo_shop.h"
#include "db/db.h"
#include "outbox/schema.h"
#include "weir/inspect.h"

#define FILE_NAME "demo.db"
#define REMOVAL "'weir queue remove " WEIR_SHOP_QUEUE " --force'"

#define SQL_DROP_TABLE "DROP TABLE IF EXISTS " WEIR_SHOP_TABLE
/* MariaDB reads the comment: its default may be without transactions. */
#define SQL_CREATE_TABLE                                                                 \
    "CREATE TABLE " WEIR_SHOP_TABLE                                                      \
    " (number BIGINT PRIMARY KEY, customer TEXT NOT NULL, total BIGINT NOT NULL)"        \
    " /*! ENGINE = InnoDB */"

/* All rows: once, at the end. */
static const struct weir_sql SQL_COUNT_ORDERS = {
    .name = "count orders",
    .text = "SELECT count(*) FROM " WEIR_SHOP_TABLE,
    .parameters = "",
};

/* ---- the folder -------------------------------------------------------------------- */

static int make_temporary_folder(struct weir_demo_site *self)
{
    const char *parent = getenv("TMPDIR");

    weir_text_format(self->folder, sizeof self->folder, "%s/weir-demo-XXXXXX",
                     parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    if (mkdtemp(self->folder) == NULL) {
        self->folder[0] = '\0';
        return weir_command_fail(self->session.command,
                                 "cannot make a temporary folder: %s; name one by --dir",
                                 strerror(errno));
    }
    self->temporary = true;
    return WEIR_EXIT_DONE;
}

static int make_given_folder(struct weir_demo_site *self, const char *dir)
{
    const struct weir_command *command = self->session.command;
    char file[PATH_MAX + 16];
    struct stat found;

    if (strlen(dir) >= sizeof self->folder)
        return weir_command_misuse(command, "--dir is longer than a path can be");
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return weir_command_fail(command, "cannot make the folder '%s': %s", dir,
                                 strerror(errno));
    weir_text_format(file, sizeof file, "%s/" FILE_NAME, dir);
    if (stat(file, &found) == 0)
        return weir_command_fail(
            command,
            "'%s' is there already, from another run; remove it or name "
            "another folder",
            file);
    weir_text_format(self->folder, sizeof self->folder, "%s", dir);
    return WEIR_EXIT_DONE;
}

/* Nothing but the database and what SQLite and weir put beside it is in there. */
void weir_demo_site_remove_folder(struct weir_demo_site *self)
{
    const struct dirent *entry;
    DIR *folder;

    if (!self->temporary)
        return;
    folder = opendir(self->folder);
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    rmdir(self->folder);
    self->temporary = false;
}

/* ---- opening ----------------------------------------------------------------------- */

/* A path may have characters that mean something else in a URL. */
static void write_url(struct weir_demo_site *self)
{
    size_t size = weir_text_format(self->url, sizeof self->url, "sqlite:");

    for (const char *at = self->folder; *at != '\0'; at++)
        size += weir_text_format(self->url + size, sizeof self->url - size,
                                 strchr("%?", *at) != NULL ? "%%%02X" : "%c",
                                 (unsigned char)*at);
    weir_text_format(self->url + size, sizeof self->url - size, "/" FILE_NAME);
}

static int create_db(struct weir_demo_site *self)
{
    struct weir_session *session = &self->session;
    struct weir_db_options options;
    struct weir_error error = {0};

    if (self->folder[0] != '\0') {
        write_url(self);
        session->shared.db = self->url;
    }
    weir_db_options_init(&options);
    options.url = session->shared.db;
    options.prefix = session->shared.prefix;
    if (weir_db_create(&options, &session->db, &error) != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    weir_url_describe(&weir_db_config(session->db)->url, session->name,
                      sizeof session->name);
    if (self->folder[0] == '\0' && weir_session_file_missing(session))
        return weir_command_fail(session->command,
                                 "%s does not exist; without --db the demo makes a "
                                 "database of its own",
                                 session->name);
    return WEIR_EXIT_DONE;
}

/* Make the tables where there are none. Those that are there are left as they are:
 * bringing them up to date is a decision, and 'weir migrate' is how it is made. */
static enum weir_status make_tables(struct weir_demo_site *self, struct weir_error *error)
{
    struct weir_db *db = self->session.db;
    struct weir_connection *connection = NULL;
    struct weir_schema_version version = {0};
    enum weir_status status = weir_db_acquire(db, &connection, error);

    if (status == WEIR_OK)
        status = weir_schema_read(&weir_outbox_schema, connection, &version, error);
    weir_db_release(db, connection);
    if (status == WEIR_OK && version.number == 0)
        status = weir_outbox_migrate(db, error);
    return status;
}

static enum weir_status create_outbox(struct weir_demo_site *self,
                                      struct weir_error *error)
{
    struct weir_outbox_options options;

    weir_outbox_options_init(&options);
    options.db = self->session.db;
    options.profile = WEIR_PROFILE_LOW_LATENCY;
    options.stats_interval_ns = 0;
    options.no_savepoint = true; /* an order that fails is rolled back as a whole */
    return weir_outbox_create(&options, &self->session.outbox, error);
}

/* ---- what another run has left ----------------------------------------------------- */

struct leftover {
    bool exists;
    bool alive; /* a process delivers */
    int64_t waiting;
    int64_t dead_letters;
};

static void note_queue(void *state, const struct weir_queue_info *info)
{
    struct leftover *leftover = state;

    leftover->exists = true;
    leftover->waiting = info->waiting;
    leftover->dead_letters = info->dead_letters;
}

static void note_process(void *state, const struct weir_process_info *info)
{
    (void)info;
    ((struct leftover *)state)->alive = true;
}

static enum weir_status find_leftover(struct weir_demo_site *self, struct leftover *out,
                                      struct weir_error *error)
{
    struct weir_outbox *outbox = self->session.outbox;
    enum weir_status status =
        weir_outbox_read_queue(outbox, WEIR_SHOP_QUEUE, note_queue, out, error);

    if (status == WEIR_NOT_FOUND)
        return WEIR_OK;
    if (status == WEIR_OK)
        status =
            weir_outbox_read_processes(outbox, WEIR_SHOP_QUEUE, note_process, out, error);
    return status;
}

static int refuse_leftover(const struct weir_demo_site *self,
                           const struct leftover *leftover)
{
    if (leftover->alive)
        return weir_command_fail(self->session.command,
                                 "%s: another demo is at work there, or was a moment "
                                 "ago; wait until it has ended",
                                 self->session.name);
    return weir_command_fail(
        self->session.command,
        "%s: another demo has left queue '" WEIR_SHOP_QUEUE "' with %" PRId64
        " %s and %" PRId64 " %s; remove it with " REMOVAL,
        self->session.name, leftover->waiting,
        WEIR_NOUN(leftover->waiting, "message", "messages"), leftover->dead_letters,
        WEIR_NOUN(leftover->dead_letters, "dead letter", "dead letters"));
}

static enum weir_status execute(struct weir_demo_site *self, const char *text,
                                struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    enum weir_status status = weir_db_acquire(self->session.db, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_execute_text(connection, text, error);
    weir_db_release(self->session.db, connection);
    return status;
}

/* The queue is the shop's to make; here it is seen to that it is new, and the table
 * with it. */
static int clear_ground(struct weir_demo_site *self)
{
    struct leftover leftover = {false};
    struct weir_error error = {0};
    enum weir_status status = find_leftover(self, &leftover, &error);

    if (status == WEIR_OK &&
        (leftover.alive || leftover.waiting > 0 || leftover.dead_letters > 0))
        return refuse_leftover(self, &leftover);
    if (status == WEIR_OK && leftover.exists)
        status = weir_outbox_remove_queue(self->session.outbox, WEIR_SHOP_QUEUE, false,
                                          &error);
    if (status == WEIR_OK)
        status = execute(self, SQL_DROP_TABLE, &error);
    if (status == WEIR_OK)
        status = execute(self, SQL_CREATE_TABLE, &error);
    if (status != WEIR_OK)
        return weir_session_fail(&self->session, &error, NULL);
    self->made = true;
    return WEIR_EXIT_DONE;
}

int weir_demo_site_found(struct weir_demo_site *self, const struct weir_command *command,
                         const char *dir)
{
    int code = WEIR_EXIT_DONE;

    *self = (struct weir_demo_site){
        .session = {.command = command, .shared = weir_command_shared()}};
    if (dir != NULL)
        code = make_given_folder(self, dir);
    else if (!self->session.shared.db_given)
        code = make_temporary_folder(self);
    return code == WEIR_EXIT_DONE ? create_db(self) : code;
}

int weir_demo_site_open(struct weir_demo_site *self, const struct weir_command *command,
                        const char *dir)
{
    struct weir_error error = {0};
    int code = weir_demo_site_found(self, command, dir);

    if (code != WEIR_EXIT_DONE)
        return code;
    if (make_tables(self, &error) != WEIR_OK || create_outbox(self, &error) != WEIR_OK)
        return weir_session_fail(&self->session, &error, NULL);
    return clear_ground(self);
}

/* ---- the end ----------------------------------------------------------------------- */

enum weir_status weir_demo_site_count(struct weir_demo_site *self, int64_t *orders,
                                      int64_t *dead_letters, struct weir_error *error)
{
    struct weir_connection *connection = NULL;
    struct leftover kept = {false};
    enum weir_status status = weir_db_acquire(self->session.db, &connection, error);

    if (status == WEIR_OK)
        status = weir_connection_query_integer(connection, &SQL_COUNT_ORDERS, NO_VALUES,
                                               orders, error);
    weir_db_release(self->session.db, connection);
    if (status == WEIR_OK)
        status = weir_outbox_read_queue(self->session.outbox, WEIR_SHOP_QUEUE, note_queue,
                                        &kept, error);
    *dead_letters = kept.dead_letters;
    return status;
}

/* Out of a database with other data. */
static int remove_traces(struct weir_demo_site *self)
{
    struct weir_error error = {0};
    enum weir_status status;

    if (!self->made || self->folder[0] != '\0')
        return WEIR_EXIT_DONE;
    status =
        weir_outbox_remove_queue(self->session.outbox, WEIR_SHOP_QUEUE, true, &error);
    if (status == WEIR_OK || status == WEIR_NOT_FOUND)
        status = execute(self, SQL_DROP_TABLE, &error);
    if (status == WEIR_OK)
        return WEIR_EXIT_DONE;
    return weir_command_fail(self->session.command,
                             "cannot remove what the demo has made: %s; run " REMOVAL,
                             error.text);
}

int weir_demo_site_close(struct weir_demo_site *self)
{
    int code = remove_traces(self);

    weir_session_close(&self->session);
    weir_demo_site_remove_folder(self);
    return code;
}
