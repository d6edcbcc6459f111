/*
 * schema.c - the tables of the outbox.
 *
 *   queue          a name, the number of partitions, policies
 *   subscription   a reader of a queue; positions and leases belong to it
 *   log            the messages, append-only (PostgreSQL: in eight leaves)
 *   aside          messages that a slow subscription still needs when their leaf was
 *                  emptied
 *   ack            positions (PostgreSQL: appended, in four leaves; SQLite: one row each)
 *   lease          which process delivers which partition
 *   member         processes that serve a subscription, and by what each is known alive
 *   dead_letter    messages that were rejected
 *   meta           what the library must know of this database
 *   cut, leaf      PostgreSQL: the ticks of the log's order; what each leaf was emptied
 *                  at
 *   copy           PostgreSQL: the newest copy of each leaf; and, in a sequence, the
 *                  newest by which one was emptied (postgres/copy.h)
 *   backlog        how much waits in queues with a limit (PostgreSQL: sequences,
 *                  postgres/backlog.c)
 *   incoming, era  MariaDB: where producers append (mariadb/log.h), and what pins it
 *   counter        MariaDB: the log's head and how far it was swept; a lock for
 *                  subscribing
 *
 * A partition is one number, queue * 64 + partition, so that a message names both in
 * one column and no table of partitions is needed. Ids of queues are never used again:
 * what is left of a removed queue cannot be taken for that of another queue. Times are
 * microseconds since 1970 in an integer on all engines, so most statements are the same
 * on all of them.
 *
 * On PostgreSQL the order of the first two columns of the log is part of the design:
 * defaults are evaluated in the order of the columns, so that a transaction id is
 * always taken before a message id.
 */
#include "outbox/schema.h"

#include "base/count.h"
#include "outbox/producer.h"

/* Dead letters: the list, newest first; what may be claimed, by deadline; what
 * retention ends. The statements must repeat the conditions word by word
 * (dead_letter_rows.h), or SQLite does not use the index. MariaDB has no partial
 * indexes: there the open ones are found by their status, which comes first in the
 * index, and the closed ones by a time that the others do not have. */
#define LETTER_INDEXES                                                                   \
    "CREATE INDEX {p}_dead_letter_by_failure ON {p}_dead_letter"                         \
    " (status, failed_us, id)",                                                          \
        "CREATE INDEX {p}_dead_letter_open ON {p}_dead_letter (deadline_us, id)"         \
        " WHERE status IN ('pending', 'reprocessing')",                                  \
        "CREATE INDEX {p}_dead_letter_closed ON {p}_dead_letter (completed_us)"          \
        " WHERE status IN ('resolved', 'discarded')"

/* ---- SQLite ------------------------------------------------------------------------ */

