/*
 * backlog.c - see postgres/backlog.h.
 *
 * Three sequences for each queue with a limit. What is written to a sequence is outside
 * of all transactions and snapshots, and leaves no dead rows.
 *
 *   {p}_backlog_7      63        31  30       29       28      0
 *                      | seconds | claimed | partial | waiting |
 *   {p}_backlog_7_at   63                 19         18        0
 *                      | place, an id      | print              |
 *   {p}_backlog_7_sum  63        31                  28        0
 *                      | begun   |                   | counted |
 *
 * `counted` are the rows up to the place, when the positions had this print; the count
 * began at `begun`. While no position moves, a count goes on behind the place: so
 * producers count only what is new, STEP_ROWS rows at a time. It begins anew at the
 * lowest mark (postgres/lag_statements.c) when a position has moved, and BEGIN_AGE_S
 * after its begin: rows that were committed behind the place are found then. Late rows
 * before the lowest mark are left out.
 *
 * `waiting` is what producers see. While there are more rows (`partial`) it is the
 * number of before, or what was counted when that is more. A number of before that is
 * older than BEGIN_AGE_S tells nothing; nor does one that was claimed and not counted
 * in time.
 *
 * A claim is a number with the time of the claim: until that is old, other sessions do
 * not count. Compare and set are one expression, without a lock: a lock of the session
 * stays when the transaction fails, and one of the transaction would last as long as
 * that. Two sessions that claim in the same moment both count, and the second one finds
 * that its claim is gone and publishes nothing. When even that comes at the same
 * moment, the number is wrong until the count begins anew.
 *
 * A place of 0 is none. It is written before the others and the new place behind them:
 * when the session ends in between, the next count begins anew.
 */
#include "outbox/postgres/backlog.h"

#include "outbox/postgres/function.h"

#define STEP_ROWS "10000"
#define PRODUCER_AGE_S "2" /* seconds, rounded down: WEIR_BACKLOG_AGE_US is 3 s */
#define BEGIN_AGE_S "29"   /* rounded down, too */

#define NOW_S "({now} / 1000000)::bigint"
#define WAITING_MAX "536870911"
#define PARTIAL "536870912"
#define CLAIMED "1073741824"
#define LOW_BITS "1073741823" /* partial and waiting */
#define OPTIONS                                                                          \
    " LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp"           \
    " SET client_min_messages = warning AS $weir$\n"
#define INNER                                                                            \
    " LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off AS $weir$\n"

/*
 * Two sessions at once: one of them waits for the other, and finds what that has made.
 *
 * The functions of one queue use its sequences with the rights of their owner, and that
 * changes while the roles are made (postgres/roles.c), tables before functions. So a
 * sequence belongs to the owner of the table of queues: the owner of the functions is a
 * member of it until the functions are its own. The owner is read by a statement of its
 * own, behind the one that locks the table against a change of it. A caller whose
 * snapshot is older than that change reads the former owner: such a sequence changes with
 * the functions.
 */
