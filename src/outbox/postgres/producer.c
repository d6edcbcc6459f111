/*
 * producer.c - {p}_enqueue() for PostgreSQL.
 *
 * One function does the work, for bytes and headers in jsonb; those for text, jsonb and
 * json call it. A payload without a type, as in a literal, is text.
 *
 * Headers without a type are text, too, in functions of their own: as jsonb, which
 * keeps the last value of a name, it could not be seen that a name was there twice.
 * PostgreSQL finds them as follows:
 *
 *   5 arguments, of unknown type, text, varchar   (..., type text, headers text)
 *   headers => by name, without a type            (..., headers character_data)
 *   all others, and headers of jsonb              (..., type text = 'message', headers
 *                                                 jsonb = NULL)
 *
 * A literal prefers text to jsonb, and text to all other types of strings;
 * information_schema's character_data is one that no caller has, so that the fourth of
 * four arguments by place is a type. They check that each name is there once and call
 * the others with the rights of their caller: to be allowed to execute those is all
 * that a producer needs.
 *
 *   {p}_enqueue            all checks in the order of weir_enqueue_batch(), then the row
 *   {p}_enqueue_headers    the headers as they are stored
 *   {p}_enqueue_room       is the queue's limit reached? With {p}_backlog_read
 *                          (postgres/backlog.h)
 *   {p}_enqueue_cluster    is this the cluster in which the tables were made?
 *   {p}_enqueue_refuse     says what is wrong with a name or a type
 *   {p}_enqueue_quote      a value in an error's text, as names.c shows it
 *
 * The defaults of the log's columns give xid and id, in that order, as for any other
 * producer (schema.c): cuts know of no difference. No function has a block with
 * EXCEPTION, which would be a subtransaction for each message.
 *
 * Names are looked up with the owner's rights, so the path has pg_catalog alone, and
 * temporary tables behind it: an operator or a function that another role has made in
 * the schema of our tables, with types that fit better than the built-in one's, is no
 * candidate. Tables and functions of ours are named with their schema, for which the
 * texts have "@.". The arguments of our functions have exactly the declared types,
 * since there, overloads of others are candidates.
 *
 * Classes of characters are by code, whatever the database's collation. A literal brace
 * is not available (db/sql.h).
 */
#include "outbox/producer.h"

#include <stddef.h>

#include "db/wake.h"
#include "outbox/notify_limit.h"
#include "outbox/postgres/append.h"
#include "outbox/postgres/backlog.h"
#include "outbox/postgres/function.h"

/* For the rest of this migration: where the tables are, not where new ones would be
 * made. */
static const char USE_SCHEMA[] =
    "SELECT pg_catalog.set_config('{p}.home', home.name || '.', true),"
    " pg_catalog.set_config('search_path', home.name || ', pg_temp', true)"
    " FROM (SELECT pg_catalog.quote_ident(n.nspname::text) AS name"
    "  FROM pg_catalog.pg_class c"
    "  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    "  WHERE c.oid = '{p}_log'::regclass) home";

/* A function begins and ends with these. */
#define CREATE WEIR_PG_FUNCTION
#define END WEIR_PG_FUNCTION_END

/* Up to 60 bytes; what is not printable ASCII is a question mark. */
static const char QUOTE[] =
    CREATE "@.{p}_enqueue_quote(value text) RETURNS text LANGUAGE plpgsql\n"
           "IMMUTABLE SET search_path = pg_catalog, pg_temp AS $weir$\n"
           "DECLARE\n"
           "    bytes bytea := convert_to(value, 'UTF8');\n"
           "    shown text := '';\n"
           "BEGIN\n"
           "    FOR i IN 0 .. least(octet_length(bytes), 60) - 1 LOOP\n"
           "        shown := shown || CASE WHEN get_byte(bytes, i) BETWEEN 32 AND 126\n"
           "            THEN chr(get_byte(bytes, i)) ELSE '?' END;\n"
           "    END LOOP;\n"
           "    RETURN shown || CASE WHEN octet_length(bytes) > 60\n"
           "        THEN '...' ELSE '' END;\n" END;

