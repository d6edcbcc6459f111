/*
 * roles.c - what the roles of roles.h have on MariaDB, compared with the grant tables.
 *
 * As postgres/roles.c, but for what is MariaDB's own:
 *
 *   - Tables have no owner. The owner has the whole database, since rights on tables
 *     that are yet to be made cannot be given.
 *   - A sequence is a table: to take a number is to read and to insert. So a producer
 *     can also set the numbers of {p}_incoming_id; only EXECUTE on {p}_enqueue, without
 *     the rest of the role, keeps it from that.
 *   - What a role has is in tables of the system. A user without the right to read them
 *     applies all grants at once, which do no harm where they exist already.
 */
#include "outbox/roles.h"

#include "outbox/mariadb/engine.h"

/* Names are compared byte by byte, whatever the tables of the system have. */
#define NAME(expression) "CONVERT(" expression " USING utf8mb4) COLLATE utf8mb4_bin"

#define ROLES                                                                            \
    " role (n, part) AS (VALUES (1, 'owner'), (2, 'runtime'), (3, 'producer'),"          \
    "  (4, 'viewer'))"
#define ROLE "CONCAT('{n}_', r.part)"
#define QUOTED(name) "CONCAT('`', REPLACE(" name ", '`', '``'), '`')"
#define HERE QUOTED("DATABASE()")

#define BEGINS(name) "LEFT(" name ", CHAR_LENGTH('{n}_')) = '{n}_'"
#define TABLE_BEGINS BEGINS("table_name")
#define OTHERS                                                                           \
    ", other AS (SELECT LEFT(table_name, CHAR_LENGTH(table_name) - 6) AS beginning"      \
    "  FROM information_schema.tables WHERE table_schema = DATABASE()"                   \
    "  AND " TABLE_BEGINS " AND RIGHT(table_name, 7) = '_schema'"                        \
    "  AND table_name <> '{n}_schema')"
#define IS_OURS(name)                                                                    \
    BEGINS(name)                                                                         \
    " AND NOT EXISTS (SELECT 1 FROM other"                                               \
    "  WHERE LEFT(" name ", CHAR_LENGTH(beginning)) = beginning)"
#define SHORT(name) NAME("SUBSTR(" name ", CHAR_LENGTH('{n}_') + 1)")

#define TABLE_NAME NAME("t.table_name")
#define TABLE_SHORT SHORT("t.table_name")
#define TABLE_IS_OURS IS_OURS("t.table_name")
#define ROUTINE_NAME NAME("routine_name")
#define ROUTINE_SHORT SHORT("routine_name")
#define ROUTINE_IS_OURS IS_OURS("routine_name")

/* `counts`: a sequence; `private`: it has messages or hashes of tokens. */
#define TABLES                                                                           \
    "SELECT " TABLE_NAME " AS name, '' AS kind, " TABLE_SHORT " AS short,"               \
    "  t.table_type = 'SEQUENCE' AS counts, EXISTS (SELECT 1"                            \
    "   FROM information_schema.columns c WHERE c.table_schema = DATABASE()"             \
    "   AND c.table_name = t.table_name AND c.column_name IN ('payload', 'secret'))"     \
    "  AS private"                                                                       \
    " FROM information_schema.tables t WHERE t.table_schema = DATABASE()"                \
    "  AND " TABLE_IS_OURS
#define ROUTINES                                                                         \
    "SELECT " ROUTINE_NAME " AS name, CONCAT(routine_type, ' ') AS kind,"                \
    "  " ROUTINE_SHORT " AS short FROM information_schema.routines"                      \
    " WHERE routine_schema = DATABASE() AND " ROUTINE_IS_OURS

/* ---- the roles, and users with the whole database ---------------------------------- */

/* In the name of a database an underscore stands for any letter, unless it is escaped. */
#define WIDE_NAME "REPLACE(DATABASE(), '_', CONCAT(CHAR(92), '_'))"
#define WIDE QUOTED(WIDE_NAME)
#define FOUND QUOTED("w.db")

#define SEEN                                                                             \
    ", made AS (SELECT user AS name FROM mysql.user WHERE is_role = 'Y'),"               \
    " wide AS (SELECT user AS name, db, select_priv = 'Y' AND insert_priv = 'Y'"         \
    "  AND update_priv = 'Y' AND delete_priv = 'Y' AND create_priv = 'Y'"                \
    "  AND drop_priv = 'Y' AND alter_priv = 'Y' AND index_priv = 'Y'"                    \
    "  AND references_priv = 'Y' AND create_routine_priv = 'Y' AND execute_priv = 'Y'"   \
    "  AND alter_routine_priv = 'Y' AND grant_priv = 'Y' AS whole"                       \
    "  FROM mysql.db WHERE host = '' AND db IN (DATABASE(), " WIDE_NAME "))"

