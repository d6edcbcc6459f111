/*
 * roles.c - what the roles of roles.h have on PostgreSQL, compared with the catalogue.
 *
 * The tables of a prefix are those in the schema of its version table whose names begin
 * with it, but for those of another family whose prefix begins with ours and an
 * underscore: that one has a version table, too. So a table that a later migration adds
 * is known here: what it is to have is what its neighbours have.
 *
 *            runtime               producer                        viewer
 *   schema   read                  read                            read
 *   meta     read                  read                            read
 *   queue    read, write           read                            read
 *   log      read, append          append; read the id alone       no payload, no headers
 *   leaves   read, empty
 *   ack, cut read, append                                          read
 *   leaf     read, update                                          read
 *   copy     read, update                                          read
 *   emptied  read, set                                             read
 *   asleep   read, set             read                            read
 *   log_id   next                  next                            read
 *   others   read, write                                           read; as of the log
 *   routines execute               {p}_enqueue, {p}_backlog_read
 *
 * Other families of tables say what they want otherwise (struct weir_role_right).
 *
 * A producer names neither id nor transaction nor time of what it adds, so it cannot
 * say that a message was there before. It may take numbers and not set them back.
 */
#include "outbox/roles.h"

#include "outbox/postgres/engine.h"

/* The last one is not a role and has nothing. */
#define ROLES                                                                            \
    " role AS (SELECT r.n, r.part, lower('{n}_') || r.part AS name, have.oid"            \
    "  FROM unnest(ARRAY['owner', 'runtime', 'producer', 'viewer']) WITH ORDINALITY"     \
    "   AS r (part, n)"                                                                  \
    "  LEFT JOIN pg_roles have ON have.rolname = lower('{n}_') || r.part"                \
    "  UNION ALL SELECT 5, 'public', 'PUBLIC', 0),"

#define HOME                                                                             \
    " home AS (SELECT relnamespace AS oid, relnamespace::regnamespace::text AS name"     \
    "  FROM pg_class"                                                                    \
    "  WHERE oid = to_regclass('{q}_schema')),"                                          \
    " other AS (SELECT left(relname, -6) AS beginning FROM pg_class, home"               \
    "  WHERE relnamespace = home.oid AND relkind = 'r'"                                  \
    "  AND starts_with(relname, lower('{n}_')) AND relname LIKE '%\\_schema'"            \
    "  AND relname <> lower('{n}_schema')),"
#define IS_OURS(name)                                                                    \
    "starts_with(" name ", lower('{n}_'))"                                               \
    " AND NOT EXISTS (SELECT FROM other WHERE starts_with(" name ", beginning))"
#define SHORT(name) "substr(" name ", length('{n}_') + 1)"

/* What others want: a row for each privilege. */
#define SAID                                                                             \
    " said AS (SELECT u.object, u.part, u.cols, p.privilege"                             \
    "  FROM unnest({1}, {2}, {3}, {4}) AS u (object, part, privileges, cols),"           \
    "  unnest(string_to_array(u.privileges, ', ')) AS p (privilege)),"
#define SAID_OF(part)                                                                    \
    "EXISTS (SELECT FROM said s WHERE s.object = o.short AND s.part = " part             \
    " AND o.kind <> 'ROUTINE')"

#define TABLE_SHORT SHORT("c.relname")
#define TABLE_IS_OURS IS_OURS("c.relname")
#define ROUTINE_SHORT SHORT("p.proname")
#define ROUTINE_IS_OURS IS_OURS("p.proname")

/* Statements name them with their schema: the session that runs them may look elsewhere
 * first.
 *
 * Sequences of identity columns belong to their tables in every respect, and no role
 * needs a right on them. `private`: it has messages or hashes of tokens. */
#define TABLES                                                                           \
    "SELECT c.oid, home.name || '.' || quote_ident(c.relname) AS name,"                  \
    "  CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind,"                \
    "  " TABLE_SHORT " AS short, c.relispartition AS leaf, c.relowner AS owner,"         \
    "  c.relacl AS acl, EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid"         \
    "   AND attname IN ('payload', 'secret') AND NOT attisdropped) AS private"           \
    " FROM pg_class c, home WHERE c.relnamespace = home.oid"                             \
    "  AND c.relkind IN ('r', 'p', 'v', 'S') AND " TABLE_IS_OURS                         \
    "  AND NOT (c.relkind = 'S' AND EXISTS (SELECT FROM pg_depend"                       \
    "   WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'i'))"