/* Which rule a text breaks that is no queue name (`is_name`) or not printable. */
static const char REFUSE_TEXT[] = CREATE
    "@.{p}_enqueue_refuse(what text, value text,\n"
    "    size_max integer, is_name boolean) RETURNS void\n"
    "LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $weir$\n"
    "DECLARE\n"
    "    bytes bytea := convert_to(value, 'UTF8');\n"
    "    shown text := what || ' \"' || @.{p}_enqueue_quote(value) || '\"';\n"
    "    byte integer;\n"
    "BEGIN\n"
    "    IF value IS NULL OR value = '' THEN\n"
    "        RAISE invalid_parameter_value USING MESSAGE = format(\n"
    "            '%s is %s, must have 1 to %s characters', what,\n"
    "            CASE WHEN value IS NULL THEN 'NULL' ELSE 'empty' END, size_max);\n"
    "    END IF;\n"
    "    IF octet_length(bytes) > size_max THEN\n"
    "        RAISE invalid_parameter_value USING MESSAGE = format(\n"
    "            '%s is too long, must have at most %s characters', shown, size_max);\n"
    "    END IF;\n"
    "    FOR i IN 0 .. octet_length(bytes) - 1 LOOP\n"
    "        byte := get_byte(bytes, i);\n"
    "        IF byte NOT BETWEEN 32 AND 126 OR is_name\n"
    "            AND chr(byte) COLLATE \"C\" !~ '[A-Za-z0-9._-]' THEN\n"
    "            RAISE invalid_parameter_value USING MESSAGE = format(\n"
    "                '%s has byte 0x%s at %s, must be %s', shown,\n"
    "                lpad(to_hex(byte), 2, '0'), i, CASE WHEN is_name\n"
    "                THEN 'ASCII letters, digits, ''.'', ''_'' and ''-'''\n"
    "                ELSE 'printable ASCII' END);\n"
    "        END IF;\n"
    "    END LOOP;\n"
    "    RAISE invalid_parameter_value USING MESSAGE =\n"
    "        shown || ' must begin and end with a letter or digit';\n" END;

/*
 * What is no text is kept as its JSON, as readers do (headers.h). jsonb
 * has each name once, and what was given as text was looked at before. chr(123) and
 * chr(125) are the braces.
 */
static const char HEADERS[] = CREATE
    "@.{p}_enqueue_headers(headers jsonb) RETURNS text\n"
    "LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $weir$\n"
    "DECLARE\n"
    "    header record;\n"
    "    stored text := '';\n"
    "    size_left integer := 16384;\n"
    "    header_count integer;\n"
    "BEGIN\n"
    "    IF jsonb_typeof(headers) <> 'object' THEN\n"
    "        RAISE invalid_parameter_value USING MESSAGE =\n"
    "            'headers are no JSON object of texts: no object at byte 0';\n"
    "    END IF;\n"
    "    header_count := (SELECT count(*) FROM jsonb_object_keys(headers));\n"
    "    IF header_count > 64 THEN\n"
    "        RAISE program_limit_exceeded USING MESSAGE = format(\n"
    "            'header_count is %s, must be at most 64', header_count);\n"
    "    END IF;\n"
    "    FOR header IN SELECT e.key AS name, e.value\n"
    "        FROM jsonb_each_text(headers) WITH ORDINALITY AS e(key, value, place)\n"
    "        ORDER BY e.place\n"
    "    LOOP\n"
    "        IF octet_length(header.name) > 256\n"
    "            OR header.name COLLATE \"C\" !~ '^[ -~]+$' THEN\n"
    "            PERFORM @.{p}_enqueue_refuse('header name'::text, header.name, 256,\n"
    "                false);\n"
    "        END IF;\n"
    "        IF header.value IS NULL THEN\n"
    "            RAISE invalid_parameter_value USING MESSAGE = format(\n"
    "                'header \"%s\" is NULL, must have a value',\n"
    "                @.{p}_enqueue_quote(header.name));\n"
    "        END IF;\n"
    "        size_left := size_left - octet_length(header.name)\n"
    "            - octet_length(convert_to(header.value, 'UTF8'));\n"
    "        IF size_left < 0 THEN\n"
    "            RAISE program_limit_exceeded USING MESSAGE = format(\n"
    "                'headers up to \"%s\" are too large, names and values must have'\n"
    "                ' at most 16384 bytes together',\n"
    "                @.{p}_enqueue_quote(header.name));\n"
    "        END IF;\n"
    "        stored := stored || CASE WHEN stored = '' THEN chr(123) ELSE ',' END\n"
    "            || to_json(header.name)::text || ':' || to_json(header.value)::text;\n"
    "    END LOOP;\n"
    "    RETURN CASE WHEN header_count > 0 THEN stored || chr(125) END;\n" END;

