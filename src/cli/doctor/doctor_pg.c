/*
 * doctor_pg.c - see doctor.h.
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdlib.h>

#include "base/noun.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "db/db.h"
#include "outbox/postgres/copy.h"
#include "outbox/postgres/creators.h"
#include "outbox/schema.h"

/* The first with 64-bit transaction ids in SQL. */
enum { VERSION_NEEDED = 130000 };

enum { OLD_TRANSACTION_S = 600, VERSION_STEP = 10000 };

/* A leaf is emptied as a whole, so a few of them wait at any time. */
enum { PASSED_MANY = (WEIR_LOG_LEAVES / 2) << WEIR_LOG_SEGMENT_BITS };

static const struct weir_sql SQL_SERVER = {
    .name = "read server",
    .text = "SELECT current_setting('server_version_num')::bigint, pg_is_in_recovery(),"
            " coalesce(inet_server_port(), 0)::bigint",
    .parameters = "",
};

/* Rights that delivery needs, of docs/roles.md; the schema table is only read. Of
 * messages some roles see single columns. */
#define NEEDED                                                                           \
    " FROM (VALUES ('meta', 'SELECT'), ('queue', 'INSERT UPDATE DELETE'),"               \
    "  ('subscription', 'INSERT UPDATE DELETE'), ('log', 'INSERT'), ('leaf', 'UPDATE')," \
    "  ('aside', 'INSERT UPDATE DELETE'), ('cut', 'INSERT'), ('ack', 'INSERT'),"         \
    "  ('lease', 'INSERT UPDATE DELETE'), ('member', 'INSERT UPDATE DELETE'),"           \
    "  ('dead_letter', 'INSERT UPDATE DELETE')) AS t (name, rights),"                    \
    " LATERAL unnest(string_to_array(t.rights, ' ')) AS need (privilege)"
static const struct weir_sql SQL_RIGHTS = {
    .name = "read rights",
    .text = "SELECT bool_and(has_any_column_privilege('{q}_' || t.name, 'SELECT')),"
            " bool_and(has_table_privilege('{q}_' || t.name, need.privilege)"
            " AND has_table_privilege('{q}_' || t.name, 'SELECT')),"
            " bool_and(has_table_privilege('{q}_log_0', 'TRUNCATE')"
            " AND has_sequence_privilege('{q}_log_id', 'USAGE')"
            " AND has_sequence_privilege('{q}_ack_id', 'USAGE')),"
            " bool_and(has_column_privilege('{q}_log', 'payload', 'INSERT')"
            " AND has_sequence_privilege('{q}_log_id', 'USAGE'))" NEEDED,
    .parameters = "",
};

/* Of other users only those with pg_read_all_stats see when a transaction began. */
static const struct weir_sql SQL_TRANSACTIONS = {
    .name = "read transactions",
    .text = "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - a.xact_start)),"
            " 0)::bigint, coalesce(max(age(a.backend_xmin)), 0)::bigint,"
            " (SELECT count(*) FROM pg_prepared_xacts"
            "   WHERE database = current_database())"
            " FROM pg_stat_activity a WHERE a.datname = current_database()"
            " AND a.pid <> pg_backend_pid()",
    .parameters = "",
};

/* The lowest id by index, from each leaf. */
static const struct weir_sql SQL_SPAN = {
    .name = "read span",
    .text = "SELECT coalesce((SELECT last_value FROM {p}_log_id)"
            " - (SELECT min(id) FROM {p}_log) + 1, 0)",
    .parameters = "",
};

struct server {
    int64_t version;
    bool standby;
    int64_t port;
};
static const struct weir_column SERVER[] = {
    COLUMN(struct server, version, INTEGER),
    COLUMN(struct server, standby, BOOLEAN),
    COLUMN(struct server, port, INTEGER),
};

struct rights {
    bool reads;
    bool writes;
    bool empties;
    bool enqueues;
};
static const struct weir_column RIGHTS[] = {
    COLUMN(struct rights, reads, BOOLEAN),
    COLUMN(struct rights, writes, BOOLEAN),
    COLUMN(struct rights, empties, BOOLEAN),
    COLUMN(struct rights, enqueues, BOOLEAN),
};

struct transactions {
    int64_t oldest_s;
    int64_t snapshot_age;
    int64_t prepared;
};
static const struct weir_column TRANSACTIONS[] = {
    COLUMN(struct transactions, oldest_s, INTEGER),
    COLUMN(struct transactions, snapshot_age, INTEGER),
    COLUMN(struct transactions, prepared, INTEGER),
};

/* ---- the server -------------------------------------------------------------------- */

static void judge_version(struct weir_doctor *self, int64_t version, bool standby)
{
    int library = PQlibVersion();

    if (version < VERSION_NEEDED)
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "version",
                          "install PostgreSQL 13 or later", "server %" PRId64 ".%" PRId64,
                          version / VERSION_STEP, version % VERSION_STEP);
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "version", "",
                          "server %" PRId64 ".%" PRId64 ", libpq %d.%d",
                          version / VERSION_STEP, version % VERSION_STEP,
                          library / VERSION_STEP, library % VERSION_STEP);
    if (standby)
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "role",
                          "name the primary in --db", "this server is a standby");
}