/* A user with the owner's role knows that all four were made. */
#define UNSEEN                                                                           \
    ", made AS (SELECT " ROLE " AS name FROM role r WHERE EXISTS (SELECT 1"              \
    "  FROM information_schema.applicable_roles WHERE role_name = '{n}_owner')),"        \
    " wide AS (SELECT '' AS name, '' AS db, FALSE AS whole)"

#define OWNING                                                                           \
    " SELECT 1 AS step, r.n, " ROLE " AS role,"                                          \
    "  CONCAT('CREATE ROLE IF NOT EXISTS {n}_', r.part) AS statement FROM role r"        \
    "  WHERE NOT EXISTS (SELECT 1 FROM made m WHERE m.name = " ROLE ")"                  \
    " UNION ALL SELECT 3, r.n, " ROLE ", CONCAT('GRANT ALL PRIVILEGES ON ', " WIDE ","   \
    "  '.* TO {n}_owner WITH GRANT OPTION') FROM role r WHERE r.part = 'owner'"          \
    "  AND NOT EXISTS (SELECT 1 FROM wide w WHERE w.name = " ROLE " AND w.whole)"        \
    " UNION ALL SELECT 4, r.n, " ROLE ", CONCAT('REVOKE ALL PRIVILEGES ON ', " FOUND "," \
    "  '.* FROM {n}_', r.part) FROM role r JOIN wide w ON w.name = " ROLE                \
    "  WHERE r.part <> 'owner'"

#define OWNERS(seen)                                                                     \
    {                                                                                    \
        .name = "compare owners",                                                        \
        .text = "WITH" ROLES seen                                                        \
                " SELECT CAST(step AS SIGNED), role, statement, '' FROM (" OWNING        \
                ") s ORDER BY step, n",                                                  \
        .parameters = "",                                                                \
    }

/* ---- rights ------------------------------------------------------------------------ */

#define PRIVILEGES                                                                       \
    ", rights (privilege) AS (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'),"    \
    "  ('CREATE'), ('DROP'), ('REFERENCES'), ('INDEX'), ('ALTER'), ('CREATE VIEW'),"     \
    "  ('SHOW VIEW'), ('TRIGGER'), ('EXECUTE'), ('ALTER ROUTINE'))"

#define NEEDED_RUNTIME                                                                   \
    "CASE WHEN o.counts THEN x.privilege IN ('SELECT', 'INSERT')"                        \
    " WHEN o.short IN ('schema', 'meta') THEN x.privilege = 'SELECT'"                    \
    " ELSE x.privilege IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') END"
#define NEEDED_PRODUCER                                                                  \
    "CASE WHEN o.short IN ('schema', 'meta', 'queue', 'era_now')"                        \
    "  THEN x.privilege = 'SELECT'"                                                      \
    " WHEN o.short = 'backlog' THEN x.privilege IN ('SELECT', 'INSERT', 'UPDATE')"       \
    " WHEN o.short = 'incoming_id' THEN x.privilege IN ('SELECT', 'INSERT')"             \
    " WHEN o.short = 'incoming' THEN x.privilege = 'INSERT' END"
#define NEEDED_VIEWER "NOT o.private AND x.privilege = 'SELECT'"
#define NEEDED                                                                           \
    "SELECT r.part, o.kind, o.name, x.privilege, NULL AS col"                            \
    "  FROM role r, object o, rights x WHERE CASE r.part"                                \
    "  WHEN 'runtime' THEN " NEEDED_RUNTIME " WHEN 'producer' THEN " NEEDED_PRODUCER     \
    "  WHEN 'viewer' THEN " NEEDED_VIEWER " END"
#define COLUMN_NAME NAME("c.column_name")
#define COLUMN_TABLE NAME("c.table_name")
#define NEEDED_COLUMNS                                                                   \
    "SELECT 'viewer' AS part, o.kind, o.name, 'SELECT' AS privilege,"                    \
    "  " COLUMN_NAME " AS col FROM object o JOIN information_schema.columns c"           \
    "  ON c.table_schema = DATABASE() AND " COLUMN_TABLE " = o.name"                     \
    "  WHERE o.private AND c.column_name NOT IN ('payload', 'headers',"                  \
    "   'secret')"
#define NEEDED_ROUTINES                                                                  \
    "SELECT r.part, o.kind, o.name, 'EXECUTE' AS privilege, NULL AS col"                 \
    "  FROM role r, object o WHERE r.part = 'runtime'"                                   \
    "  OR (r.part = 'producer' AND o.short = 'enqueue')"