#define ROUTINES                                                                         \
    "SELECT p.oid, home.name || '.' || quote_ident(p.proname) || '('"                    \
    "   || oidvectortypes(p.proargtypes) || ')' AS name, 'ROUTINE' AS kind,"             \
    "  " ROUTINE_SHORT " AS short, false AS leaf, p.proowner AS owner,"                  \
    "  coalesce(p.proacl, acldefault('f', p.proowner)) AS acl, false AS private"         \
    " FROM pg_proc p, home WHERE p.pronamespace = home.oid AND " ROUTINE_IS_OURS

/* What is changed in one transaction (roles.h): one table, or all routines. */
#define UNIT_OF(kind, name)                                                              \
    "CASE " kind " WHEN 'ROUTINE' THEN 'ROUTINE' ELSE " kind " || ' ' || " name " END"
#define UNIT UNIT_OF("w.kind", "w.name")

/* ---- the roles, and whose everything is -------------------------------------------- */

/* A new role has what PUBLIC has. */
#define MAY(privilege)                                                                   \
    "has_schema_privilege(CASE WHEN r.oid IS NULL THEN 'public' ELSE r.name END,"        \
    " home.oid, '" privilege "')"
#define MAY_USE MAY("USAGE")
#define MAY_CREATE MAY("CREATE")

/*
 * To give a table away one must be a member of the new owner. So are the former owners,
 * and stay it: between the first and the last statement, which are transactions of
 * their own, functions and applications that run with their rights go on. Superusers
 * need no membership.
 *
 * Tables first, routines behind them and all at once: a routine runs with the rights of
 * its owner, so former owners must have what the new one has, and that one needs
 * nothing of theirs. Sequences of backlogs, which routines make at any time, may be of
 * a former owner when they were made between the plan and the change of the table of
 * queues (postgres/backlog.c): they change with the routines, without being in the plan.
 * What makes them reads the table of queues and keeps that lock to its end. So behind an
 * exclusive lock all of them are visible, also those of a transaction whose snapshot is
 * older than the change of the table.
 */
#define GIVE_BACKLOGS                                                                    \
    "format('DO $weir$ DECLARE s regclass; BEGIN LOCK TABLE %s.%I IN ACCESS EXCLUSIVE"   \
    " MODE; FOR s IN SELECT oid FROM pg_class WHERE relkind = ''S'' AND relnamespace = " \
    "%L::regnamespace AND relname ~ %L"                                                  \
    " AND relowner <> %L::regrole LOOP EXECUTE"                                          \
    " format(''ALTER SEQUENCE %%s OWNER TO %s'', s); END LOOP; END $weir$',"             \
    "  home.oid::regnamespace, lower('{n}_queue'), home.oid::regnamespace,"              \
    "  '^' || lower('{n}_backlog_') || '\\d+(_at|_sum)?$',"                              \
    "  r.name, r.name)"
#define OWNED_UNIT UNIT_OF("o.kind", "o.name")
#define OWNING                                                                           \
    " SELECT 1::bigint AS step, 0 AS part, r.n, r.name AS role, '' AS name, '' AS unit," \
    "  'CREATE ROLE ' || r.name AS statement FROM role r WHERE r.oid IS NULL"            \
    " UNION ALL SELECT 2, 0, r.n, r.name, u.rolname, '',"                                \
    "  format('GRANT %s TO %I', r.name, u.rolname)"                                      \
    "  FROM role r, pg_roles u WHERE r.part = 'owner' AND (u.rolname = current_user"     \
    "   OR EXISTS (SELECT FROM object o WHERE o.owner = u.oid))"                         \
    "  AND NOT u.rolsuper AND u.rolname <> r.name"                                       \
    "  AND coalesce(NOT pg_has_role(u.oid, r.oid, 'MEMBER'), true)"                      \
    " UNION ALL SELECT 3, 0, r.n, r.name, '', '',"                                       \
    "  format('GRANT %sUSAGE ON SCHEMA %s TO %s',"                                       \
    "  CASE r.part WHEN 'owner' THEN 'CREATE, ' ELSE '' END, home.oid::regnamespace,"    \
    "  r.name) FROM role r, home WHERE r.part <> 'public'"                               \
    "  AND NOT (" MAY_USE " AND (r.part <> 'owner' OR " MAY_CREATE "))"                  \
    " UNION ALL SELECT 3, CASE o.kind WHEN 'ROUTINE' THEN 3 ELSE 1 END, r.n, r.name,"    \
    "  o.name, " OWNED_UNIT ","                                                          \
    "  format('ALTER %s %s OWNER TO %s', o.kind, o.name, r.name) FROM role r, object o"  \
    "  WHERE r.part = 'owner' AND r.oid IS DISTINCT FROM o.owner"                        \
    " UNION ALL SELECT 3, 2, r.n, r.name, '', 'ROUTINE', " GIVE_BACKLOGS                 \
    "  FROM role r, home WHERE r.part = 'owner' AND EXISTS (SELECT FROM object o"        \
    "   WHERE o.kind = 'ROUTINE' AND r.oid IS DISTINCT FROM o.owner)"

