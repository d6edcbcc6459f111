/*
 * backlog.c - see postgres/backlog.h.
 *
 * Two sequences for each queue with a limit. What is written to a sequence is outside of all
 * transactions and snapshots, and leaves no dead rows.
 *
 *   {p}_backlog_7      63        31  30       29       28      0
 *                      | seconds | claimed | partial | waiting |
 *   {p}_backlog_7_at   63                 19         18        0
 *                      | place, an id      | print              |
 *
 * `waiting` is what waited when it was counted: everything up to the place, when the positions had
 * this print. While no position moves, a count goes on behind the place: so producers count only
 * what is new, STEP_ROWS rows at a time. `partial`: there are more rows. When a position has moved,
 * the count begins anew at the lowest mark (postgres/lag_statements.c); late rows before it are left out.
 *
 * A claim is a number with the time of the claim: until that is old, no other session counts.
 * Compare and set are one expression under a lock that is only tried, and given back by the same
 * expression: a statement is never cancelled in the middle of one.
 *
 * A place of 0 is none. It is written before the number and the new place behind it: when the
 * session ends in between, the next count begins anew.
 */
#include "outbox/postgres/backlog.h"

#include "outbox/postgres/function.h"

#define STEP_ROWS "10000"
#define PRODUCER_AGE_S "2" /* seconds, rounded down: WEIR_BACKLOG_AGE_US is 3 s */

#define NOW_S "({now} / 1000000)::bigint"
#define WAITING_MAX "536870911"
#define OPTIONS                                                                          \
    " LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp"           \
    " SET client_min_messages = warning AS $weir$\n"
#define INNER                                                                            \
    " LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off AS $weir$\n"

