/*
 * creators.c - see creators.h.
 */
#include "outbox/postgres/creators.h"

#include "base/text.h"

/* A schema without an ACL is its owner's alone. Privileges that a role has by being a
 * member of another are that other's. */
static const struct weir_sql SQL_CREATORS = {
    .name = "find roles that may create",
    .text = "SELECT n.oid::regnamespace::text, coalesce(string_agg("
            "  CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,"
            "  ', ' ORDER BY a.grantee), '')"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " LEFT JOIN LATERAL (SELECT DISTINCT e.grantee FROM aclexplode(n.nspacl) e"
            "  LEFT JOIN pg_roles r ON r.oid = e.grantee"
            "  WHERE e.privilege_type = 'CREATE' AND (e.grantee = 0"
            "   OR NOT r.rolsuper AND NOT pg_has_role(e.grantee, n.nspowner, 'MEMBER')"
            "   AND NOT pg_has_role(e.grantee, c.relowner, 'MEMBER'))) a ON true"
            " WHERE c.oid = to_regclass('{q}_schema') GROUP BY n.oid",
    .parameters = "",
};

static void copy_text(char out[WEIR_CREATORS_SIZE], struct weir_str text)
{
    (void)weir_text_format(out, WEIR_CREATORS_SIZE, "%.*s", (int)text.size, text.data);
}

enum weir_status weir_creators_read(struct weir_creators *self,
                                    struct weir_connection *connection,
                                    struct weir_error *error)
{
    struct weir_rows rows;
    enum weir_status status;

    *self = (struct weir_creators){.schema = ""};
    if (!weir_connection_traits(connection)->has_search_path)
        return WEIR_OK;
    status = weir_connection_query(connection, &SQL_CREATORS, NO_VALUES, &rows, error);
    if (status == WEIR_OK)
        status = weir_rows_next(&rows, error);
    if (status == WEIR_OK) {
        copy_text(self->schema, weir_rows_text(&rows, 0));
        copy_text(self->roles, weir_rows_text(&rows, 1));
    }
    weir_rows_close(&rows);
    return status == WEIR_NO_ROW ? WEIR_OK : status;
}