static const char *const SQLITE_1[] = {
    "CREATE TABLE {p}_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",

    "CREATE TABLE {p}_queue ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " name TEXT NOT NULL UNIQUE,"
    " partitions INTEGER NOT NULL,"
    " paused INTEGER NOT NULL DEFAULT 0,"
    " unread INTEGER NOT NULL DEFAULT 0," /* enum weir_unread */
    " backlog_max INTEGER NOT NULL DEFAULT 0,"
    " attempts_max INTEGER NOT NULL DEFAULT 0,"
    " retention_us INTEGER NOT NULL DEFAULT 0," /* of dead letters; 0: for ever */
    " removed_cut INTEGER NOT NULL DEFAULT 0," /* place behind the highest ever removed */
    " removed_id INTEGER NOT NULL DEFAULT 0,"
    " created_us INTEGER NOT NULL)",

    "CREATE TABLE {p}_subscription ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " queue INTEGER NOT NULL,"
    " name TEXT NOT NULL,"
    " serving INTEGER NOT NULL," /* enum weir_serving */
    " created_us INTEGER NOT NULL,"
    " UNIQUE (queue, name))",

    /* AUTOINCREMENT: plain rowids begin anew when the newest rows were removed, and a
     * reader that stands behind them would never see the next ones. No second index: it
     * costs a factor of five on insert. */
    "CREATE TABLE {p}_log ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " pid INTEGER NOT NULL,"
    " created_us INTEGER NOT NULL,"
    " uid BLOB NOT NULL,"
    " message_key TEXT,"
    " type TEXT NOT NULL,"
    " headers TEXT,"
    " payload BLOB NOT NULL)",

    "CREATE TABLE {p}_aside ("
    " pid INTEGER NOT NULL,"
    " cut INTEGER NOT NULL DEFAULT 0,"
    " id INTEGER PRIMARY KEY,"
    " created_us INTEGER NOT NULL,"
    " uid BLOB NOT NULL,"
    " message_key TEXT,"
    " type TEXT NOT NULL,"
    " headers TEXT,"
    " payload BLOB NOT NULL)",
    "CREATE INDEX {p}_aside_by_partition ON {p}_aside (pid, cut, id)",

    "CREATE TABLE {p}_ack ("
    " subscription INTEGER NOT NULL,"
    " pid INTEGER NOT NULL,"
    " version INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL,"
    " incarnation TEXT NOT NULL,"
    " cut INTEGER NOT NULL,"
    " last_id INTEGER NOT NULL,"
    " seq INTEGER NOT NULL,"
    " attempts INTEGER NOT NULL DEFAULT 0,"
    " alone INTEGER NOT NULL DEFAULT 0," /* of them, in calls of its own */
    " retry_us INTEGER NOT NULL DEFAULT 0,"
    " error TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (subscription, pid)) WITHOUT ROWID",

    "CREATE TABLE {p}_lease ("
    " subscription INTEGER NOT NULL,"
    " pid INTEGER NOT NULL,"
    " owner INTEGER," /* a random number of a process; NULL: free */
    " epoch INTEGER NOT NULL DEFAULT 0,"
    " incarnation TEXT NOT NULL DEFAULT '',"
    " until_us INTEGER NOT NULL DEFAULT 0,"
    " crashes INTEGER NOT NULL DEFAULT 0,"
    " PRIMARY KEY (subscription, pid)) WITHOUT ROWID",

    "CREATE TABLE {p}_member ("
    " process INTEGER NOT NULL,"
    " subscription INTEGER NOT NULL,"
    " name TEXT NOT NULL,"
    " until_us INTEGER NOT NULL,"
    " started_us INTEGER NOT NULL,"
    " delivered INTEGER NOT NULL DEFAULT 0," /* messages, by this process */
    " rate REAL NOT NULL DEFAULT 0,"         /* per second, of late */
    " PRIMARY KEY (subscription, process)) WITHOUT ROWID",

    "CREATE TABLE {p}_dead_letter ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " subscription INTEGER NOT NULL,"
    " pid INTEGER NOT NULL,"
    " seq INTEGER NOT NULL,"
    " log_id INTEGER NOT NULL,"
    " created_us INTEGER NOT NULL,"
    " uid BLOB NOT NULL,"
    " message_key TEXT,"
    " type TEXT NOT NULL,"
    " headers TEXT,"
    " payload BLOB NOT NULL,"
    " attempts INTEGER NOT NULL,"
    " error TEXT NOT NULL,"
    " failed_us INTEGER NOT NULL,"
    " status TEXT NOT NULL DEFAULT 'pending',"
    " token INTEGER NOT NULL DEFAULT 0," /* of the last claim; 0: none that counts */
    " deadline_us INTEGER NOT NULL DEFAULT 0," /* of the claim; 0: pending for ever */
    " completed_us INTEGER NOT NULL DEFAULT 0,"
    " requeued_uid BLOB,"
    " UNIQUE (subscription, pid, seq))",
    LETTER_INDEXES,
    NULL,
};

/* ---- PostgreSQL -------------------------------------------------------------------- */

#define PG_MESSAGE                                                                       \
    " created_us bigint NOT NULL DEFAULT {now},"                                         \
    " uid bytea NOT NULL,"                                                               \
    " message_key text,"                                                                 \
    " type text NOT NULL,"                                                               \
    " headers text,"                                                                     \
    " payload bytea NOT NULL"

/* Leaves are emptied, never vacuumed: nothing in them is updated or deleted. */
#define PG_LEAF(table, n)                                                                \
    "CREATE TABLE {p}_" table "_" n " PARTITION OF {p}_" table " FOR VALUES IN (" n ")"  \
    " WITH (autovacuum_enabled = off)"
#define PG_LOG_LEAF(n)                                                                   \
    "CREATE TABLE {p}_log_" n " PARTITION OF {p}_log FOR VALUES IN (" n ")"              \
    " WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)"