/*
 * The number that was published (postgres/backlog.h), read once a second, and what this
 * session has added since: the limit is kept about. Kept as a setting of the session:
 * when it was read, which count it was, and the sum. A count that is not whole is asked
 * for again with the next message. While another session counts the sum is better than
 * the number of before, unless it is old itself: an error takes back what was kept, so
 * that a session that is refused keeps none.
 */
static const char ROOM[] = CREATE
    "@.{p}_enqueue_room(queue text, queue_id integer,\n"
    "    backlog_max bigint) RETURNS void\n"
    "LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $weir$\n"
    "DECLARE\n"
    "    setting text := '{p}.backlog_' || queue_id;\n"
    "    known text := coalesce(current_setting(setting, true), '');\n"
    "    now_us bigint := {now};\n"
    "    read_us bigint := 0;\n"
    "    stamp bigint;\n"
    "    backlog bigint := 0;\n"
    "    number record;\n"
    "BEGIN\n"
    "    IF length(known) < 58 AND known ~ '^[0-9]+/[0-9]+/[0-9]+$' THEN\n"
    "        read_us := split_part(known, '/', 1);\n"
    "        stamp := split_part(known, '/', 2);\n"
    "        backlog := split_part(known, '/', 3);\n"
    "    END IF;\n"
    "    IF now_us - read_us NOT BETWEEN 0 AND 1000000 THEN\n"
    "        SELECT r.stamp, r.waiting, r.whole INTO number\n"
    "            FROM @.{p}_backlog_read(queue_id) r;\n"
    "        IF stamp IS NULL OR number.stamp <> stamp OR number.stamp IS NULL\n"
    "            AND now_us - read_us NOT BETWEEN 0 AND 3000000 THEN\n"
    "            stamp := coalesce(number.stamp, 0);\n"
    "            backlog := number.waiting;\n"
    "            read_us := now_us;\n"
    "        ELSIF number.stamp IS NOT NULL THEN\n"
    "            read_us := now_us;\n"
    "        END IF;\n"
    "        IF NOT number.whole THEN\n"
    "            read_us := 0;\n"
    "        END IF;\n"
    "    END IF;\n"
    "    IF backlog >= backlog_max THEN\n"
    "        RAISE configuration_limit_exceeded USING MESSAGE = format(\n"
    "            'queue \"%s\" has %s waiting, its limit is %s', left(queue, 100),\n"
    "            CASE backlog WHEN 1 THEN '1 message'\n"
    "            ELSE backlog || ' messages' END, backlog_max);\n"
    "    END IF;\n"
    "    PERFORM set_config(setting, read_us || '/' || stamp || '/' || backlog + 1,\n"
    "        false);\n" END;

/* Were the tables made in this cluster? Asked once in a session: the cluster behind it
 * does not change. */