/* The port that we asked for and the one that answered differ behind a pooler. */
static void judge_pooler(struct weir_doctor *self, int64_t server_port)
{
    const PGconn *handle = weir_connection_native(self->connection);
    const char *port = PQport(handle);
    bool declared = weir_db_config(self->session.db)->url.transaction_pooler;
    int64_t ours = port != NULL ? atoll(port) : 0;

    if (declared)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "pooler", "",
                          "pooler=transaction: no LISTEN, polling instead");
    else if (server_port != 0 && ours != 0 && server_port != ours)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "pooler",
                          "if it pools transactions, add pooler=transaction to --db",
                          "port %" PRId64 " leads to port %" PRId64
                          ": something in between",
                          ours, server_port);
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "pooler", "", "none seen");
}

void weir_doctor_check_pg_server(struct weir_doctor *self)
{
    struct server server;

    if (!weir_doctor_read(self, "version", &SQL_SERVER, COLUMNS(SERVER), &server))
        return;
    judge_version(self, server.version, server.standby);
    judge_pooler(self, server.port);
}

/* ---- the dump that it comes from --------------------------------------------------- */

/*
 * A role that may not see the table cannot deliver either: the check of rights reports
 * that.
 */
void weir_doctor_check_pg_hole(struct weir_doctor *self)
{
    struct weir_pg_hole hole;
    struct weir_error error = {0};
    enum weir_status status = weir_pg_hole_read(self->connection, &hole, &error);

    if (status == WEIR_DENIED)
        return;
    if (status != WEIR_OK)
        weir_doctor_note_failure(self, "dump", &error);
    else if (weir_pg_hole_is_there(&hole))
        weir_findings_add(
            &self->findings, WEIR_VERDICT_BROKEN, "dump",
            "restore another dump, or run 'weir migrate --restored "
            "--with-holes'",
            "restored from a dump with a hole: it misses what copies %" PRId64
            " to %" PRId64 " have moved",
            hole.copied + 1, hole.emptied);
}

/* ---- the tables -------------------------------------------------------------------- */

static void judge_rights(struct weir_doctor *self, const struct rights *rights)
{
    if (rights->reads && rights->writes && rights->empties)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "rights", "",
                          "this user may enqueue and deliver");
    else if (rights->reads && rights->writes)
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "rights",
                          "grant TRUNCATE, and USAGE on the sequences (docs/roles.md)",
                          "this user may deliver, but not remove what was delivered");
    else if (rights->enqueues || rights->reads)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "rights",
                          "use another user to deliver (docs/roles.md)",
                          "this user may only %s", rights->enqueues ? "enqueue" : "read");
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_BROKEN, "rights",
                          "see docs/roles.md", "this user may not use the tables");
}

static void judge_transactions(struct weir_doctor *self, const struct transactions *found)
{
    int64_t snapshot_age = found->snapshot_age;
    char age[WEIR_AGE_SIZE];

    if (found->oldest_s < OLD_TRANSACTION_S)
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "transactions", "",
                          "oldest %s, oldest snapshot %" PRId64 " %s back",
                          weir_output_age(found->oldest_s * 1000000, age), snapshot_age,
                          WEIR_NOUN(snapshot_age, "transaction", "transactions"));
    else
        weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "transactions",
                          "find it in pg_stat_activity and end it",
                          "one is open for %s, a snapshot %" PRId64 " %s back",
                          weir_output_age(found->oldest_s * 1000000, age), snapshot_age,
                          WEIR_NOUN(snapshot_age, "transaction", "transactions"));
    if (found->prepared > 0)
        weir_findings_add(&self->findings, WEIR_VERDICT_NOTE, "transactions",
                          "see pg_prepared_xacts",
                          "%" PRId64 " prepared: messages in them wait for the commit",
                          found->prepared);
}

static void check_creators(struct weir_doctor *self)
{
    struct weir_creators creators;
    struct weir_error error = {0};
    char remedy[2 * WEIR_CREATORS_SIZE + sizeof "REVOKE CREATE ON SCHEMA FROM"];

    if (weir_creators_read(&creators, self->connection, &error) != WEIR_OK) {
        weir_doctor_note_failure(self, "creators", &error);
        return;
    }
    if (creators.roles[0] == '\0') {
        weir_findings_add(&self->findings, WEIR_VERDICT_OK, "creators", "",
                          "no others may create in schema %s", creators.schema);
        return;
    }
    (void)weir_text_format(remedy, sizeof remedy, "REVOKE CREATE ON SCHEMA %s FROM %s",
                           creators.schema, creators.roles);
    weir_findings_add(&self->findings, WEIR_VERDICT_WARNING, "creators", remedy,
                      "others may create in schema %s, and have their operators and "
                      "functions called by its users: %s",
                      creators.schema, creators.roles);
}

void weir_doctor_check_pg_tables(struct weir_doctor *self)
{
    struct rights rights;
    struct transactions found;

    if (weir_doctor_read(self, "rights", &SQL_RIGHTS, COLUMNS(RIGHTS), &rights))
        judge_rights(self, &rights);
    if (weir_doctor_read(self, "transactions", &SQL_TRANSACTIONS, COLUMNS(TRANSACTIONS),
                         &found))
        judge_transactions(self, &found);
    weir_doctor_check_sweep(self, &SQL_SPAN, PASSED_MANY);
    check_creators(self);
    weir_doctor_check_roles(self);
}