static const char *const PG_1[] = {
    "CREATE TABLE {p}_meta (name text PRIMARY KEY, value text NOT NULL)",
    "INSERT INTO {p}_meta VALUES ('segment_bits', '20')",
    "INSERT INTO {p}_meta VALUES ('identity',"
    " (SELECT system_identifier FROM pg_control_system())::text || '/' ||"
    " (SELECT oid FROM pg_database WHERE datname = current_database())::text)",

    "CREATE TABLE {p}_queue ("
    " id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
    " name text NOT NULL UNIQUE,"
    " partitions integer NOT NULL,"
    " paused boolean NOT NULL DEFAULT false,"
    " unread integer NOT NULL DEFAULT 0,"
    " backlog_max bigint NOT NULL DEFAULT 0,"
    " attempts_max integer NOT NULL DEFAULT 0,"
    " retention_us bigint NOT NULL DEFAULT 0,"
    " removed_cut bigint NOT NULL DEFAULT 0,"
    " removed_id bigint NOT NULL DEFAULT 0,"
    " created_us bigint NOT NULL)",

    "CREATE TABLE {p}_subscription ("
    " id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
    " queue integer NOT NULL,"
    " name text NOT NULL,"
    " serving integer NOT NULL,"
    " created_us bigint NOT NULL,"
    " UNIQUE (queue, name))",

    "CREATE SEQUENCE {p}_log_id",
    "CREATE TABLE {p}_log ("
    " xid xid8 NOT NULL DEFAULT pg_current_xact_id()," /* first: see above */
    " id bigint NOT NULL DEFAULT nextval('{p}_log_id'),"
    " pid integer NOT NULL," PG_MESSAGE ") PARTITION BY LIST (((id >> 20) & 7))",
    PG_LOG_LEAF("0"),
    PG_LOG_LEAF("1"),
    PG_LOG_LEAF("2"),
    PG_LOG_LEAF("3"),
    PG_LOG_LEAF("4"),
    PG_LOG_LEAF("5"),
    PG_LOG_LEAF("6"),
    PG_LOG_LEAF("7"),
    "CREATE INDEX {p}_log_by_id ON {p}_log (id)",
    "CREATE INDEX {p}_log_by_xid ON {p}_log (xid, id)",

    /* Rows in leaf n belong to cuts after `emptied_cut`. */
    "CREATE TABLE {p}_leaf (leaf integer PRIMARY KEY, emptied_cut bigint NOT NULL)",
    "INSERT INTO {p}_leaf SELECT n, 0 FROM generate_series(0, 7) n",

    "CREATE TABLE {p}_aside ("
    " pid integer NOT NULL,"
    " cut bigint NOT NULL,"
    " id bigint NOT NULL," PG_MESSAGE ", PRIMARY KEY (cut, id))",
    "CREATE INDEX {p}_aside_by_partition ON {p}_aside (pid, cut, id)",

    /* Cut 0 sees nothing. */
    "CREATE TABLE {p}_cut ("
    " no bigint NOT NULL,"
    " hi bigint NOT NULL,"
    " own xid8 NOT NULL,"
    " snap pg_snapshot NOT NULL,"
    " top bigint NOT NULL,"
    " made_us bigint NOT NULL) PARTITION BY LIST (((no >> 12) & 3))",
    PG_LEAF("cut", "0"),
    PG_LEAF("cut", "1"),
    PG_LEAF("cut", "2"),
    PG_LEAF("cut", "3"),
    "CREATE INDEX {p}_cut_by_no ON {p}_cut (no)",
    "INSERT INTO {p}_cut VALUES (0, 0, '1', '1:1:', 0, 0)",

    "CREATE SEQUENCE {p}_ack_id",
    "CREATE TABLE {p}_ack ("
    " id bigint NOT NULL DEFAULT nextval('{p}_ack_id'),"
    " subscription integer NOT NULL,"
    " pid integer NOT NULL,"
    " version bigint NOT NULL,"
    " epoch bigint NOT NULL,"
    " incarnation text NOT NULL,"
    " cut bigint NOT NULL,"
    " last_id bigint NOT NULL,"
    " seq bigint NOT NULL,"
    " attempts integer NOT NULL DEFAULT 0,"
    " alone integer NOT NULL DEFAULT 0,"
    " retry_us bigint NOT NULL DEFAULT 0,"
    " error text NOT NULL DEFAULT '') PARTITION BY LIST (((id >> 16) & 3))",
    PG_LEAF("ack", "0"),
    PG_LEAF("ack", "1"),
    PG_LEAF("ack", "2"),
    PG_LEAF("ack", "3"),
    "CREATE INDEX {p}_ack_by_version ON {p}_ack (subscription, pid, version)",

    "CREATE TABLE {p}_lease ("
    " subscription integer NOT NULL,"
    " pid integer NOT NULL,"
    " owner bigint,"
    " epoch bigint NOT NULL DEFAULT 0,"
    " incarnation text NOT NULL DEFAULT '',"
    " until_us bigint NOT NULL DEFAULT 0,"
    " crashes integer NOT NULL DEFAULT 0,"
    " PRIMARY KEY (subscription, pid)) WITH (fillfactor = 50)",

    "CREATE TABLE {p}_member ("
    " process bigint NOT NULL,"
    " subscription integer NOT NULL,"
    " name text NOT NULL,"
    " until_us bigint NOT NULL,"
    " started_us bigint NOT NULL,"
    " delivered bigint NOT NULL DEFAULT 0,"
    " rate double precision NOT NULL DEFAULT 0,"
    " PRIMARY KEY (subscription, process)) WITH (fillfactor = 50)",

    /* Not a counter: one number that all processes read and write outside of transactions
     * and without dead rows. Since when a reader watches (notify_mode.h); 2:
     * none does, notify. */
    "CREATE SEQUENCE {p}_asleep",
    "SELECT setval('{p}_asleep', 2)",

    "CREATE TABLE {p}_dead_letter ("
    " id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,"
    " subscription integer NOT NULL,"
    " pid integer NOT NULL,"
    " seq bigint NOT NULL,"
    " log_id bigint NOT NULL," PG_MESSAGE ","
    " attempts integer NOT NULL,"
    " error text NOT NULL,"
    " failed_us bigint NOT NULL,"
    " status text NOT NULL DEFAULT 'pending',"
    " token bigint NOT NULL DEFAULT 0,"
    " deadline_us bigint NOT NULL DEFAULT 0,"
    " completed_us bigint NOT NULL DEFAULT 0,"
    " requeued_uid bytea,"
    " UNIQUE (subscription, pid, seq))",
    LETTER_INDEXES,
    NULL,
};