static const char CLUSTER[] = CREATE
    "@.{p}_enqueue_cluster() RETURNS void\n"
    "LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $weir$\n"
    "DECLARE\n"
    "    made text := (SELECT m.value FROM @.{p}_meta m WHERE m.name = 'identity');\n"
    "    here text := (SELECT c.system_identifier FROM pg_control_system() c)::text\n"
    "        || '/' || (SELECT d.oid FROM pg_database d\n"
    "        WHERE d.datname = current_database())::text;\n"
    "BEGIN\n"
    "    IF made <> here THEN\n"
    "        RAISE object_not_in_prerequisite_state USING MESSAGE = format(\n"
    "            'the database was restored from another cluster (made in \"%s\",'\n"
    "            ' this is \"%s\"): run \"weir migrate --restored --yes\" if it is to'\n"
    "            ' deliver', made, here);\n"
    "    END IF;\n"
    "    PERFORM set_config('{p}.known', 'yes', false);\n" END;

/*
 * Meta and queue by their keys. Whether a reader sleeps: postgres/append.c.
 *
 * That something was notified is written where readers say that they watch: as if one
 * had said so so long ago that it wears off in a moment (outbox/notify_limit.h). So all
 * sessions together notify once in that time.
 */
static const char ENQUEUE[] = CREATE
    "@.{p}_enqueue(queue text, key text, payload bytea,\n"
    "    type text DEFAULT 'message', headers jsonb DEFAULT NULL) RETURNS text\n"
    "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $weir$\n"
    "DECLARE\n"
    "    place record;\n"
    "    key_bytes bytea := convert_to(key, 'UTF8');\n"
    "    stored_headers text;\n"
    "    uid bytea := uuid_send(gen_random_uuid());\n"
    "    number bigint;\n"
    "BEGIN\n"
    "    IF current_setting('{p}.known', true) IS DISTINCT FROM 'yes' THEN\n"
    "        PERFORM @.{p}_enqueue_cluster();\n"
    "    END IF;\n"
    "    SELECT (SELECT m.value::bigint FROM @.{p}_meta m WHERE m.name = 'payload_max')\n"
    "            AS payload_max, q.id, q.partitions, q.backlog_max, q.going_us INTO "
    "place\n"
    "        FROM (VALUES (1)) one LEFT JOIN @.{p}_queue q ON q.name = queue;\n"
    "    IF queue IS NULL OR octet_length(queue) > 1024 OR queue COLLATE \"C\"\n"
    "        !~ '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$' THEN\n"
    "        PERFORM @.{p}_enqueue_refuse('queue name'::text, queue, 1024, true);\n"
    "    END IF;\n"
    "    IF type IS NULL OR octet_length(type) > 1024\n"
    "        OR type COLLATE \"C\" !~ '^[ -~]+$' THEN\n"
    "        PERFORM @.{p}_enqueue_refuse('type'::text, type, 1024, false);\n"
    "    END IF;\n"
    "    IF payload IS NULL THEN\n"
    "        RAISE invalid_parameter_value USING MESSAGE =\n"
    "            'payload is NULL, must have a value';\n"
    "    END IF;\n"
    "    IF octet_length(payload) > place.payload_max THEN\n"
    "        RAISE program_limit_exceeded USING MESSAGE = format(\n"
    "            'payload has %s bytes, must have at most %s', octet_length(payload),\n"
    "            place.payload_max);\n"
    "    END IF;\n"
    "    IF octet_length(key_bytes) > 1024 THEN\n"
    "        RAISE program_limit_exceeded USING MESSAGE = format(\n"
    "            'key \"%s\" is too long, must have at most 1024 bytes',\n"
    "            @.{p}_enqueue_quote(key));\n"
    "    END IF;\n"
    "    IF headers IS NOT NULL THEN\n"
    "        stored_headers := @.{p}_enqueue_headers(headers);\n"
    "    END IF;\n"
    "    IF place.id IS NULL THEN\n"
    "        RAISE no_data_found USING MESSAGE = format('there is no queue \"%s\"', "
    "queue);\n"
    "    END IF;\n"
    "    IF place.partitions NOT IN (1, 2, 4, 8, 16, 32, 64) THEN\n"
    "        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the row of'\n"
    "            ' queue \"%s\": partitions is %s, must be a power of two from 1 to "
    "64',\n"
    "            queue, place.partitions);\n"
    "    END IF;\n"
    "    IF place.id NOT BETWEEN 1 AND 33554431 THEN\n"
    "        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the row of'\n"
    "            ' queue \"%s\": id is %s, must be from 1 to 33554431', queue, "
    "place.id);\n"
    "    END IF;\n"
    "    IF place.going_us > {now} THEN\n"
    "        RAISE object_in_use USING MESSAGE = format(\n"
    "            'queue \"%s\" is being removed', queue);\n"
    "    END IF;\n"
    "    IF place.backlog_max > 0 THEN\n"
    "        PERFORM @.{p}_enqueue_room(queue, place.id, place.backlog_max);\n"
    "    END IF;\n"
    "    number := CASE WHEN key IS NULL THEN get_byte(uid, 0)\n"
    "        ELSE ('x' || left(md5(key_bytes), 8))::bit(32)::bigint END;\n"
    "    INSERT INTO @.{p}_log (pid, uid, message_key, type, headers, payload)\n"
    "        VALUES (place.id * 64 + number % place.partitions, uid, key, type,\n"
    "        stored_headers, payload);\n"
    "    PERFORM pg_notify(lower('{p}_wake'), ''),\n"
    "        setval(tableoid, {now} - 4997500) FROM @.{p}_asleep\n"
    "        WHERE " WEIR_PG_NOBODY_WATCHES "\n"
    "        AND " WEIR_PG_MAY_NOTIFY ";\n"
    "    RETURN encode(uid, 'hex');\n" END;