/* A role is a user without host. */
#define HAD(table, column, name, kind, set)                                              \
    "SELECT r.part, o.kind, o.name, x.privilege, " column " AS col FROM role r JOIN"     \
    " mysql." table " g ON g.db = DATABASE() AND g.host = '' AND g.user = " ROLE         \
    "  AND r.part <> 'owner' JOIN object o ON o.kind = " kind " AND o.name = " name      \
    "  JOIN rights x ON FIND_IN_SET(x.privilege, g." set ")"
#define HAD_TABLES HAD("tables_priv", "NULL", NAME("g.table_name"), "''", "table_priv")
#define HAD_ROUTINES                                                                     \
    HAD("procs_priv", "NULL", NAME("g.routine_name"), "CONCAT(g.routine_type, ' ')",     \
        "proc_priv")

/*
 * As on PostgreSQL: a role that loses a right on the whole table loses it on the columns,
 * too.
 */
#define HAD_COLUMNS                                                                      \
    HAD("columns_priv", NAME("g.column_name"), NAME("g.table_name"), "''",               \
        "column_priv")                                                                   \
    " WHERE NOT EXISTS (SELECT 1 FROM mysql.tables_priv w WHERE w.db = g.db"             \
    "  AND w.host = '' AND w.user = g.user AND w.table_name = g.table_name"              \
    "  AND FIND_IN_SET(x.privilege, w.table_priv))"
#define HAD_UNSEEN                                                                       \
    "SELECT part, '' AS kind, '' AS name, '' AS privilege, NULL AS col FROM role"        \
    "  WHERE FALSE"

#define SAME                                                                             \
    " a.part = b.part AND a.kind = b.kind AND a.name = b.name"                           \
    " AND a.privilege = b.privilege AND a.col <=> b.col"

#define RIGHTS(title, objects, needed, had)                                              \
    {                                                                                    \
        .name = "compare rights on " title,                                              \
        .text =                                                                          \
            "WITH" ROLES PRIVILEGES OTHERS ", object AS (" objects                       \
            "), needed AS (" needed "), had AS (" had                                    \
            "), difference AS (SELECT 5 AS step, 'GRANT' AS verb, 'TO' AS word, a.*"     \
            "  FROM needed a WHERE NOT EXISTS (SELECT 1 FROM had b WHERE" SAME ")"       \
            " UNION ALL SELECT 4, 'REVOKE', 'FROM', a.* FROM had a"                      \
            "  WHERE NOT EXISTS (SELECT 1 FROM needed b WHERE" SAME ")),"                \
            " whole AS (SELECT step, verb, word, part, kind, name, CONCAT(privilege,"    \
            "  COALESCE(CONCAT(' (', GROUP_CONCAT(col ORDER BY col SEPARATOR ', '),"     \
            "  ')'), '')) AS privilege FROM difference"                                  \
            "  GROUP BY step, verb, word, part, kind, name, privilege, col IS NULL)"     \
            " SELECT CAST(w.step AS SIGNED), " ROLE ", CONCAT(w.verb, ' ',"              \
            "  GROUP_CONCAT(w.privilege ORDER BY w.privilege SEPARATOR ', '), ' ON ',"   \
            "  w.kind, " HERE ", '.', w.name, ' ', w.word, ' {n}_', r.part), ''"         \
            "  FROM whole w JOIN role r ON r.part = w.part"                              \
            "  GROUP BY w.step, w.verb, w.word, w.kind, w.name, r.n, r.part"             \
            "  ORDER BY w.step, r.n, w.name",                                            \
        .parameters = "",                                                                \
    }

static const struct weir_sql COMPARE[WEIR_ROLES_COMPARE_COUNT] = {
    OWNERS(SEEN),
    RIGHTS("tables", TABLES, NEEDED, HAD_TABLES),
    RIGHTS("columns", TABLES, NEEDED_COLUMNS, HAD_COLUMNS),
    RIGHTS("routines", ROUTINES, NEEDED_ROUTINES, HAD_ROUTINES),
};

static const struct weir_sql COMPARE_BLIND[WEIR_ROLES_COMPARE_COUNT] = {
    OWNERS(UNSEEN),
    RIGHTS("tables", TABLES, NEEDED, HAD_UNSEEN),
    RIGHTS("columns", TABLES, NEEDED_COLUMNS, HAD_UNSEEN),
    RIGHTS("routines", ROUTINES, NEEDED_ROUTINES, HAD_UNSEEN),
};

const struct weir_role_ops weir_roles_maria = {
    .compare = COMPARE,
    .compare_blind = COMPARE_BLIND,
};