/* ---- MariaDB ----------------------------------------------------------------------- */

/*
 * Each statement commits by itself, so each may be repeated. Texts compare byte by
 * byte, also blanks at their end. Nothing is left to the defaults of the server.
 */
#define MARIA_ASCII " CHARACTER SET ascii COLLATE ascii_nopad_bin"
#define MARIA_TABLE                                                                      \
    " ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4"                \
    " COLLATE utf8mb4_nopad_bin"

#define MARIA_MESSAGE                                                                    \
    " created_us BIGINT NOT NULL,"                                                       \
    " uid BINARY(16) NOT NULL,"                                                          \
    " message_key LONGTEXT,"                                                             \
    " type VARCHAR(1024)" MARIA_ASCII " NOT NULL,"                                       \
    " headers LONGTEXT,"                                                                 \
    " payload LONGBLOB NOT NULL"

/* So that a page knows how large it will be before a payload is fetched. */
#define MARIA_SIZE " payload_size INT AS (LENGTH(payload)) STORED"

static const char *const MARIA_1[] = {
    "CREATE TABLE IF NOT EXISTS {p}_meta ("
    " name VARCHAR(64)" MARIA_ASCII " PRIMARY KEY,"
    " value TEXT NOT NULL)" MARIA_TABLE,

    "CREATE TABLE IF NOT EXISTS {p}_queue ("
    " id INT AUTO_INCREMENT PRIMARY KEY,"
    " name VARCHAR(1024)" MARIA_ASCII " NOT NULL UNIQUE,"
    " partitions INT NOT NULL,"
    " paused BOOLEAN NOT NULL DEFAULT FALSE,"
    " unread INT NOT NULL DEFAULT 0,"
    " backlog_max BIGINT NOT NULL DEFAULT 0,"
    " attempts_max INT NOT NULL DEFAULT 0,"
    " retention_us BIGINT NOT NULL DEFAULT 0,"
    " removed_cut BIGINT NOT NULL DEFAULT 0,"
    " removed_id BIGINT NOT NULL DEFAULT 0,"
    " created_us BIGINT NOT NULL)" MARIA_TABLE,

    "CREATE TABLE IF NOT EXISTS {p}_subscription ("
    " id INT AUTO_INCREMENT PRIMARY KEY,"
    " queue INT NOT NULL,"
    " name VARCHAR(1024)" MARIA_ASCII " NOT NULL,"
    " serving INT NOT NULL,"
    " created_us BIGINT NOT NULL,"
    " UNIQUE (queue, name))" MARIA_TABLE,

    /* Why there are eras: mariadb/log.h. Sequences are outside of all transactions, for
     * readers too. */
    "CREATE SEQUENCE IF NOT EXISTS {p}_incoming_id CACHE 1000 ENGINE = InnoDB",
    "CREATE SEQUENCE IF NOT EXISTS {p}_era_now NOCACHE ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS {p}_era (no BIGINT PRIMARY KEY)" MARIA_TABLE,
    "INSERT IGNORE INTO {p}_era SELECT next_not_cached_value FROM {p}_era_now",
    "CREATE TABLE IF NOT EXISTS {p}_incoming ("
    " era BIGINT NOT NULL,"
    " id BIGINT NOT NULL,"
    " pid INT NOT NULL," MARIA_MESSAGE ","
    " PRIMARY KEY (era, id),"
    " CONSTRAINT {p}_incoming_era FOREIGN KEY (era) REFERENCES {p}_era (no))" MARIA_TABLE,

    "CREATE TABLE IF NOT EXISTS {p}_counter ("
    " name VARCHAR(16)" MARIA_ASCII " PRIMARY KEY,"
    " value BIGINT NOT NULL)" MARIA_TABLE,
    "INSERT IGNORE INTO {p}_counter VALUES"
    " ('head', 0), ('published', 0), ('flushed', 0), ('rotated', 0), ('swept', 0),"
    " ('subscribe', 0)",

    /* `id` is the place in the log's order, `source_id` the message's id in incoming. */
    "CREATE TABLE IF NOT EXISTS {p}_log ("
    " id BIGINT PRIMARY KEY,"
    " source_id BIGINT NOT NULL,"
    " pid INT NOT NULL," MARIA_MESSAGE "," MARIA_SIZE ")" MARIA_TABLE,

    "CREATE TABLE IF NOT EXISTS {p}_aside ("
    " pid INT NOT NULL,"
    " cut BIGINT NOT NULL DEFAULT 0,"
    " id BIGINT PRIMARY KEY,"
    " source_id BIGINT NOT NULL," MARIA_MESSAGE "," MARIA_SIZE ","
    " INDEX {p}_aside_by_partition (pid, cut, id))" MARIA_TABLE,

    "CREATE TABLE IF NOT EXISTS {p}_ack ("
    " subscription INT NOT NULL,"
    " pid INT NOT NULL,"
    " version BIGINT NOT NULL,"
    " epoch BIGINT NOT NULL,"
    " incarnation VARCHAR(100) NOT NULL,"
    " cut BIGINT NOT NULL,"
    " last_id BIGINT NOT NULL,"
    " seq BIGINT NOT NULL,"
    " attempts INT NOT NULL DEFAULT 0,"
    " alone INT NOT NULL DEFAULT 0,"
    " retry_us BIGINT NOT NULL DEFAULT 0,"
    " error LONGTEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (subscription, pid))" MARIA_TABLE,

    "CREATE TABLE IF NOT EXISTS {p}_lease ("
    " subscription INT NOT NULL,"
    " pid INT NOT NULL,"
    " owner BIGINT,"
    " epoch BIGINT NOT NULL DEFAULT 0,"
    " incarnation VARCHAR(100) NOT NULL DEFAULT '',"
    " until_us BIGINT NOT NULL DEFAULT 0,"
    " crashes INT NOT NULL DEFAULT 0,"
    " PRIMARY KEY (subscription, pid))" MARIA_TABLE,

    "CREATE TABLE IF NOT EXISTS {p}_member ("
    " process BIGINT NOT NULL,"
    " subscription INT NOT NULL,"
    " name TEXT NOT NULL,"
    " until_us BIGINT NOT NULL,"
    " started_us BIGINT NOT NULL,"
    " delivered BIGINT NOT NULL DEFAULT 0,"
    " rate DOUBLE NOT NULL DEFAULT 0,"
    " PRIMARY KEY (subscription, process))" MARIA_TABLE,

    "CREATE TABLE IF NOT EXISTS {p}_dead_letter ("
    " id BIGINT AUTO_INCREMENT PRIMARY KEY,"
    " subscription INT NOT NULL,"
    " pid INT NOT NULL,"
    " seq BIGINT NOT NULL,"
    " log_id BIGINT NOT NULL," MARIA_MESSAGE ","
    " attempts INT NOT NULL,"
    " error LONGTEXT NOT NULL,"
    " failed_us BIGINT NOT NULL,"
    " status VARCHAR(16)" MARIA_ASCII " NOT NULL DEFAULT 'pending',"
    " token BIGINT NOT NULL DEFAULT 0,"
    " deadline_us BIGINT NOT NULL DEFAULT 0,"
    " completed_us BIGINT NOT NULL DEFAULT 0,"
    " requeued_uid BINARY(16),"
    " UNIQUE (subscription, pid, seq),"
    " INDEX {p}_dead_letter_by_failure (status, failed_us, id),"
    " INDEX {p}_dead_letter_open (status, deadline_us, id),"
    " INDEX {p}_dead_letter_closed (completed_us))" MARIA_TABLE,
    NULL,
};