/* The same for another type of payload. */
#define ENQUEUE_AS(type, text)                                                           \
    CREATE                                                                               \
    "@.{p}_enqueue(queue text, key text, payload " type ",\n"                            \
    "    type text DEFAULT 'message', headers jsonb DEFAULT NULL) RETURNS text\n"        \
    "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS\n"       \
    "$weir$\n"                                                                           \
    "BEGIN\n"                                                                            \
    "    RETURN @.{p}_enqueue(queue, key, convert_to(" text                              \
    ", 'UTF8'), type, headers);\n" END

/*
 * Headers as a text. A text that is no object is refused by the function that is called.
 */
#define ENQUEUE_TEXTS(type)                                                              \
    CREATE                                                                               \
    "@.{p}_enqueue(queue text, key text, payload " type ",\n"                            \
    "    type text, headers text) RETURNS text\n"                                        \
    "LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $weir$\n"                 \
    "DECLARE\n"                                                                          \
    "    given json := headers;\n"                                                       \
    "    twice text := (SELECT e.name FROM json_object_keys(\n"                          \
    "        CASE json_typeof(given) WHEN 'object' THEN given END) AS e(name)\n"         \
    "        GROUP BY e.name HAVING count(*) > 1 LIMIT 1);\n"                            \
    "BEGIN\n"                                                                            \
    "    IF twice IS NOT NULL THEN\n"                                                    \
    "        RAISE invalid_parameter_value USING MESSAGE = format(\n"                    \
    "            'header \"%s\" is there twice, must be once',\n"                        \
    "            regexp_replace(left(twice, 60) COLLATE \"C\", '[^ -~]', '?', 'g'));\n"  \
    "    END IF;\n"                                                                      \
    "    RETURN @.{p}_enqueue(queue, key, payload, type, given::jsonb);\n" END