/* Two sessions at once: one of them waits for the other, and finds what that has made. */
const char weir_backlog_pg_make[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_make(queue_id integer) RETURNS void" OPTIONS "DECLARE\n"
    "    home text := (SELECT n.nspname FROM @.{p}_queue q\n"
    "        JOIN pg_class c ON c.oid = q.tableoid\n"
    "        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE q.id = queue_id);\n"
    "BEGIN\n"
    "    IF home IS NULL THEN\n"
    "        RETURN;\n"
    "    END IF;\n"
    "    EXECUTE format('CREATE SEQUENCE IF NOT EXISTS %I.%I MINVALUE 0 START 0',\n"
    "        home, lower('{p}_backlog_' || queue_id));\n"
    "    EXECUTE format('CREATE SEQUENCE IF NOT EXISTS %I.%I MINVALUE 0 START 0',\n"
    "        home, lower('{p}_backlog_' || queue_id || '_at'));\n"
    "EXCEPTION WHEN unique_violation OR duplicate_table THEN\n"
    "    NULL;\n" WEIR_PG_FUNCTION_END;

const char weir_backlog_pg_find[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_find(queue_id integer, OUT number regclass, OUT place regclass)" INNER
    "BEGIN\n"
    "    SELECT to_regclass(format('%I.%I', n.nspname,\n"
    "            lower('{p}_backlog_' || queue_id))),\n"
    "        to_regclass(format('%I.%I', n.nspname,\n"
    "            lower('{p}_backlog_' || queue_id || '_at'))) INTO number, place\n"
    "        FROM @.{p}_queue q JOIN pg_class c ON c.oid = q.tableoid\n"
    "        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE q.id = queue_id;\n"
    "    IF place IS NULL THEN\n"
    "        number := NULL;\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;

const char weir_backlog_pg_drop[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_drop(queue_id integer) RETURNS void" OPTIONS "DECLARE\n"
    "    found record;\n"
    "BEGIN\n"
    "    SELECT f.number, f.place INTO found FROM @.{p}_backlog_find(queue_id) f;\n"
    "    IF found.number IS NOT NULL THEN\n"
    "        EXECUTE format('DROP SEQUENCE %s, %s', found.number, found.place);\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;

/* Newest ack of each partition, by index from its end. Versions only grow. */
const char weir_backlog_pg_print[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_print(queue_id integer) RETURNS bigint" INNER "BEGIN\n"
    "    RETURN (SELECT ((coalesce(sum(a.version + s.id * 8191), 0)\n"
    "        + max(q.removals + q.unread)) % 524288)::bigint\n"
    "        FROM @.{p}_queue q LEFT JOIN @.{p}_subscription s ON s.queue = q.id\n"
    "        LEFT JOIN generate_series(0, 63) AS g(n) ON g.n < q.partitions\n"
    "        LEFT JOIN LATERAL (SELECT k.version FROM @.{p}_ack k\n"
    "            WHERE k.subscription = s.id AND k.pid = queue_id * 64 + g.n\n"
    "            ORDER BY k.version DESC LIMIT 1) a ON true\n"
    "        WHERE q.id = queue_id);\n" WEIR_PG_FUNCTION_END;

/* Compare with `known`, and set. */
#define CLAIM                                                                            \
    "(CASE WHEN pg_try_advisory_lock(hashtextextended(lower('{p}_backlog'),\n"           \
    "        queue_id))\n"                                                               \
    "        THEN (pg_sequence_last_value(found.number) IS NOT DISTINCT FROM known\n"    \
    "            AND setval(found.number, now_s << 31 | 1073741824\n"                    \
    "            | (coalesce(known, 0) & 1073741823)) > 0)::integer\n"                   \
    "            + pg_advisory_unlock(hashtextextended(lower('{p}_backlog'),\n"          \
    "            queue_id))::integer = 2 ELSE false END)"

/* The print is of before the count: when positions move meanwhile, the next count begins anew. */
const char weir_backlog_pg_claim[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_claim(queue_id integer, age_s bigint, OUT mine boolean,\n"
    "    OUT print bigint)" OPTIONS "DECLARE\n"
    "    now_s bigint := " NOW_S ";\n"
    "    found record;\n"
    "    known bigint;\n"
    "BEGIN\n"
    "    SELECT f.number INTO found FROM @.{p}_backlog_find(queue_id) f;\n"
    "    IF found.number IS NULL THEN\n"
    "        PERFORM @.{p}_backlog_make(queue_id);\n"
    "        SELECT f.number INTO found FROM @.{p}_backlog_find(queue_id) f;\n"
    "    END IF;\n"
    "    known := pg_sequence_last_value(found.number);\n"
    "    mine := found.number IS NOT NULL\n"
    "        AND coalesce(now_s - (known >> 31) NOT BETWEEN 0 AND age_s - 1, true);\n"
    "    IF mine THEN\n"
    "        mine := " CLAIM ";\n"
    "    END IF;\n"
    "    IF mine THEN\n"
    "        print := @.{p}_backlog_print(queue_id);\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;

#define SET_PLACE(log_position, print)                                                   \
    "setval(found.place, CASE WHEN " log_position " < 17592186044416 THEN " log_position \
    " << 19 | " print " ELSE 0 END)"
#define SET_NUMBER(partial, waiting)                                                     \
    "setval(found.number, now_s << 31 | CASE WHEN " partial                              \
    " THEN 536870912 ELSE 0 END\n"                                                       \
    "        | least(greatest(" waiting ", 0), " WAITING_MAX "))"

#define PUT_NUMBER SET_NUMBER("false", "waiting")
#define PUT_PLACE SET_PLACE("last_id", "print")
#define STEP_NUMBER SET_NUMBER("NOT step.whole", "waiting")
#define STEP_PLACE SET_PLACE("step.place", "print")

/* Without a number the claim is given back: the number before it is old at once. What was
 * committed since the count and has an id up to the last is left out of the next. */
const char weir_backlog_pg_put[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_put(queue_id integer, waiting bigint, print bigint)\n"
    "    RETURNS void" OPTIONS "DECLARE\n"
    "    now_s bigint := " NOW_S ";\n"
    "    last_id bigint := (SELECT last_value FROM @.{p}_log_id);\n"
    "    found record;\n"
    "BEGIN\n"
    "    SELECT f.number, f.place INTO found FROM @.{p}_backlog_find(queue_id) f;\n"
    "    IF waiting IS NULL THEN\n"
    "        PERFORM setval(found.number,\n"
    "            pg_sequence_last_value(found.number) & 1073741823);\n"
    "    ELSIF found.number IS NOT NULL THEN\n"
    "        PERFORM setval(found.place, 0);\n"
    "        PERFORM " PUT_NUMBER ";\n"
    "        PERFORM " PUT_PLACE ";\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;

/* Up to row_max rows behind `begin`, and none of this transaction, which may be rolled back: the
 * place stays before them. The limit stands in a sub-select, so that the planner takes it for small
 * and follows the index. */
#define LOOKED(begin)                                                                    \
    "looked AS MATERIALIZED (SELECT l.id, l.xid, l.pid FROM @.{p}_log l\n"               \
    "            WHERE l.id > " begin " ORDER BY l.id LIMIT (SELECT row_max)),\n"        \
    "        seen AS MATERIALIZED (SELECT count(*) AS rows, max(id) AS last_id,\n"       \
    "            min(id) FILTER (WHERE xid = own) AS own_id FROM looked)"
#define NOT_OWN "(l.id >= (SELECT own_id FROM seen)) IS NOT TRUE"
#define RESULT(begin)                                                                    \
    "coalesce(s.own_id - 1, s.last_id, " begin "),\n"                                    \
    "            s.rows < row_max OR s.own_id IS NOT NULL\n"                             \
    "            INTO waiting, place, whole FROM seen s"
#define LOOKED_FROM_FIRST LOOKED("(SELECT id FROM first)")
#define LOOKED_FROM_PLACE LOOKED("after")
#define RESULT_OF_FIRST RESULT("(SELECT id FROM first)")
#define RESULT_OF_PLACE RESULT("after")

/*
 * Rows behind the place, or from the beginning: what the subscription furthest behind has not
 * passed; without subscriptions everything, unless it is dropped. A row takes a few microseconds:
 * where statements may not take long, there are fewer.
 */
const char weir_backlog_pg_step[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_step(queue_id integer, after bigint, OUT waiting bigint,\n"
    "    OUT place bigint, OUT whole boolean)" INNER "DECLARE\n"
    "    own xid8 := pg_current_xact_id_if_assigned();\n"
    "    time_ms double precision := extract(epoch FROM\n"
    "        current_setting('statement_timeout')::interval) * 1000;\n"
    "    row_max bigint := CASE WHEN time_ms > 0\n"
    "        THEN least(" STEP_ROWS ", greatest(100, time_ms * 20)) ELSE " STEP_ROWS
    " END;\n"
    "BEGIN\n"
    "    IF EXISTS (SELECT FROM @.{p}_subscription s WHERE s.queue = queue_id) THEN\n"
    "        WITH pos AS MATERIALIZED (\n"
    "            SELECT s.id AS subscription, a.pid, a.last_id, b.snap,\n"
    "                c.snap AS next_snap, CASE WHEN c.no IS NULL THEN b.hi\n"
    "                ELSE greatest(b.hi, least(a.last_id, c.hi)) END AS lo\n"
    "            FROM @.{p}_subscription s\n"
    "            CROSS JOIN generate_series(0, 63) AS g(n)\n"
    "            CROSS JOIN LATERAL (SELECT k.pid, k.cut, k.last_id FROM @.{p}_ack k\n"
    "                WHERE k.subscription = s.id AND k.pid = queue_id * 64 + g.n\n"
    "                ORDER BY k.version DESC LIMIT 1) a\n"
    "            CROSS JOIN LATERAL (SELECT k.no, k.hi, k.snap FROM @.{p}_cut k\n"
    "                WHERE k.no >= a.cut ORDER BY k.no LIMIT 1) b\n"
    "            LEFT JOIN LATERAL (SELECT k.no, k.hi, k.snap FROM @.{p}_cut k\n"
    "                WHERE k.no > b.no AND b.no = a.cut\n"
    "                ORDER BY k.no LIMIT 1) c ON true\n"
    "            WHERE s.queue = queue_id),\n"
    "        first AS (SELECT greatest(after, (SELECT min(lo) FROM pos)) AS id),\n"
    "        " LOOKED_FROM_FIRST ",\n"
    "        front AS (SELECT count(*) AS rows\n"
    "            FROM looked l JOIN pos p ON p.pid = l.pid AND l.id > p.lo\n"
    "            WHERE NOT pg_visible_in_snapshot(l.xid, p.snap)\n"
    "            AND (l.id <= p.last_id\n"
    "            AND pg_visible_in_snapshot(l.xid, p.next_snap)) IS NOT TRUE\n"
    "            AND " NOT_OWN " GROUP BY p.subscription)\n"
    "        SELECT coalesce((SELECT max(f.rows) FROM front f), 0),\n"
    "            " RESULT_OF_FIRST ";\n"
    "    ELSIF (SELECT q.unread FROM @.{p}_queue q WHERE q.id = queue_id) = 0 THEN\n"
    "        WITH " LOOKED_FROM_PLACE "\n"
    "        SELECT (SELECT count(*) FROM looked l\n"
    "            WHERE l.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63\n"
    "            AND " NOT_OWN "),\n"
    "            " RESULT_OF_PLACE ";\n"
    "    ELSE\n"
    "        waiting := 0;\n"
    "        place := after;\n"
    "        whole := true;\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;

/* What is set aside of a queue: for a subscription that has not passed it, or for none yet. */
const char weir_backlog_pg_aside[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_aside(queue_id integer) RETURNS bigint" INNER "BEGIN\n"
    "    RETURN (SELECT count(*) FROM (SELECT FROM @.{p}_aside a\n"
    "        WHERE a.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63\n"
    "        LIMIT " STEP_ROWS ") x);\n" WEIR_PG_FUNCTION_END;

/*
 * `stamp` tells one count from another; NULL while a session counts. Not `whole`: there is more to
 * count, the caller is to ask again with the next message.
 */
const char weir_backlog_pg_read[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_read(queue_id integer, OUT stamp bigint, OUT waiting bigint,\n"
    "    OUT whole boolean)" OPTIONS "DECLARE\n"
    "    now_s bigint := " NOW_S ";\n"
    "    found record;\n"
    "    step record;\n"
    "    known bigint;\n"
    "    begun bigint;\n"
    "    print bigint;\n"
    "BEGIN\n"
    "    SELECT f.number, f.place INTO found FROM @.{p}_backlog_find(queue_id) f;\n"
    "    known := pg_sequence_last_value(found.number);\n"
    "    waiting := coalesce(known & " WAITING_MAX ", 0);\n"
    "    whole := coalesce(known & 536870912 = 0, false);\n"
    "    stamp := CASE WHEN known & 1073741824 = 0 THEN known END;\n"
    "    IF now_s - (known >> 31) BETWEEN 0 AND " PRODUCER_AGE_S "\n"
    "        AND (whole OR stamp IS NULL) THEN\n"
    "        RETURN;\n"
    "    END IF;\n"
    "    IF found.number IS NOT NULL AND NOT " CLAIM " THEN\n"
    "        RETURN;\n"
    "    END IF;\n"
    "    print := @.{p}_backlog_print(queue_id);\n"
    "    begun := pg_sequence_last_value(found.place);\n"
    "    IF begun IS NULL OR begun & 524287 <> print OR known IS NULL THEN\n"
    "        begun := 0;\n"
    "    END IF;\n"
    "    IF begun >> 19 = 0 THEN\n"
    "        waiting := @.{p}_backlog_aside(queue_id);\n"
    "    END IF;\n"
    "    SELECT s.waiting, s.place, s.whole INTO step\n"
    "        FROM @.{p}_backlog_step(queue_id, begun >> 19) s;\n"
    "    waiting := waiting + step.waiting;\n"
    "    whole := step.whole;\n"
    "    stamp := now_s << 31 | waiting;\n"
    "    IF found.number IS NOT NULL THEN\n"
    "        PERFORM setval(found.place, 0);\n"
    "        stamp := " STEP_NUMBER ";\n"
    "        PERFORM " STEP_PLACE ";\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;