/* ---- 2: by what a process is known alive ------------------------------------------- */

/*
 * Rows of a library that knows nothing of this are known by their lease, of no version.
 * `beat_us` is the database's clock at the last heartbeat, which on SQLite is that of
 * the process.
 */
static const char *const SQLITE_2[] = {
    "ALTER TABLE {p}_member ADD COLUMN alive_by INTEGER NOT NULL DEFAULT 0", /* enum */
    "ALTER TABLE {p}_member ADD COLUMN library TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE {p}_member ADD COLUMN clock_off_us INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE {p}_member ADD COLUMN beat_us INTEGER NOT NULL DEFAULT 0",
    NULL,
};

static const char *const PG_2[] = {
    "ALTER TABLE {p}_member"
    " ADD COLUMN alive_by integer NOT NULL DEFAULT 0,"
    " ADD COLUMN library text NOT NULL DEFAULT '',"
    " ADD COLUMN clock_off_us bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN beat_us bigint NOT NULL DEFAULT 0",
    NULL,
};

static const char *const MARIA_2[] = {
    "ALTER TABLE {p}_member"
    " ADD COLUMN IF NOT EXISTS alive_by INT NOT NULL DEFAULT 0,"
    " ADD COLUMN IF NOT EXISTS library VARCHAR(64)" MARIA_ASCII " NOT NULL DEFAULT '',"
    " ADD COLUMN IF NOT EXISTS clock_off_us BIGINT NOT NULL DEFAULT 0,"
    " ADD COLUMN IF NOT EXISTS beat_us BIGINT NOT NULL DEFAULT 0",
    NULL,
};