#define ENQUEUE_TEXTS_BY_NAME(type)                                                      \
    CREATE                                                                               \
    "@.{p}_enqueue(queue text, key text, payload " type ",\n"                            \
    "    headers information_schema.character_data) RETURNS text\n"                      \
    "LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $weir$\n"                 \
    "BEGIN\n"                                                                            \
    "    RETURN @.{p}_enqueue(queue, key, payload, 'message'::text, "                    \
    "headers::text);\n" END

_Static_assert(WEIR_NOTIFY_MODE_FRESH_US - WEIR_NOTIFY_LIMIT_US == 4997500,
               "as in ENQUEUE");

#define REVOKE(function) "REVOKE ALL ON FUNCTION " function " FROM PUBLIC"
/*
 * Every role may execute those that run with the rights of their caller, also where
 * functions are made without such a right by default.
 */
#define GRANT_TEXTS(type)                                                                \
    "GRANT EXECUTE ON FUNCTION {p}_enqueue(text, text, " type ", text, text),"           \
    " {p}_enqueue(text, text, " type ", information_schema.character_data) TO PUBLIC"
#define REVOKE_ENQUEUE(type) REVOKE("{p}_enqueue(text, text, " type ", text, jsonb)")

const char *const weir_producer_pg[] = {
    "INSERT INTO {p}_meta VALUES ('payload_max', '65536') ON CONFLICT DO NOTHING",
    USE_SCHEMA,
    QUOTE,
    REFUSE_TEXT,
    HEADERS,
    weir_backlog_pg_make,
    weir_backlog_pg_find,
    weir_backlog_pg_drop,
    weir_backlog_pg_print,
    weir_backlog_pg_claim,
    weir_backlog_pg_put,
    weir_backlog_pg_step,
    weir_backlog_pg_aside,
    weir_backlog_pg_read,
    ROOM,
    CLUSTER,
    ENQUEUE,
    ENQUEUE_AS("text", "payload"),
    ENQUEUE_AS("jsonb", "payload::text"),
    ENQUEUE_AS("json", "payload::text"),
    ENQUEUE_TEXTS("bytea"),
    ENQUEUE_TEXTS("text"),
    ENQUEUE_TEXTS("jsonb"),
    ENQUEUE_TEXTS("json"),
    ENQUEUE_TEXTS_BY_NAME("bytea"),
    ENQUEUE_TEXTS_BY_NAME("text"),
    ENQUEUE_TEXTS_BY_NAME("jsonb"),
    ENQUEUE_TEXTS_BY_NAME("json"),
    REVOKE("{p}_enqueue_quote(text)"),
    REVOKE("{p}_enqueue_refuse(text, text, integer, boolean)"),
    REVOKE("{p}_enqueue_headers(jsonb)"),
    REVOKE("{p}_enqueue_room(text, integer, bigint)"),
    REVOKE("{p}_enqueue_cluster()"),
    REVOKE("{p}_backlog_make(integer)"),
    REVOKE("{p}_backlog_find(integer)"),
    REVOKE("{p}_backlog_drop(integer)"),
    REVOKE("{p}_backlog_print(integer)"),
    REVOKE("{p}_backlog_claim(integer, bigint)"),
    REVOKE("{p}_backlog_put(integer, bigint, bigint, bigint)"),
    REVOKE("{p}_backlog_step(integer, bigint)"),
    REVOKE("{p}_backlog_aside(integer)"),
    REVOKE("{p}_backlog_read(integer)"),
    REVOKE_ENQUEUE("bytea"),
    REVOKE_ENQUEUE("text"),
    REVOKE_ENQUEUE("jsonb"),
    REVOKE_ENQUEUE("json"),
    GRANT_TEXTS("bytea"),
    GRANT_TEXTS("text"),
    GRANT_TEXTS("jsonb"),
    GRANT_TEXTS("json"),
    "SELECT {p}_backlog_make(q.id) FROM {p}_queue q WHERE q.backlog_max > 0",
    NULL,
};