const char weir_backlog_pg_make[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_make(queue_id integer) RETURNS void" OPTIONS "DECLARE\n"
    "    home text := (SELECT n.nspname FROM @.{p}_queue q\n"
    "        JOIN pg_class c ON c.oid = q.tableoid\n"
    "        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE q.id = queue_id);\n"
    "    heir name := (SELECT pg_get_userbyid(c.relowner) FROM @.{p}_queue q\n"
    "        JOIN pg_class c ON c.oid = q.tableoid WHERE q.id = queue_id);\n"
    "    part text;\n"
    "BEGIN\n"
    "    IF home IS NULL THEN\n"
    "        RETURN;\n"
    "    END IF;\n"
    "    FOREACH part IN ARRAY ARRAY['', '_at', '_sum'] LOOP\n"
    "        part := lower('{p}_backlog_' || queue_id || part);\n"
    "        EXECUTE format('CREATE SEQUENCE IF NOT EXISTS %I.%I MINVALUE 0 START 0',\n"
    "            home, part);\n"
    "        IF heir <> current_user THEN\n"
    "            BEGIN\n"
    "                EXECUTE format('ALTER SEQUENCE %I.%I OWNER TO %I', home, part,\n"
    "                    heir);\n"
    "            EXCEPTION WHEN insufficient_privilege THEN\n"
    "                NULL;\n"
    "            END;\n"
    "        END IF;\n"
    "    END LOOP;\n"
    "EXCEPTION WHEN unique_violation OR duplicate_table THEN\n"
    "    NULL;\n" WEIR_PG_FUNCTION_END;

const char weir_backlog_pg_find[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_find(queue_id integer, OUT number regclass, OUT place regclass,\n"
    "    OUT sum regclass)" INNER "DECLARE\n"
    "    stem text := lower('{p}_backlog_' || queue_id);\n"
    "BEGIN\n"
    "    SELECT to_regclass(format('%I.%I', n.nspname, stem)),\n"
    "        to_regclass(format('%I.%I', n.nspname, stem || '_at')),\n"
    "        to_regclass(format('%I.%I', n.nspname, stem || '_sum'))\n"
    "        INTO number, place, sum\n"
    "        FROM @.{p}_queue q JOIN pg_class c ON c.oid = q.tableoid\n"
    "        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE q.id = queue_id;\n"
    "    IF place IS NULL OR sum IS NULL THEN\n"
    "        number := NULL;\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;

const char weir_backlog_pg_drop[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_drop(queue_id integer) RETURNS void" OPTIONS "DECLARE\n"
    "    found record;\n"
    "BEGIN\n"
    "    SELECT f.number, f.place, f.sum INTO found\n"
    "        FROM @.{p}_backlog_find(queue_id) f;\n"
    "    IF found.number IS NOT NULL THEN\n"
    "        EXECUTE format('DROP SEQUENCE %s, %s, %s', found.number, found.place,\n"
    "            found.sum);\n"
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

/* Of what `known` says partial and waiting; NULL: they tell nothing. */
#define KEPT                                                                             \
    "CASE WHEN now_s - (known >> 31) BETWEEN 0 AND CASE WHEN known & " CLAIMED " = 0\n"  \
    "        THEN " BEGIN_AGE_S " ELSE " PRODUCER_AGE_S " END\n"                         \
    "        THEN known & " LOW_BITS " END"

/* Compare with `known`, and set. */
#define CLAIM                                                                            \
    "(pg_sequence_last_value(found.number) IS NOT DISTINCT FROM known\n"                 \
    "        AND setval(found.number, claim) > 0)"
#define CLAIM_PACKED "now_s << 31 | " CLAIMED " | coalesce(kept, " PARTIAL ")"
#define IS_READ_ONLY "current_setting('transaction_read_only')::boolean"

#define MARK(log_position, print)                                                        \
    "CASE WHEN " log_position " < 17592186044416\n"                                      \
    "        THEN " log_position " << 19 | " print " ELSE 0 END"
#define CLAIM_MARK MARK("last_id", "mark")
#define STEP_MARK MARK("step.place", "print")

/* Time, place and print are of before the count: when positions move meanwhile, the
 * next count begins anew. */
const char weir_backlog_pg_claim[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_claim(queue_id integer, age_s bigint, OUT mine boolean,\n"
    "    OUT mark bigint, OUT begun_s bigint)" OPTIONS "DECLARE\n"
    "    now_s bigint := " NOW_S ";\n"
    "    last_id bigint := (SELECT last_value FROM @.{p}_log_id);\n"
    "    found record;\n"
    "    known bigint;\n"
    "    kept bigint;\n"
    "    claim bigint;\n"
    "BEGIN\n"
    "    mine := false;\n"
    "    IF " IS_READ_ONLY " THEN\n"
    "        RETURN;\n"
    "    END IF;\n"
    "    SELECT f.number INTO found FROM @.{p}_backlog_find(queue_id) f;\n"
    "    IF found.number IS NULL THEN\n"
    "        PERFORM @.{p}_backlog_make(queue_id);\n"
    "        SELECT f.number INTO found FROM @.{p}_backlog_find(queue_id) f;\n"
    "    END IF;\n"
    "    known := pg_sequence_last_value(found.number);\n"
    "    kept := " KEPT ";\n"
    "    claim := " CLAIM_PACKED ";\n"
    "    mine := found.number IS NOT NULL\n"
    "        AND (coalesce(now_s - (known >> 31) NOT BETWEEN 0 AND age_s - 1, true)\n"
    "        OR known & " CLAIMED " = 0 AND known & " PARTIAL " <> 0);\n"
    "    IF mine THEN\n"
    "        mine := " CLAIM ";\n"
    "    END IF;\n"
    "    IF mine THEN\n"
    "        mark := @.{p}_backlog_print(queue_id);\n"
    "        mark := " CLAIM_MARK ";\n"
    "        begun_s := now_s;\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;

#define LESS_THAN_MOST(count) "least(greatest(" count ", 0), " WAITING_MAX ")"
#define WAITING_PACKED LESS_THAN_MOST("waiting")
#define COUNTED_PACKED LESS_THAN_MOST("counted")

/* Without a number the claim is given back: producers are to count at once. */
const char weir_backlog_pg_put[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_put(queue_id integer, waiting bigint, mark bigint,\n"
    "    begun_s bigint) RETURNS void" OPTIONS "DECLARE\n"
    "    now_s bigint := " NOW_S ";\n"
    "    found record;\n"
    "BEGIN\n"
    "    SELECT f.number, f.place, f.sum INTO found\n"
    "        FROM @.{p}_backlog_find(queue_id) f;\n"
    "    IF waiting IS NULL THEN\n"
    "        PERFORM setval(found.number, now_s - " PRODUCER_AGE_S " - 1 << 31\n"
    "            | (pg_sequence_last_value(found.number) & " LOW_BITS "));\n"
    "    ELSIF found.number IS NOT NULL THEN\n"
    "        PERFORM setval(found.place, 0);\n"
    "        PERFORM setval(found.sum, begun_s << 31 | " WAITING_PACKED ");\n"
    "        PERFORM setval(found.number, begun_s << 31 | " WAITING_PACKED ");\n"
    "        PERFORM setval(found.place, mark);\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;

/* Up to row_max rows behind `begin`, and none of this transaction, which may be rolled
 * back: the place stays before them. The limit stands in a sub-select, so that the
 * planner takes it for small and follows the index. */
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
 * Rows behind the place, or from the beginning: what the subscription furthest behind
 * has not passed; without subscriptions everything, unless it is dropped. A row takes a
 * few microseconds: where statements may not take long, there are fewer.
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

/* What is set aside of a queue: for a subscription that has not passed it, or for none
 * yet. */
const char weir_backlog_pg_aside[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_aside(queue_id integer) RETURNS bigint" INNER "BEGIN\n"
    "    RETURN (SELECT count(*) FROM (SELECT FROM @.{p}_aside a\n"
    "        WHERE a.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63\n"
    "        LIMIT " STEP_ROWS ") x);\n" WEIR_PG_FUNCTION_END;

/*
 * `stamp` tells one count from another; NULL while a session counts. Not `whole`: there
 * is more to count, the caller is to ask again with the next message. A transaction
 * that only reads cannot enqueue, and counts nothing.
 *
 * Counts that begin anew again and again before they are whole keep `begun`: after
 * BEGIN_AGE_S the number of before them is dropped.
 */
const char weir_backlog_pg_read[] = WEIR_PG_FUNCTION
    "@.{p}_backlog_read(queue_id integer, OUT stamp bigint, OUT waiting bigint,\n"
    "    OUT whole boolean)" OPTIONS "DECLARE\n"
    "    now_s bigint := " NOW_S ";\n"
    "    found record;\n"
    "    step record;\n"
    "    known bigint;\n"
    "    kept bigint;\n"
    "    claim bigint;\n"
    "    print bigint;\n"
    "    place bigint;\n"
    "    begun_s bigint;\n"
    "    counted bigint;\n"
    "    is_late boolean;\n"
    "BEGIN\n"
    "    SELECT f.number, f.place, f.sum INTO found\n"
    "        FROM @.{p}_backlog_find(queue_id) f;\n"
    "    known := pg_sequence_last_value(found.number);\n"
    "    kept := " KEPT ";\n"
    "    claim := " CLAIM_PACKED ";\n"
    "    waiting := coalesce(kept & " WAITING_MAX ", 0);\n"
    "    whole := coalesce(kept & " PARTIAL " = 0, false);\n"
    "    IF now_s - (known >> 31) BETWEEN 0 AND " PRODUCER_AGE_S "\n"
    "        AND (whole OR known & " CLAIMED " <> 0) THEN\n"
    "        stamp := CASE WHEN known & " CLAIMED " = 0 THEN known END;\n"
    "        RETURN;\n"
    "    END IF;\n"
    "    IF " IS_READ_ONLY " OR found.number IS NOT NULL AND NOT " CLAIM " THEN\n"
    "        RETURN;\n"
    "    END IF;\n"
    "    print := @.{p}_backlog_print(queue_id);\n"
    "    place := CASE WHEN kept IS NOT NULL\n"
    "        THEN pg_sequence_last_value(found.place) END;\n"
    "    begun_s := coalesce(pg_sequence_last_value(found.sum) >> 31, 0);\n"
    "    counted := pg_sequence_last_value(found.sum) & " WAITING_MAX ";\n"
    "    is_late := now_s - begun_s NOT BETWEEN 0 AND " BEGIN_AGE_S ";\n"
    "    IF place & 524287 IS DISTINCT FROM print OR place >> 19 = 0\n"
    "        OR counted IS NULL OR whole AND is_late THEN\n"
    "        waiting := CASE WHEN whole OR NOT is_late THEN waiting ELSE 0 END;\n"
    "        begun_s := CASE WHEN whole OR is_late THEN now_s ELSE begun_s END;\n"
    "        counted := @.{p}_backlog_aside(queue_id);\n"
    "        place := 0;\n"
    "    END IF;\n"
    "    SELECT s.waiting, s.place, s.whole INTO step\n"
    "        FROM @.{p}_backlog_step(queue_id, place >> 19) s;\n"
    "    counted := counted + step.waiting;\n"
    "    whole := step.whole;\n"
    "    waiting := CASE WHEN whole THEN counted\n"
    "        ELSE greatest(waiting, counted) END;\n"
    "    stamp := now_s << 31 | CASE WHEN whole THEN 0 ELSE " PARTIAL " END\n"
    "        | " WAITING_PACKED ";\n"
    "    IF pg_sequence_last_value(found.number) = claim THEN\n"
    "        PERFORM setval(found.place, 0);\n"
    "        PERFORM setval(found.sum, begun_s << 31 | " COUNTED_PACKED ");\n"
    "        PERFORM setval(found.number, stamp);\n"
    "        PERFORM setval(found.place, " STEP_MARK ");\n"
    "    END IF;\n" WEIR_PG_FUNCTION_END;