/* ---- 3: producers in SQL ----------------------------------------------------------- */

/* How large a payload may be that they give. Servers: postgres/producer.c,
 * mariadb/producer.c. */
static const char *const SQLITE_3[] = {
    "INSERT OR IGNORE INTO {p}_meta VALUES ('payload_max', '65536')",
    NULL,
};

/* ---- 5: how often something of a queue was removed --------------------------------- */

/* The removed place is that of the furthest partition, so that it says nothing of the
 * others. A process that reads on from before it needs to know of each removal
 * (partition_table_fill.c). */
static const char *const SQLITE_5[] = {
    "ALTER TABLE {p}_queue ADD COLUMN removals INTEGER NOT NULL DEFAULT 0",
    NULL,
};

static const char *const PG_5[] = {
    "ALTER TABLE {p}_queue ADD COLUMN removals bigint NOT NULL DEFAULT 0",
    NULL,
};

static const char *const MARIA_5[] = {
    "ALTER TABLE {p}_queue ADD COLUMN IF NOT EXISTS removals BIGINT NOT NULL DEFAULT 0",
    NULL,
};

/* ---- 6: marks of calls ------------------------------------------------------------- */

/*
 * `trying`: the message that a call was about to begin with, 0 for none, below 0 for a
 * call alone; `marks_from`: the first epoch whose marks are found (mark.h). A library
 * that knows neither leaves marks as they are, of messages that it has passed: those
 * are never found. Acks lock leases first, so this does.
 */
static const char *const SQLITE_6[] = {
    "ALTER TABLE {p}_lease ADD COLUMN marks_from INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE {p}_ack ADD COLUMN trying INTEGER NOT NULL DEFAULT 0",
    NULL,
};

static const char *const PG_6[] = {
    "ALTER TABLE {p}_lease ADD COLUMN marks_from bigint NOT NULL DEFAULT 0",
    "ALTER TABLE {p}_ack ADD COLUMN trying bigint NOT NULL DEFAULT 0",
    NULL,
};

static const char *const MARIA_6[] = {
    "ALTER TABLE {p}_lease"
    " ADD COLUMN IF NOT EXISTS marks_from BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE {p}_ack ADD COLUMN IF NOT EXISTS trying BIGINT NOT NULL DEFAULT 0",
    NULL,
};

/* ---- 7: queues that are being removed ---------------------------------------------- */

/* Until when (queue_removal.h). The producers' functions look at it; on MariaDB from
 * their index. */
static const char *const SQLITE_7[] = {
    "ALTER TABLE {p}_queue ADD COLUMN going_us INTEGER NOT NULL DEFAULT 0",
    NULL,
};

static const char *const PG_7[] = {
    "ALTER TABLE {p}_queue ADD COLUMN going_us bigint NOT NULL DEFAULT 0",
    NULL,
};

static const char *const MARIA_7[] = {
    "ALTER TABLE {p}_queue ADD COLUMN IF NOT EXISTS going_us BIGINT NOT NULL DEFAULT 0",
    "CREATE OR REPLACE INDEX {p}_queue_of_producers ON {p}_queue"
    " (name, partitions, backlog_max, going_us)",
    NULL,
};

/* ---- 9: copies of leaves ----------------------------------------------------------- */

/* A message may stand in the log and aside at once from here on. Older libraries would
 * deliver it twice, so they must not use this schema. */
static const char *const PG_9[] = {
    "CREATE TABLE {p}_copy ("
    " leaf text PRIMARY KEY,"
    " no bigint NOT NULL DEFAULT 0,"
    " mark bigint NOT NULL DEFAULT -1,"
    " kept bigint NOT NULL DEFAULT 0,"
    " xid xid8 NOT NULL DEFAULT '0')",
    "INSERT INTO {p}_copy (leaf) SELECT 'log_' || n FROM generate_series(0, 7) n"
    " UNION ALL SELECT 'ack_' || n FROM generate_series(0, 3) n"
    " UNION ALL SELECT 'cut_' || n FROM generate_series(0, 3) n",

    /* Not a counter: outside of all snapshots. */
    "CREATE SEQUENCE {p}_emptied MINVALUE 0 START 0",
    "SELECT setval('{p}_emptied', 0)",
    NULL,
};

/* ---- 10: subscriptions that operators stop and move -------------------------------- */

/* `replay_to`: messages of the partition up to this number had been passed when the
 * subscription was moved back; those that come again say so (seek.h). It stays when
 * they have come: no later message has such a number. A library that knows neither
 * column delivers to paused subscriptions, and without that header. */
static const char *const SQLITE_10[] = {
    "ALTER TABLE {p}_subscription ADD COLUMN paused INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE {p}_lease ADD COLUMN replay_to INTEGER NOT NULL DEFAULT 0",
    NULL,
};