/* ---- rights ------------------------------------------------------------------------ */

/* On the whole of an object. */
#define NEEDED_RUNTIME                                                                   \
    "CASE WHEN o.kind = 'ROUTINE' THEN ARRAY['EXECUTE']"                                 \
    " WHEN o.short IN ('asleep', 'emptied') THEN ARRAY['SELECT', 'UPDATE']"              \
    " WHEN o.kind = 'SEQUENCE' THEN ARRAY['SELECT', 'USAGE']"                            \
    " WHEN o.leaf THEN ARRAY['SELECT', 'TRUNCATE']"                                      \
    " WHEN o.short IN ('schema', 'meta') THEN ARRAY['SELECT']"                           \
    " WHEN o.short IN ('log', 'ack', 'cut') THEN ARRAY['SELECT', 'INSERT']"              \
    " WHEN o.short IN ('leaf', 'copy') THEN ARRAY['SELECT', 'UPDATE']"                   \
    " ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END"
#define NEEDED_PRODUCER                                                                  \
    "CASE WHEN o.kind = 'ROUTINE' THEN CASE WHEN o.short IN ('enqueue',"                 \
    "  'backlog_read') THEN ARRAY['EXECUTE'] END"                                        \
    " WHEN o.short = 'log_id' THEN ARRAY['USAGE']"                                       \
    " WHEN o.short IN ('schema', 'meta', 'queue', 'asleep') THEN ARRAY['SELECT'] END"
#define NEEDED_VIEWER                                                                    \
    "CASE WHEN o.kind <> 'ROUTINE' AND NOT o.leaf AND NOT o.private"                     \
    " THEN ARRAY['SELECT'] END"
/* Those of weir_enqueue() that run with the rights of their caller
 * (postgres/producer.c). */
#define NEEDED_PUBLIC                                                                    \
    "CASE WHEN o.kind = 'ROUTINE' AND o.short = 'enqueue' AND NOT (SELECT p.prosecdef"   \
    "  FROM pg_proc p WHERE p.oid = o.oid) THEN ARRAY['EXECUTE'] END"
#define SAID_OF_PART SAID_OF("v.part")
#define SAID_OF_VIEWER SAID_OF("'viewer'")
#define NEEDED                                                                           \
    "SELECT part, o.kind, o.name, privilege, NULL::name FROM object o, LATERAL (VALUES"  \
    "  ('runtime', " NEEDED_RUNTIME "), ('producer', " NEEDED_PRODUCER "),"              \
    "  ('viewer', " NEEDED_VIEWER "), ('public', " NEEDED_PUBLIC ")) AS v (part,"        \
    "  privileges), unnest(privileges)"                                                  \
    "  AS privilege WHERE NOT " SAID_OF_PART                                             \
    " UNION ALL SELECT s.part, o.kind, o.name, s.privilege, NULL FROM said s"            \
    "  JOIN object o ON o.short = s.object AND o.kind <> 'ROUTINE' WHERE s.cols = ''"