static const char *const PG_10[] = {
    "ALTER TABLE {p}_subscription ADD COLUMN paused boolean NOT NULL DEFAULT false",
    "ALTER TABLE {p}_lease ADD COLUMN replay_to bigint NOT NULL DEFAULT 0",
    NULL,
};

static const char *const MARIA_10[] = {
    "ALTER TABLE {p}_subscription"
    " ADD COLUMN IF NOT EXISTS paused BOOLEAN NOT NULL DEFAULT FALSE",
    "ALTER TABLE {p}_lease"
    " ADD COLUMN IF NOT EXISTS replay_to BIGINT NOT NULL DEFAULT 0",
    NULL,
};

/* ---- 12: what is kept although all have passed it ---------------------------------- */

/*
 * `retain_us`: for how long; 0: not at all. `whole_us`: everything of the queue that
 * was created since then is there; 0: since the queue was made. A library that knows
 * neither removes what is to be kept, and says nothing of it.
 */
#define RETAIN_WHOLE(now)                                                                \
    "UPDATE {p}_queue SET whole_us = " now " WHERE removed_id > 0 OR removed_cut > 0"

static const char *const SQLITE_12[] = {
    "ALTER TABLE {p}_queue ADD COLUMN retain_us INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE {p}_queue ADD COLUMN whole_us INTEGER NOT NULL DEFAULT 0",
    RETAIN_WHOLE("CAST(strftime('%s', 'now') AS INTEGER) * 1000000"),
    NULL,
};

static const char *const PG_12[] = {
    "ALTER TABLE {p}_queue ADD COLUMN retain_us bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN whole_us bigint NOT NULL DEFAULT 0",
    RETAIN_WHOLE("(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"),
    NULL,
};

static const char *const MARIA_12[] = {
    "ALTER TABLE {p}_queue"
    " ADD COLUMN IF NOT EXISTS retain_us BIGINT NOT NULL DEFAULT 0,"
    " ADD COLUMN IF NOT EXISTS whole_us BIGINT NOT NULL DEFAULT 0",
    RETAIN_WHOLE("floor(unix_timestamp(sysdate(6)) * 1000000)"),
    NULL,
};

/* ---- 13: how much waits in queues with a limit ------------------------------------- */

/*
 * The published numbers (backlog.h). PostgreSQL has sequences and functions for them
 * (postgres/backlog.c), which the statements of producers bring. A library that knows
 * nothing of them counts by itself.
 */
#define BACKLOG_TABLE(integer, key)                                                      \
    " {p}_backlog (queue " key ", counted_us " integer " NOT NULL DEFAULT 0,"            \
    " claimed_us " integer " NOT NULL DEFAULT 0, waiting " integer                       \
    " NOT NULL DEFAULT 0)"

static const char *const SQLITE_13[] = {
    "CREATE TABLE" BACKLOG_TABLE("INTEGER", "INTEGER PRIMARY KEY"),
    NULL,
};

static const char *const MARIA_13[] = {
    "CREATE TABLE IF NOT EXISTS" BACKLOG_TABLE("BIGINT",
                                               "INT PRIMARY KEY") " ENGINE = InnoDB",
    NULL,
};

/* ---- audit rows and tokens --------------------------------------------------------- */

/*
 * A row for each action of an operator (audit/audit.h); `nonce` finds the row again that
 * a call has just made. How long rows are kept is said for all processes in the one row
 * of the policy. A library that knows nothing of these tables records nothing.
 *
 * A token (token/token.h) is found by its hash, the column `secret`, which no viewer
 * reads.
 */
#define AUDIT_TABLE(integer, text)                                                       \
    " at_us " integer " NOT NULL, nonce " integer " NOT NULL, request " text             \
    ", actor " text " NOT NULL, origin " integer " NOT NULL, address " text              \
    ", action " text " NOT NULL, target " text ", changed " integer                      \
    " NOT NULL, old_value " text ", new_value " text ", reason " text ", outcome " text  \
    " NOT NULL"
#define AUDIT_POLICY(if_missing, integer)                                                \
    "CREATE TABLE " if_missing "{p}_audit_policy (id " integer                           \
    " PRIMARY KEY, retain_us " integer " NOT NULL)"
#define TOKEN_TABLE(integer, name, text, hash)                                           \
    " id " name " NOT NULL UNIQUE, name " name " NOT NULL, secret " hash                 \
    " NOT NULL UNIQUE, scopes " integer " NOT NULL, of_databases " text                  \
    " NOT NULL, of_queues " text " NOT NULL, of_lanes " text                             \
    " NOT NULL, of_namespaces " text " NOT NULL, created_us " integer                    \
    " NOT NULL, lifetime_us " integer " NOT NULL, expires_us " integer                   \
    " NOT NULL, used_us " integer " NOT NULL, revoked_us " integer " NOT NULL"