/* Of single columns: one row each. */
#define NEEDED_COLUMNS                                                                   \
    "SELECT 'viewer', o.kind, o.name, 'SELECT', a.attname FROM object o"                 \
    "  JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT attisdropped"  \
    "  WHERE o.kind = 'TABLE' AND o.private AND NOT o.leaf"                              \
    "  AND a.attname NOT IN ('payload', 'headers', 'secret') AND NOT " SAID_OF_VIEWER    \
    " UNION ALL SELECT 'producer', o.kind, o.name, c.privilege, c.name FROM object o,"   \
    "  (VALUES ('SELECT', 'id'), ('INSERT', 'pid'), ('INSERT', 'uid'),"                  \
    "   ('INSERT', 'message_key'), ('INSERT', 'type'), ('INSERT', 'headers'),"           \
    "   ('INSERT', 'payload')) AS c (privilege, name) WHERE o.short = 'log'"             \
    " UNION ALL SELECT s.part, o.kind, o.name, s.privilege, c.name FROM said s"          \
    "  JOIN object o ON o.short = s.object AND o.kind = 'TABLE',"                        \
    "  unnest(string_to_array(s.cols, ', ')::name[]) AS c (name) WHERE s.cols <> ''"

/* An owner's rights are its own affair. */
#define HAS " r.oid = a.grantee AND a.grantee <> o.owner AND r.part <> 'owner'"
#define HAD                                                                              \
    "SELECT r.part, o.kind, o.name, a.privilege_type, NULL::name"                        \
    "  FROM object o, aclexplode(o.acl) a, role r WHERE" HAS

/*
 * A role with the same right on the whole table loses it, and those on its columns with
 * it: so these count as missing.
 */
#define HAD_COLUMNS                                                                      \
    "SELECT r.part, o.kind, o.name, a.privilege_type, t.attname FROM object o"           \
    "  JOIN pg_attribute t ON t.attrelid = o.oid AND o.kind = 'TABLE',"                  \
    "  aclexplode(t.attacl) a, role r WHERE" HAS                                         \
    "  AND NOT EXISTS (SELECT FROM aclexplode(o.acl) w"                                  \
    "   WHERE w.grantee = r.oid AND w.privilege_type = a.privilege_type)"

#define RIGHTS(title, objects, needed, had)                                              \
    {                                                                                    \
        .name = "compare rights on " title,                                              \
        .text =                                                                          \
            "WITH" ROLES HOME SAID " object AS (" objects                                \
            "), needed (part, kind, name, privilege, col) AS (" needed                   \
            "), had (part, kind, name, privilege, col) AS (" had "), difference AS ("    \
            " SELECT 5 AS step, 'GRANT' AS verb, 'TO' AS word, x.*"                      \
            "  FROM (SELECT * FROM needed EXCEPT SELECT * FROM had) x"                   \
            " UNION ALL SELECT 4, 'REVOKE', 'FROM', x.*"                                 \
            "  FROM (SELECT * FROM had EXCEPT SELECT * FROM needed) x),"                 \
            " whole AS (SELECT step, verb, word, part, kind, name, privilege ||"         \
            "  coalesce(' (' || string_agg(col, ', ' ORDER BY col) || ')', '')"          \
            "  AS privilege"                                                             \
            "  FROM difference GROUP BY step, verb, word, part, kind, name, privilege,"  \
            "  col IS NULL)"                                                             \
            " SELECT w.step::bigint, r.name, format('%s %s ON %s %s %s %s', w.verb,"     \
            "  string_agg(w.privilege, ', ' ORDER BY w.privilege), w.kind, w.name,"      \
            "  w.word, r.name), " UNIT " FROM whole w JOIN role r ON r.part = w.part"    \
            "  GROUP BY w.step, w.verb, w.word, w.kind, w.name, r.n, r.name"             \
            "  ORDER BY w.step, r.n, w.name",                                            \
        .parameters = "TTTT",                                                            \
    }

static const struct weir_sql COMPARE[WEIR_ROLES_COMPARE_COUNT] = {
    {
        .name = "compare owners",
        .text = "WITH" ROLES HOME " object AS (" TABLES " UNION ALL " ROUTINES
                ") SELECT step, role, statement, unit FROM (" OWNING
                ") s ORDER BY step, part, n, name",
        .parameters = "",
    },
    RIGHTS("tables", TABLES, NEEDED, HAD),
    RIGHTS("columns", TABLES, NEEDED_COLUMNS, HAD_COLUMNS),
    RIGHTS("routines", ROUTINES, NEEDED, HAD),
};

static const struct weir_sql SQL_LOCK = {
    .name = "lock roles",
    .text = "SELECT pg_advisory_xact_lock(hashtextextended(lower('{n}_schema'), 0))",
    .parameters = "",
};

const struct weir_role_ops weir_roles_pg = {
    .compare = COMPARE,
    .lock = &SQL_LOCK,
};