/* 90 days. */
#define AUDIT_RETENTION "7776000000000"

static const char *const SQLITE_AUDIT[] = {
    "CREATE TABLE {p}_audit (id INTEGER PRIMARY KEY AUTOINCREMENT," AUDIT_TABLE(
        "INTEGER", "TEXT") ")",
    "CREATE INDEX {p}_audit_by_time ON {p}_audit (at_us)",
    AUDIT_POLICY("", "INTEGER"),
    "INSERT INTO {p}_audit_policy (id, retain_us) VALUES (1, " AUDIT_RETENTION ")",
    "CREATE TABLE {p}_token (no INTEGER PRIMARY KEY AUTOINCREMENT," TOKEN_TABLE(
        "INTEGER", "TEXT", "TEXT", "BLOB") ")",
    "CREATE INDEX {p}_token_by_name ON {p}_token (name)",
    NULL,
};

static const char *const PG_AUDIT[] = {
    "CREATE TABLE {p}_audit (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY "
    "KEY," AUDIT_TABLE("bigint", "text") ")",
    "CREATE INDEX {p}_audit_by_time ON {p}_audit (at_us)",
    AUDIT_POLICY("", "bigint"),
    "INSERT INTO {p}_audit_policy (id, retain_us) VALUES (1, " AUDIT_RETENTION ")",
    "CREATE TABLE {p}_token (no bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY "
    "KEY," TOKEN_TABLE("bigint", "text", "text", "bytea") ")",
    "CREATE INDEX {p}_token_by_name ON {p}_token (name)",
    NULL,
};

static const char *const MARIA_AUDIT[] = {
    "CREATE TABLE IF NOT EXISTS {p}_audit (id BIGINT AUTO_INCREMENT PRIMARY "
    "KEY," AUDIT_TABLE("BIGINT",
                       "VARCHAR(1024)") ","
                                        " INDEX {p}_audit_by_time (at_us))" MARIA_TABLE,
    AUDIT_POLICY("IF NOT EXISTS ", "BIGINT") " ENGINE = InnoDB",
    "INSERT IGNORE INTO {p}_audit_policy (id, retain_us) VALUES (1, " AUDIT_RETENTION ")",
    "CREATE TABLE IF NOT EXISTS {p}_token (no BIGINT AUTO_INCREMENT PRIMARY "
    "KEY," TOKEN_TABLE("BIGINT", "VARCHAR(64)" MARIA_ASCII, "VARCHAR(1024)",
                       "BINARY(32)") ", INDEX {p}_token_by_name (name))" MARIA_TABLE,
    NULL,
};

static const struct weir_migration MIGRATIONS[] = {
    WEIR_MIGRATION(1, 1, "the outbox", SQLITE_1, PG_1, MARIA_1),
    WEIR_MIGRATION(2, 1, "by what a process is known alive", SQLITE_2, PG_2, MARIA_2),
    WEIR_MIGRATION(3, 1, "producers in SQL", SQLITE_3, weir_producer_pg,
                   weir_producer_maria),
    WEIR_MIGRATION(4, 1, "producers in SQL look up names in the catalogue alone", NULL,
                   weir_producer_pg, NULL),
    WEIR_MIGRATION(5, 1, "how often something was removed", SQLITE_5, PG_5, MARIA_5),
    WEIR_MIGRATION(6, 1, "marks of calls", SQLITE_6, PG_6, MARIA_6),
    WEIR_MIGRATION(7, 1, "queues that are being removed", SQLITE_7, PG_7, MARIA_7),
    WEIR_MIGRATION(8, 1, "producers in SQL refuse queues that are being removed", NULL,
                   weir_producer_pg, NULL),
    WEIR_MIGRATION(9, 9, "copies of leaves", NULL, PG_9, NULL),
    WEIR_MIGRATION(10, 9, "subscriptions that operators stop and move", SQLITE_10, PG_10,
                   MARIA_10),
    WEIR_MIGRATION(
        11, 9, "producers in SQL see headers that are there twice, and may keep quiet",
        NULL, weir_producer_pg, NULL),
    WEIR_MIGRATION(12, 9, "keep rows that all subscriptions have passed", SQLITE_12,
                   PG_12, MARIA_12),
    WEIR_MIGRATION(13, 9, "how much waits in queues with a limit", SQLITE_13,
                   weir_producer_pg, MARIA_13),
    WEIR_MIGRATION(WEIR_SCHEMA_WITH_AUDIT, 9, "audit rows and tokens", SQLITE_AUDIT,
                   PG_AUDIT, MARIA_AUDIT),
    WEIR_MIGRATION(15, 9, "producers in SQL ask less, and notify less often", NULL,
                   weir_producer_pg, NULL),
};

const struct weir_schema weir_outbox_schema = {
    .migrations = MIGRATIONS,
    .count = COUNT_OF(MIGRATIONS),
};
