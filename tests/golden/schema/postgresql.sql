
CREATE FUNCTION public.weir_backlog_aside(queue_id integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
BEGIN
    RETURN (SELECT count(*) FROM (SELECT FROM public.weir_aside a
        WHERE a.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63
        LIMIT 10000) x);
END $$;

CREATE FUNCTION public.weir_backlog_claim(queue_id integer, age_s bigint, OUT mine boolean, OUT mark bigint, OUT begun_s bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET client_min_messages TO 'warning'
    AS $$
DECLARE
    now_s bigint := ((extract(epoch FROM clock_timestamp()) * 1000000)::bigint / 1000000)::bigint;
    last_id bigint := (SELECT last_value FROM public.weir_log_id);
    found record;
    known bigint;
    kept bigint;
    claim bigint;
BEGIN
    mine := false;
    IF current_setting('transaction_read_only')::boolean THEN
        RETURN;
    END IF;
    SELECT f.number INTO found FROM public.weir_backlog_find(queue_id) f;
    IF found.number IS NULL THEN
        PERFORM public.weir_backlog_make(queue_id);
        SELECT f.number INTO found FROM public.weir_backlog_find(queue_id) f;
    END IF;
    known := pg_sequence_last_value(found.number);
    kept := CASE WHEN now_s - (known >> 31) BETWEEN 0 AND CASE WHEN known & 1073741824 = 0
        THEN 29 ELSE 2 END
        THEN known & 1073741823 END;
    claim := now_s << 31 | 1073741824 | coalesce(kept, 536870912);
    mine := found.number IS NOT NULL
        AND (coalesce(now_s - (known >> 31) NOT BETWEEN 0 AND age_s - 1, true)
        OR known & 1073741824 = 0 AND known & 536870912 <> 0);
    IF mine THEN
        mine := (pg_sequence_last_value(found.number) IS NOT DISTINCT FROM known
        AND setval(found.number, claim) > 0);
    END IF;
    IF mine THEN
        mark := public.weir_backlog_print(queue_id);
        mark := CASE WHEN last_id < 17592186044416
        THEN last_id << 19 | mark ELSE 0 END;
        begun_s := now_s;
    END IF;
END $$;

CREATE FUNCTION public.weir_backlog_drop(queue_id integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET client_min_messages TO 'warning'
    AS $$
DECLARE
    found record;
BEGIN
    SELECT f.number, f.place, f.sum INTO found
        FROM public.weir_backlog_find(queue_id) f;
    IF found.number IS NOT NULL THEN
        EXECUTE format('DROP SEQUENCE %s, %s, %s', found.number, found.place,
            found.sum);
    END IF;
END $$;

CREATE FUNCTION public.weir_backlog_find(queue_id integer, OUT number regclass, OUT place regclass, OUT sum regclass) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
DECLARE
    stem text := lower('weir_backlog_' || queue_id);
BEGIN
    SELECT to_regclass(format('%I.%I', n.nspname, stem)),
        to_regclass(format('%I.%I', n.nspname, stem || '_at')),
        to_regclass(format('%I.%I', n.nspname, stem || '_sum'))
        INTO number, place, sum
        FROM public.weir_queue q JOIN pg_class c ON c.oid = q.tableoid
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE q.id = queue_id;
    IF place IS NULL OR sum IS NULL THEN
        number := NULL;
    END IF;
END $$;

CREATE FUNCTION public.weir_backlog_make(queue_id integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET client_min_messages TO 'warning'
    AS $$
DECLARE
    home text := (SELECT n.nspname FROM public.weir_queue q
        JOIN pg_class c ON c.oid = q.tableoid
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE q.id = queue_id);
    heir name := (SELECT pg_get_userbyid(c.relowner) FROM public.weir_queue q
        JOIN pg_class c ON c.oid = q.tableoid WHERE q.id = queue_id);
    part text;
BEGIN
    IF home IS NULL THEN
        RETURN;
    END IF;
    FOREACH part IN ARRAY ARRAY['', '_at', '_sum'] LOOP
        part := lower('weir_backlog_' || queue_id || part);
        EXECUTE format('CREATE SEQUENCE IF NOT EXISTS %I.%I MINVALUE 0 START 0',
            home, part);
        IF heir <> current_user THEN
            BEGIN
                EXECUTE format('ALTER SEQUENCE %I.%I OWNER TO %I', home, part,
                    heir);
            EXCEPTION WHEN insufficient_privilege THEN
                NULL;
            END;
        END IF;
    END LOOP;
EXCEPTION WHEN unique_violation OR duplicate_table THEN
    NULL;
END $$;

CREATE FUNCTION public.weir_backlog_print(queue_id integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
BEGIN
    RETURN (SELECT ((coalesce(sum(a.version + s.id * 8191), 0)
        + max(q.removals + q.unread)) % 524288)::bigint
        FROM public.weir_queue q LEFT JOIN public.weir_subscription s ON s.queue = q.id
        LEFT JOIN generate_series(0, 63) AS g(n) ON g.n < q.partitions
        LEFT JOIN LATERAL (SELECT k.version FROM public.weir_ack k
            WHERE k.subscription = s.id AND k.pid = queue_id * 64 + g.n
            ORDER BY k.version DESC LIMIT 1) a ON true
        WHERE q.id = queue_id);
END $$;

CREATE FUNCTION public.weir_backlog_put(queue_id integer, waiting bigint, mark bigint, begun_s bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET client_min_messages TO 'warning'
    AS $$
DECLARE
    now_s bigint := ((extract(epoch FROM clock_timestamp()) * 1000000)::bigint / 1000000)::bigint;
    found record;
BEGIN
    SELECT f.number, f.place, f.sum INTO found
        FROM public.weir_backlog_find(queue_id) f;
    IF waiting IS NULL THEN
        PERFORM setval(found.number, now_s - 2 - 1 << 31
            | (pg_sequence_last_value(found.number) & 1073741823));
    ELSIF found.number IS NOT NULL THEN
        PERFORM setval(found.place, 0);
        PERFORM setval(found.sum, begun_s << 31 | least(greatest(waiting, 0), 536870911));
        PERFORM setval(found.number, begun_s << 31 | least(greatest(waiting, 0), 536870911));
        PERFORM setval(found.place, mark);
    END IF;
END $$;

CREATE FUNCTION public.weir_backlog_read(queue_id integer, OUT stamp bigint, OUT waiting bigint, OUT whole boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET client_min_messages TO 'warning'
    AS $$
DECLARE
    now_s bigint := ((extract(epoch FROM clock_timestamp()) * 1000000)::bigint / 1000000)::bigint;
    found record;
    step record;
    known bigint;
    kept bigint;
    claim bigint;
    print bigint;
    place bigint;
    begun_s bigint;
    counted bigint;
    is_late boolean;
BEGIN
    SELECT f.number, f.place, f.sum INTO found
        FROM public.weir_backlog_find(queue_id) f;
    known := pg_sequence_last_value(found.number);
    kept := CASE WHEN now_s - (known >> 31) BETWEEN 0 AND CASE WHEN known & 1073741824 = 0
        THEN 29 ELSE 2 END
        THEN known & 1073741823 END;
    claim := now_s << 31 | 1073741824 | coalesce(kept, 536870912);
    waiting := coalesce(kept & 536870911, 0);
    whole := coalesce(kept & 536870912 = 0, false);
    IF now_s - (known >> 31) BETWEEN 0 AND 2
        AND (whole OR known & 1073741824 <> 0) THEN
        stamp := CASE WHEN known & 1073741824 = 0 THEN known END;
        RETURN;
    END IF;
    IF current_setting('transaction_read_only')::boolean OR found.number IS NOT NULL AND NOT (pg_sequence_last_value(found.number) IS NOT DISTINCT FROM known
        AND setval(found.number, claim) > 0) THEN
        RETURN;
    END IF;
    print := public.weir_backlog_print(queue_id);
    place := CASE WHEN kept IS NOT NULL
        THEN pg_sequence_last_value(found.place) END;
    begun_s := coalesce(pg_sequence_last_value(found.sum) >> 31, 0);
    counted := pg_sequence_last_value(found.sum) & 536870911;
    is_late := now_s - begun_s NOT BETWEEN 0 AND 29;
    IF place & 524287 IS DISTINCT FROM print OR place >> 19 = 0
        OR counted IS NULL OR whole AND is_late THEN
        waiting := CASE WHEN whole OR NOT is_late THEN waiting ELSE 0 END;
        begun_s := CASE WHEN whole OR is_late THEN now_s ELSE begun_s END;
        counted := public.weir_backlog_aside(queue_id);
        place := 0;
    END IF;
    SELECT s.waiting, s.place, s.whole INTO step
        FROM public.weir_backlog_step(queue_id, place >> 19) s;
    counted := counted + step.waiting;
    whole := step.whole;
    waiting := CASE WHEN whole THEN counted
        ELSE greatest(waiting, counted) END;
    stamp := now_s << 31 | CASE WHEN whole THEN 0 ELSE 536870912 END
        | least(greatest(waiting, 0), 536870911);
    IF pg_sequence_last_value(found.number) = claim THEN
        PERFORM setval(found.place, 0);
        PERFORM setval(found.sum, begun_s << 31 | least(greatest(counted, 0), 536870911));
        PERFORM setval(found.number, stamp);
        PERFORM setval(found.place, CASE WHEN step.place < 17592186044416
        THEN step.place << 19 | print ELSE 0 END);
    END IF;
END $$;

CREATE FUNCTION public.weir_backlog_step(queue_id integer, after bigint, OUT waiting bigint, OUT place bigint, OUT whole boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
DECLARE
    own xid8 := pg_current_xact_id_if_assigned();
    time_ms double precision := extract(epoch FROM
        current_setting('statement_timeout')::interval) * 1000;
    row_max bigint := CASE WHEN time_ms > 0
        THEN least(10000, greatest(100, time_ms * 20)) ELSE 10000 END;
BEGIN
    IF EXISTS (SELECT FROM public.weir_subscription s WHERE s.queue = queue_id) THEN
        WITH pos AS MATERIALIZED (
            SELECT s.id AS subscription, a.pid, a.last_id, b.snap,
                c.snap AS next_snap, CASE WHEN c.no IS NULL THEN b.hi
                ELSE greatest(b.hi, least(a.last_id, c.hi)) END AS lo
            FROM public.weir_subscription s
            CROSS JOIN generate_series(0, 63) AS g(n)
            CROSS JOIN LATERAL (SELECT k.pid, k.cut, k.last_id FROM public.weir_ack k
                WHERE k.subscription = s.id AND k.pid = queue_id * 64 + g.n
                ORDER BY k.version DESC LIMIT 1) a
            CROSS JOIN LATERAL (SELECT k.no, k.hi, k.snap FROM public.weir_cut k
                WHERE k.no >= a.cut ORDER BY k.no LIMIT 1) b
            LEFT JOIN LATERAL (SELECT k.no, k.hi, k.snap FROM public.weir_cut k
                WHERE k.no > b.no AND b.no = a.cut
                ORDER BY k.no LIMIT 1) c ON true
            WHERE s.queue = queue_id),
        first AS (SELECT greatest(after, (SELECT min(lo) FROM pos)) AS id),
        looked AS MATERIALIZED (SELECT l.id, l.xid, l.pid FROM public.weir_log l
            WHERE l.id > (SELECT id FROM first) ORDER BY l.id LIMIT (SELECT row_max)),
        seen AS MATERIALIZED (SELECT count(*) AS rows, max(id) AS last_id,
            min(id) FILTER (WHERE xid = own) AS own_id FROM looked),
        front AS (SELECT count(*) AS rows
            FROM looked l JOIN pos p ON p.pid = l.pid AND l.id > p.lo
            WHERE NOT pg_visible_in_snapshot(l.xid, p.snap)
            AND (l.id <= p.last_id
            AND pg_visible_in_snapshot(l.xid, p.next_snap)) IS NOT TRUE
            AND (l.id >= (SELECT own_id FROM seen)) IS NOT TRUE GROUP BY p.subscription)
        SELECT coalesce((SELECT max(f.rows) FROM front f), 0),
            coalesce(s.own_id - 1, s.last_id, (SELECT id FROM first)),
            s.rows < row_max OR s.own_id IS NOT NULL
            INTO waiting, place, whole FROM seen s;
    ELSIF (SELECT q.unread FROM public.weir_queue q WHERE q.id = queue_id) = 0 THEN
        WITH looked AS MATERIALIZED (SELECT l.id, l.xid, l.pid FROM public.weir_log l
            WHERE l.id > after ORDER BY l.id LIMIT (SELECT row_max)),
        seen AS MATERIALIZED (SELECT count(*) AS rows, max(id) AS last_id,
            min(id) FILTER (WHERE xid = own) AS own_id FROM looked)
        SELECT (SELECT count(*) FROM looked l
            WHERE l.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63
            AND (l.id >= (SELECT own_id FROM seen)) IS NOT TRUE),
            coalesce(s.own_id - 1, s.last_id, after),
            s.rows < row_max OR s.own_id IS NOT NULL
            INTO waiting, place, whole FROM seen s;
    ELSE
        waiting := 0;
        place := after;
        whole := true;
    END IF;
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload bytea, headers information_schema.character_data) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN public.weir_enqueue(queue, key, payload, 'message'::text, headers::text);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload json, headers information_schema.character_data) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN public.weir_enqueue(queue, key, payload, 'message'::text, headers::text);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, headers information_schema.character_data) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN public.weir_enqueue(queue, key, payload, 'message'::text, headers::text);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload text, headers information_schema.character_data) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN public.weir_enqueue(queue, key, payload, 'message'::text, headers::text);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload bytea, type text DEFAULT 'message'::text, headers jsonb DEFAULT NULL::jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    place record;
    key_bytes bytea := convert_to(key, 'UTF8');
    stored_headers text;
    uid bytea := uuid_send(gen_random_uuid());
    number bigint;
BEGIN
    IF current_setting('weir.known', true) IS DISTINCT FROM 'yes' THEN
        PERFORM public.weir_enqueue_cluster();
    END IF;
    SELECT (SELECT m.value::bigint FROM public.weir_meta m WHERE m.name = 'payload_max')
            AS payload_max, q.id, q.partitions, q.backlog_max, q.going_us INTO place
        FROM (VALUES (1)) one LEFT JOIN public.weir_queue q ON q.name = queue;
    IF queue IS NULL OR octet_length(queue) > 1024 OR queue COLLATE "C"
        !~ '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$' THEN
        PERFORM public.weir_enqueue_refuse('queue name'::text, queue, 1024, true);
    END IF;
    IF type IS NULL OR octet_length(type) > 1024
        OR type COLLATE "C" !~ '^[ -~]+$' THEN
        PERFORM public.weir_enqueue_refuse('type'::text, type, 1024, false);
    END IF;
    IF payload IS NULL THEN
        RAISE invalid_parameter_value USING MESSAGE =
            'payload is NULL, must have a value';
    END IF;
    IF octet_length(payload) > place.payload_max THEN
        RAISE program_limit_exceeded USING MESSAGE = format(
            'payload has %s bytes, must have at most %s', octet_length(payload),
            place.payload_max);
    END IF;
    IF octet_length(key_bytes) > 1024 THEN
        RAISE program_limit_exceeded USING MESSAGE = format(
            'key "%s" is too long, must have at most 1024 bytes',
            public.weir_enqueue_quote(key));
    END IF;
    IF headers IS NOT NULL THEN
        stored_headers := public.weir_enqueue_headers(headers);
    END IF;
    IF place.id IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('there is no queue "%s"', queue);
    END IF;
    IF place.partitions NOT IN (1, 2, 4, 8, 16, 32, 64) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the row of'
            ' queue "%s": partitions is %s, must be a power of two from 1 to 64',
            queue, place.partitions);
    END IF;
    IF place.id NOT BETWEEN 1 AND 33554431 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the row of'
            ' queue "%s": id is %s, must be from 1 to 33554431', queue, place.id);
    END IF;
    IF place.going_us > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint THEN
        RAISE object_in_use USING MESSAGE = format(
            'queue "%s" is being removed', queue);
    END IF;
    IF place.backlog_max > 0 THEN
        PERFORM public.weir_enqueue_room(queue, place.id, place.backlog_max);
    END IF;
    number := CASE WHEN key IS NULL THEN get_byte(uid, 0)
        ELSE ('x' || left(md5(key_bytes), 8))::bit(32)::bigint END;
    INSERT INTO public.weir_log (pid, uid, message_key, type, headers, payload)
        VALUES (place.id * 64 + number % place.partitions, uid, key, type,
        stored_headers, payload);
    PERFORM pg_notify(lower('weir_wake'), ''),
        setval(tableoid, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 4997500) FROM public.weir_asleep
        WHERE abs((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - last_value) > 5000000
        AND lower(coalesce(current_setting('weir.notify', true), '')) NOT IN ('off', 'false', 'no', '0');
    RETURN encode(uid, 'hex');
END $_$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload bytea, type text, headers text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    given json := headers;
    twice text := (SELECT e.name FROM json_object_keys(
        CASE json_typeof(given) WHEN 'object' THEN given END) AS e(name)
        GROUP BY e.name HAVING count(*) > 1 LIMIT 1);
BEGIN
    IF twice IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            'header "%s" is there twice, must be once',
            regexp_replace(left(twice, 60) COLLATE "C", '[^ -~]', '?', 'g'));
    END IF;
    RETURN public.weir_enqueue(queue, key, payload, type, given::jsonb);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload json, type text DEFAULT 'message'::text, headers jsonb DEFAULT NULL::jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN public.weir_enqueue(queue, key, convert_to(payload::text, 'UTF8'), type, headers);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload json, type text, headers text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    given json := headers;
    twice text := (SELECT e.name FROM json_object_keys(
        CASE json_typeof(given) WHEN 'object' THEN given END) AS e(name)
        GROUP BY e.name HAVING count(*) > 1 LIMIT 1);
BEGIN
    IF twice IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            'header "%s" is there twice, must be once',
            regexp_replace(left(twice, 60) COLLATE "C", '[^ -~]', '?', 'g'));
    END IF;
    RETURN public.weir_enqueue(queue, key, payload, type, given::jsonb);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, type text DEFAULT 'message'::text, headers jsonb DEFAULT NULL::jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN public.weir_enqueue(queue, key, convert_to(payload::text, 'UTF8'), type, headers);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, type text, headers text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    given json := headers;
    twice text := (SELECT e.name FROM json_object_keys(
        CASE json_typeof(given) WHEN 'object' THEN given END) AS e(name)
        GROUP BY e.name HAVING count(*) > 1 LIMIT 1);
BEGIN
    IF twice IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            'header "%s" is there twice, must be once',
            regexp_replace(left(twice, 60) COLLATE "C", '[^ -~]', '?', 'g'));
    END IF;
    RETURN public.weir_enqueue(queue, key, payload, type, given::jsonb);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload text, type text DEFAULT 'message'::text, headers jsonb DEFAULT NULL::jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN public.weir_enqueue(queue, key, convert_to(payload, 'UTF8'), type, headers);
END $$;

CREATE FUNCTION public.weir_enqueue(queue text, key text, payload text, type text, headers text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    given json := headers;
    twice text := (SELECT e.name FROM json_object_keys(
        CASE json_typeof(given) WHEN 'object' THEN given END) AS e(name)
        GROUP BY e.name HAVING count(*) > 1 LIMIT 1);
BEGIN
    IF twice IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            'header "%s" is there twice, must be once',
            regexp_replace(left(twice, 60) COLLATE "C", '[^ -~]', '?', 'g'));
    END IF;
    RETURN public.weir_enqueue(queue, key, payload, type, given::jsonb);
END $$;

CREATE FUNCTION public.weir_enqueue_cluster() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    made text := (SELECT m.value FROM public.weir_meta m WHERE m.name = 'identity');
    here text := (SELECT c.system_identifier FROM pg_control_system() c)::text
        || '/' || (SELECT d.oid FROM pg_database d
        WHERE d.datname = current_database())::text;
BEGIN
    IF made <> here THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format(
            'the database was restored from another cluster (made in "%s",'
            ' this is "%s"): run "weir migrate --restored --yes" if it is to'
            ' deliver', made, here);
    END IF;
    PERFORM set_config('weir.known', 'yes', false);
END $$;

CREATE FUNCTION public.weir_enqueue_headers(headers jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    header record;
    stored text := '';
    size_left integer := 16384;
    header_count integer;
BEGIN
    IF jsonb_typeof(headers) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE =
            'headers are no JSON object of texts: no object at byte 0';
    END IF;
    header_count := (SELECT count(*) FROM jsonb_object_keys(headers));
    IF header_count > 64 THEN
        RAISE program_limit_exceeded USING MESSAGE = format(
            'header_count is %s, must be at most 64', header_count);
    END IF;
    FOR header IN SELECT e.key AS name, e.value
        FROM jsonb_each_text(headers) WITH ORDINALITY AS e(key, value, place)
        ORDER BY e.place
    LOOP
        IF octet_length(header.name) > 256
            OR header.name COLLATE "C" !~ '^[ -~]+$' THEN
            PERFORM public.weir_enqueue_refuse('header name'::text, header.name, 256,
                false);
        END IF;
        IF header.value IS NULL THEN
            RAISE invalid_parameter_value USING MESSAGE = format(
                'header "%s" is NULL, must have a value',
                public.weir_enqueue_quote(header.name));
        END IF;
        size_left := size_left - octet_length(header.name)
            - octet_length(convert_to(header.value, 'UTF8'));
        IF size_left < 0 THEN
            RAISE program_limit_exceeded USING MESSAGE = format(
                'headers up to "%s" are too large, names and values must have'
                ' at most 16384 bytes together',
                public.weir_enqueue_quote(header.name));
        END IF;
        stored := stored || CASE WHEN stored = '' THEN chr(123) ELSE ',' END
            || to_json(header.name)::text || ':' || to_json(header.value)::text;
    END LOOP;
    RETURN CASE WHEN header_count > 0 THEN stored || chr(125) END;
END $_$;

CREATE FUNCTION public.weir_enqueue_quote(value text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    bytes bytea := convert_to(value, 'UTF8');
    shown text := '';
BEGIN
    FOR i IN 0 .. least(octet_length(bytes), 60) - 1 LOOP
        shown := shown || CASE WHEN get_byte(bytes, i) BETWEEN 32 AND 126
            THEN chr(get_byte(bytes, i)) ELSE '?' END;
    END LOOP;
    RETURN shown || CASE WHEN octet_length(bytes) > 60
        THEN '...' ELSE '' END;
END $$;

CREATE FUNCTION public.weir_enqueue_refuse(what text, value text, size_max integer, is_name boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    bytes bytea := convert_to(value, 'UTF8');
    shown text := what || ' "' || public.weir_enqueue_quote(value) || '"';
    byte integer;
BEGIN
    IF value IS NULL OR value = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            '%s is %s, must have 1 to %s characters', what,
            CASE WHEN value IS NULL THEN 'NULL' ELSE 'empty' END, size_max);
    END IF;
    IF octet_length(bytes) > size_max THEN
        RAISE invalid_parameter_value USING MESSAGE = format(
            '%s is too long, must have at most %s characters', shown, size_max);
    END IF;
    FOR i IN 0 .. octet_length(bytes) - 1 LOOP
        byte := get_byte(bytes, i);
        IF byte NOT BETWEEN 32 AND 126 OR is_name
            AND chr(byte) COLLATE "C" !~ '[A-Za-z0-9._-]' THEN
            RAISE invalid_parameter_value USING MESSAGE = format(
                '%s has byte 0x%s at %s, must be %s', shown,
                lpad(to_hex(byte), 2, '0'), i, CASE WHEN is_name
                THEN 'ASCII letters, digits, ''.'', ''_'' and ''-'''
                ELSE 'printable ASCII' END);
        END IF;
    END LOOP;
    RAISE invalid_parameter_value USING MESSAGE =
        shown || ' must begin and end with a letter or digit';
END $$;

CREATE FUNCTION public.weir_enqueue_room(queue text, queue_id integer, backlog_max bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    setting text := 'weir.backlog_' || queue_id;
    known text := coalesce(current_setting(setting, true), '');
    now_us bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    read_us bigint := 0;
    stamp bigint;
    backlog bigint := 0;
    number record;
BEGIN
    IF length(known) < 58 AND known ~ '^[0-9]+/[0-9]+/[0-9]+$' THEN
        read_us := split_part(known, '/', 1);
        stamp := split_part(known, '/', 2);
        backlog := split_part(known, '/', 3);
    END IF;
    IF now_us - read_us NOT BETWEEN 0 AND 1000000 THEN
        SELECT r.stamp, r.waiting, r.whole INTO number
            FROM public.weir_backlog_read(queue_id) r;
        IF stamp IS NULL OR number.stamp <> stamp OR number.stamp IS NULL
            AND now_us - read_us NOT BETWEEN 0 AND 3000000 THEN
            stamp := coalesce(number.stamp, 0);
            backlog := number.waiting;
            read_us := now_us;
        ELSIF number.stamp IS NOT NULL THEN
            read_us := now_us;
        END IF;
        IF NOT number.whole THEN
            read_us := 0;
        END IF;
    END IF;
    IF backlog >= backlog_max THEN
        RAISE configuration_limit_exceeded USING MESSAGE = format(
            'queue "%s" has %s waiting, its limit is %s', left(queue, 100),
            CASE backlog WHEN 1 THEN '1 message'
            ELSE backlog || ' messages' END, backlog_max);
    END IF;
    PERFORM set_config(setting, read_us || '/' || stamp || '/' || backlog + 1,
        false);
END $_$;

CREATE SEQUENCE public.weir_ack_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.weir_ack (
    id bigint DEFAULT nextval('public.weir_ack_id'::regclass) NOT NULL,
    subscription integer NOT NULL,
    pid integer NOT NULL,
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    cut bigint NOT NULL,
    last_id bigint NOT NULL,
    seq bigint NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    alone integer DEFAULT 0 NOT NULL,
    retry_us bigint DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    trying bigint DEFAULT 0 NOT NULL
)
PARTITION BY LIST ((((id >> 16) & (3)::bigint)));

CREATE TABLE public.weir_ack_0 (
    id bigint DEFAULT nextval('public.weir_ack_id'::regclass) NOT NULL,
    subscription integer NOT NULL,
    pid integer NOT NULL,
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    cut bigint NOT NULL,
    last_id bigint NOT NULL,
    seq bigint NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    alone integer DEFAULT 0 NOT NULL,
    retry_us bigint DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    trying bigint DEFAULT 0 NOT NULL
)
WITH (autovacuum_enabled=off);

CREATE TABLE public.weir_ack_1 (
    id bigint DEFAULT nextval('public.weir_ack_id'::regclass) NOT NULL,
    subscription integer NOT NULL,
    pid integer NOT NULL,
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    cut bigint NOT NULL,
    last_id bigint NOT NULL,
    seq bigint NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    alone integer DEFAULT 0 NOT NULL,
    retry_us bigint DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    trying bigint DEFAULT 0 NOT NULL
)
WITH (autovacuum_enabled=off);

CREATE TABLE public.weir_ack_2 (
    id bigint DEFAULT nextval('public.weir_ack_id'::regclass) NOT NULL,
    subscription integer NOT NULL,
    pid integer NOT NULL,
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    cut bigint NOT NULL,
    last_id bigint NOT NULL,
    seq bigint NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    alone integer DEFAULT 0 NOT NULL,
    retry_us bigint DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    trying bigint DEFAULT 0 NOT NULL
)
WITH (autovacuum_enabled=off);

CREATE TABLE public.weir_ack_3 (
    id bigint DEFAULT nextval('public.weir_ack_id'::regclass) NOT NULL,
    subscription integer NOT NULL,
    pid integer NOT NULL,
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    cut bigint NOT NULL,
    last_id bigint NOT NULL,
    seq bigint NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    alone integer DEFAULT 0 NOT NULL,
    retry_us bigint DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    trying bigint DEFAULT 0 NOT NULL
)
WITH (autovacuum_enabled=off);

CREATE TABLE public.weir_aside (
    pid integer NOT NULL,
    cut bigint NOT NULL,
    id bigint NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
);

CREATE SEQUENCE public.weir_asleep
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.weir_attempt (
    no bigint NOT NULL,
    number integer NOT NULL,
    type smallint NOT NULL,
    outcome smallint NOT NULL,
    epoch bigint NOT NULL,
    started_us bigint NOT NULL,
    ended_us bigint NOT NULL,
    worker text NOT NULL,
    instance text NOT NULL,
    failure text NOT NULL
);

CREATE TABLE public.weir_audit (
    id bigint NOT NULL,
    at_us bigint NOT NULL,
    nonce bigint NOT NULL,
    request text,
    actor text NOT NULL,
    origin bigint NOT NULL,
    address text,
    action text NOT NULL,
    target text,
    changed bigint NOT NULL,
    old_value text,
    new_value text,
    reason text,
    outcome text NOT NULL
);

ALTER TABLE public.weir_audit ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_audit_policy (
    id bigint NOT NULL,
    retain_us bigint NOT NULL
);

CREATE SEQUENCE public.weir_awaited
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.weir_budget (
    no bigint NOT NULL,
    name text NOT NULL,
    part integer NOT NULL,
    scope_type text NOT NULL,
    scope text NOT NULL,
    period_us bigint DEFAULT 0 NOT NULL,
    next_reset_us bigint DEFAULT 0 NOT NULL,
    era bigint DEFAULT 0 NOT NULL,
    hard_breaches bigint DEFAULT 0 NOT NULL,
    soft_breaches bigint DEFAULT 0 NOT NULL,
    breached_us bigint DEFAULT 0 NOT NULL,
    created_us bigint NOT NULL,
    breached text DEFAULT ''::text NOT NULL
);

ALTER TABLE public.weir_budget ALTER COLUMN no ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_budget_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_copy (
    leaf text NOT NULL,
    no bigint DEFAULT 0 NOT NULL,
    mark bigint DEFAULT '-1'::integer NOT NULL,
    kept bigint DEFAULT 0 NOT NULL,
    xid xid8 DEFAULT '0'::xid8 NOT NULL
);

CREATE TABLE public.weir_cut (
    no bigint NOT NULL,
    hi bigint NOT NULL,
    own xid8 NOT NULL,
    snap pg_snapshot NOT NULL,
    top bigint NOT NULL,
    made_us bigint NOT NULL
)
PARTITION BY LIST ((((no >> 12) & (3)::bigint)));

CREATE TABLE public.weir_cut_0 (
    no bigint NOT NULL,
    hi bigint NOT NULL,
    own xid8 NOT NULL,
    snap pg_snapshot NOT NULL,
    top bigint NOT NULL,
    made_us bigint NOT NULL
)
WITH (autovacuum_enabled=off);

CREATE TABLE public.weir_cut_1 (
    no bigint NOT NULL,
    hi bigint NOT NULL,
    own xid8 NOT NULL,
    snap pg_snapshot NOT NULL,
    top bigint NOT NULL,
    made_us bigint NOT NULL
)
WITH (autovacuum_enabled=off);

CREATE TABLE public.weir_cut_2 (
    no bigint NOT NULL,
    hi bigint NOT NULL,
    own xid8 NOT NULL,
    snap pg_snapshot NOT NULL,
    top bigint NOT NULL,
    made_us bigint NOT NULL
)
WITH (autovacuum_enabled=off);

CREATE TABLE public.weir_cut_3 (
    no bigint NOT NULL,
    hi bigint NOT NULL,
    own xid8 NOT NULL,
    snap pg_snapshot NOT NULL,
    top bigint NOT NULL,
    made_us bigint NOT NULL
)
WITH (autovacuum_enabled=off);

CREATE TABLE public.weir_dead_letter (
    id bigint NOT NULL,
    subscription integer NOT NULL,
    pid integer NOT NULL,
    seq bigint NOT NULL,
    log_id bigint NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL,
    attempts integer NOT NULL,
    error text NOT NULL,
    failed_us bigint NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    token bigint DEFAULT 0 NOT NULL,
    deadline_us bigint DEFAULT 0 NOT NULL,
    completed_us bigint DEFAULT 0 NOT NULL,
    requeued_uid bytea
);

ALTER TABLE public.weir_dead_letter ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_edge (
    upstream bigint NOT NULL,
    downstream bigint NOT NULL,
    flow bigint NOT NULL,
    state smallint DEFAULT 0 NOT NULL,
    passes_data smallint NOT NULL,
    opened_epoch bigint NOT NULL
);

CREATE TABLE public.weir_edge_group (
    downstream bigint NOT NULL,
    flow bigint NOT NULL,
    policy smallint DEFAULT 0 NOT NULL,
    state smallint DEFAULT 0 NOT NULL,
    cancel_remaining smallint DEFAULT 0 NOT NULL,
    quorum integer DEFAULT 0 NOT NULL,
    total integer DEFAULT 0 NOT NULL,
    succeeded integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    skipped integer DEFAULT 0 NOT NULL,
    cancel_us bigint DEFAULT 0 NOT NULL
);

CREATE SEQUENCE public.weir_emptied
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.weir_execution (
    no bigint NOT NULL,
    uuid bytea NOT NULL,
    digest bytea NOT NULL,
    part integer NOT NULL,
    state smallint NOT NULL,
    hold smallint NOT NULL,
    pending smallint NOT NULL,
    attempt_type smallint DEFAULT 0 NOT NULL,
    percent smallint DEFAULT '-1'::integer NOT NULL,
    budgeted smallint DEFAULT 0 NOT NULL,
    lane integer NOT NULL,
    capset integer NOT NULL,
    policy integer NOT NULL,
    priority integer NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    retries bigint DEFAULT 0 NOT NULL,
    reclaims bigint DEFAULT 0 NOT NULL,
    replays bigint DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    settled_epoch bigint DEFAULT 0 NOT NULL,
    flow bigint NOT NULL,
    created_us bigint NOT NULL,
    due_us bigint NOT NULL,
    lease_us bigint DEFAULT 0 NOT NULL,
    attempt_deadline_us bigint DEFAULT 0 NOT NULL,
    deadline_us bigint NOT NULL,
    claimed_us bigint DEFAULT 0 NOT NULL,
    started_us bigint DEFAULT 0 NOT NULL,
    ended_us bigint DEFAULT 0 NOT NULL,
    namespace text NOT NULL,
    kind text NOT NULL,
    worker text DEFAULT ''::text NOT NULL,
    instance text DEFAULT ''::text NOT NULL,
    failure text DEFAULT ''::text NOT NULL,
    progress_text text DEFAULT ''::text NOT NULL,
    on_timeout smallint DEFAULT 0 NOT NULL,
    settled_as smallint DEFAULT 0 NOT NULL,
    turn bigint DEFAULT 0 NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    data_edges integer DEFAULT 0 NOT NULL
)
WITH (fillfactor='85', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_cost_delay='0');

ALTER TABLE public.weir_execution ALTER COLUMN no ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_execution_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_flow (
    no bigint NOT NULL,
    uuid bytea NOT NULL,
    part integer NOT NULL,
    state smallint DEFAULT 0 NOT NULL,
    cancel_policy smallint DEFAULT 0 NOT NULL,
    members integer DEFAULT 0 NOT NULL,
    edges integer DEFAULT 0 NOT NULL,
    unfinished integer DEFAULT 0 NOT NULL,
    unlucky integer DEFAULT 0 NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    created_us bigint NOT NULL,
    ended_us bigint DEFAULT 0 NOT NULL,
    namespace text NOT NULL,
    kind text NOT NULL,
    cancel_reason text DEFAULT ''::text NOT NULL
);

ALTER TABLE public.weir_flow ALTER COLUMN no ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_flow_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_idempotency (
    scope text NOT NULL,
    key text NOT NULL,
    uuid bytea NOT NULL,
    part integer NOT NULL,
    digest bytea NOT NULL,
    until_us bigint NOT NULL
);

CREATE TABLE public.weir_input (
    no bigint NOT NULL,
    bytes bytea NOT NULL
);

CREATE TABLE public.weir_leaf (
    leaf integer NOT NULL,
    emptied_cut bigint NOT NULL
);

CREATE TABLE public.weir_lease (
    subscription integer NOT NULL,
    pid integer NOT NULL,
    owner bigint,
    epoch bigint DEFAULT 0 NOT NULL,
    incarnation text DEFAULT ''::text NOT NULL,
    until_us bigint DEFAULT 0 NOT NULL,
    crashes integer DEFAULT 0 NOT NULL,
    marks_from bigint DEFAULT 0 NOT NULL,
    replay_to bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

CREATE SEQUENCE public.weir_log_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.weir_log (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
PARTITION BY LIST ((((id >> 20) & (7)::bigint)));

CREATE TABLE public.weir_log_0 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);

CREATE TABLE public.weir_log_1 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);

CREATE TABLE public.weir_log_2 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);

CREATE TABLE public.weir_log_3 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);

CREATE TABLE public.weir_log_4 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);

CREATE TABLE public.weir_log_5 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);

CREATE TABLE public.weir_log_6 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);

CREATE TABLE public.weir_log_7 (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval('public.weir_log_id'::regclass) NOT NULL,
    pid integer NOT NULL,
    created_us bigint DEFAULT ((EXTRACT(epoch FROM clock_timestamp()) * (1000000)::numeric))::bigint NOT NULL,
    uid bytea NOT NULL,
    message_key text,
    type text NOT NULL,
    headers text,
    payload bytea NOT NULL
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);

CREATE TABLE public.weir_member (
    process bigint NOT NULL,
    subscription integer NOT NULL,
    name text NOT NULL,
    until_us bigint NOT NULL,
    started_us bigint NOT NULL,
    delivered bigint DEFAULT 0 NOT NULL,
    rate double precision DEFAULT 0 NOT NULL,
    alive_by integer DEFAULT 0 NOT NULL,
    library text DEFAULT ''::text NOT NULL,
    clock_off_us bigint DEFAULT 0 NOT NULL,
    beat_us bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.weir_meta (
    name text NOT NULL,
    value text NOT NULL
);

CREATE TABLE public.weir_passed (
    downstream bigint NOT NULL,
    upstream bigint NOT NULL,
    uuid bytea NOT NULL,
    part integer NOT NULL,
    name text NOT NULL,
    bytes bytea
);

CREATE TABLE public.weir_queue (
    id integer NOT NULL,
    name text NOT NULL,
    partitions integer NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    unread integer DEFAULT 0 NOT NULL,
    backlog_max bigint DEFAULT 0 NOT NULL,
    attempts_max integer DEFAULT 0 NOT NULL,
    retention_us bigint DEFAULT 0 NOT NULL,
    removed_cut bigint DEFAULT 0 NOT NULL,
    removed_id bigint DEFAULT 0 NOT NULL,
    created_us bigint NOT NULL,
    removals bigint DEFAULT 0 NOT NULL,
    going_us bigint DEFAULT 0 NOT NULL,
    retain_us bigint DEFAULT 0 NOT NULL,
    whole_us bigint DEFAULT 0 NOT NULL
);

ALTER TABLE public.weir_queue ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_queue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_result (
    no bigint NOT NULL,
    bytes bytea NOT NULL
);

CREATE TABLE public.weir_schema (
    number bigint NOT NULL,
    readable_by bigint NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone NOT NULL
);

CREATE TABLE public.weir_secret (
    key_id text NOT NULL,
    secret bytea NOT NULL,
    active smallint NOT NULL,
    until_us bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.weir_signal (
    no bigint NOT NULL,
    waitpoint bytea NOT NULL,
    key text NOT NULL,
    uuid bytea NOT NULL,
    name text NOT NULL,
    source_type text NOT NULL,
    source text NOT NULL,
    payload bytea NOT NULL,
    came_us bigint NOT NULL
);

CREATE TABLE public.weir_spent (
    no bigint NOT NULL,
    budget bigint NOT NULL,
    dimension text NOT NULL,
    amount bigint NOT NULL,
    era bigint NOT NULL
);

CREATE TABLE public.weir_subscription (
    id integer NOT NULL,
    queue integer NOT NULL,
    name text NOT NULL,
    serving integer NOT NULL,
    created_us bigint NOT NULL,
    paused boolean DEFAULT false NOT NULL
);

ALTER TABLE public.weir_subscription ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_subscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_suspension (
    no bigint NOT NULL,
    reason smallint NOT NULL,
    since_us bigint NOT NULL,
    ended_us bigint DEFAULT 0 NOT NULL,
    timeout_us bigint NOT NULL,
    resume_delay_us bigint NOT NULL,
    condition text NOT NULL
);

CREATE TABLE public.weir_tag (
    no bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL
);

CREATE TABLE public.weir_term (
    id bigint NOT NULL,
    kind smallint NOT NULL,
    digest bytea NOT NULL,
    text text NOT NULL
);

ALTER TABLE public.weir_term ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_term_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_token (
    no bigint NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    secret bytea NOT NULL,
    scopes bigint NOT NULL,
    of_databases text NOT NULL,
    of_queues text NOT NULL,
    of_lanes text NOT NULL,
    of_namespaces text NOT NULL,
    created_us bigint NOT NULL,
    lifetime_us bigint NOT NULL,
    expires_us bigint NOT NULL,
    used_us bigint NOT NULL,
    revoked_us bigint NOT NULL
);

ALTER TABLE public.weir_token ALTER COLUMN no ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.weir_token_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.weir_usage (
    budget bigint NOT NULL,
    dimension text NOT NULL,
    used bigint DEFAULT 0 NOT NULL,
    hard bigint DEFAULT 0 NOT NULL,
    soft bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.weir_waitpoint (
    no bigint NOT NULL,
    uuid bytea NOT NULL,
    state smallint NOT NULL,
    name text NOT NULL,
    key_id text NOT NULL,
    created_us bigint NOT NULL,
    until_us bigint DEFAULT 0 NOT NULL
);

ALTER TABLE ONLY public.weir_ack ATTACH PARTITION public.weir_ack_0 FOR VALUES IN ('0');

ALTER TABLE ONLY public.weir_ack ATTACH PARTITION public.weir_ack_1 FOR VALUES IN ('1');

ALTER TABLE ONLY public.weir_ack ATTACH PARTITION public.weir_ack_2 FOR VALUES IN ('2');

ALTER TABLE ONLY public.weir_ack ATTACH PARTITION public.weir_ack_3 FOR VALUES IN ('3');

ALTER TABLE ONLY public.weir_cut ATTACH PARTITION public.weir_cut_0 FOR VALUES IN ('0');

ALTER TABLE ONLY public.weir_cut ATTACH PARTITION public.weir_cut_1 FOR VALUES IN ('1');

ALTER TABLE ONLY public.weir_cut ATTACH PARTITION public.weir_cut_2 FOR VALUES IN ('2');

ALTER TABLE ONLY public.weir_cut ATTACH PARTITION public.weir_cut_3 FOR VALUES IN ('3');

ALTER TABLE ONLY public.weir_log ATTACH PARTITION public.weir_log_0 FOR VALUES IN ('0');

ALTER TABLE ONLY public.weir_log ATTACH PARTITION public.weir_log_1 FOR VALUES IN ('1');

ALTER TABLE ONLY public.weir_log ATTACH PARTITION public.weir_log_2 FOR VALUES IN ('2');

ALTER TABLE ONLY public.weir_log ATTACH PARTITION public.weir_log_3 FOR VALUES IN ('3');

ALTER TABLE ONLY public.weir_log ATTACH PARTITION public.weir_log_4 FOR VALUES IN ('4');

ALTER TABLE ONLY public.weir_log ATTACH PARTITION public.weir_log_5 FOR VALUES IN ('5');

ALTER TABLE ONLY public.weir_log ATTACH PARTITION public.weir_log_6 FOR VALUES IN ('6');

ALTER TABLE ONLY public.weir_log ATTACH PARTITION public.weir_log_7 FOR VALUES IN ('7');

ALTER TABLE ONLY public.weir_aside
    ADD CONSTRAINT weir_aside_pkey PRIMARY KEY (cut, id);

ALTER TABLE ONLY public.weir_attempt
    ADD CONSTRAINT weir_attempt_pkey PRIMARY KEY (no, number);

ALTER TABLE ONLY public.weir_audit
    ADD CONSTRAINT weir_audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.weir_audit_policy
    ADD CONSTRAINT weir_audit_policy_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.weir_budget
    ADD CONSTRAINT weir_budget_name_key UNIQUE (name);

ALTER TABLE ONLY public.weir_budget
    ADD CONSTRAINT weir_budget_pkey PRIMARY KEY (no);

ALTER TABLE ONLY public.weir_copy
    ADD CONSTRAINT weir_copy_pkey PRIMARY KEY (leaf);

ALTER TABLE ONLY public.weir_dead_letter
    ADD CONSTRAINT weir_dead_letter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.weir_dead_letter
    ADD CONSTRAINT weir_dead_letter_subscription_pid_seq_key UNIQUE (subscription, pid, seq);

ALTER TABLE ONLY public.weir_edge_group
    ADD CONSTRAINT weir_edge_group_pkey PRIMARY KEY (downstream);

ALTER TABLE ONLY public.weir_edge
    ADD CONSTRAINT weir_edge_pkey PRIMARY KEY (upstream, downstream);

ALTER TABLE ONLY public.weir_execution
    ADD CONSTRAINT weir_execution_pkey PRIMARY KEY (no);

ALTER TABLE ONLY public.weir_execution
    ADD CONSTRAINT weir_execution_uuid_key UNIQUE (uuid);

ALTER TABLE ONLY public.weir_flow
    ADD CONSTRAINT weir_flow_pkey PRIMARY KEY (no);

ALTER TABLE ONLY public.weir_flow
    ADD CONSTRAINT weir_flow_uuid_key UNIQUE (uuid);

ALTER TABLE ONLY public.weir_idempotency
    ADD CONSTRAINT weir_idempotency_pkey PRIMARY KEY (scope, key);

ALTER TABLE ONLY public.weir_input
    ADD CONSTRAINT weir_input_pkey PRIMARY KEY (no);

ALTER TABLE ONLY public.weir_leaf
    ADD CONSTRAINT weir_leaf_pkey PRIMARY KEY (leaf);

ALTER TABLE ONLY public.weir_lease
    ADD CONSTRAINT weir_lease_pkey PRIMARY KEY (subscription, pid);

ALTER TABLE ONLY public.weir_member
    ADD CONSTRAINT weir_member_pkey PRIMARY KEY (subscription, process);

ALTER TABLE ONLY public.weir_meta
    ADD CONSTRAINT weir_meta_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.weir_passed
    ADD CONSTRAINT weir_passed_pkey PRIMARY KEY (downstream, upstream);

ALTER TABLE ONLY public.weir_queue
    ADD CONSTRAINT weir_queue_name_key UNIQUE (name);

ALTER TABLE ONLY public.weir_queue
    ADD CONSTRAINT weir_queue_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.weir_result
    ADD CONSTRAINT weir_result_pkey PRIMARY KEY (no);

ALTER TABLE ONLY public.weir_schema
    ADD CONSTRAINT weir_schema_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.weir_secret
    ADD CONSTRAINT weir_secret_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY public.weir_signal
    ADD CONSTRAINT weir_signal_pkey PRIMARY KEY (no, waitpoint, key);

ALTER TABLE ONLY public.weir_spent
    ADD CONSTRAINT weir_spent_pkey PRIMARY KEY (no, budget, dimension);

ALTER TABLE ONLY public.weir_subscription
    ADD CONSTRAINT weir_subscription_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.weir_subscription
    ADD CONSTRAINT weir_subscription_queue_name_key UNIQUE (queue, name);

ALTER TABLE ONLY public.weir_suspension
    ADD CONSTRAINT weir_suspension_pkey PRIMARY KEY (no);

ALTER TABLE ONLY public.weir_tag
    ADD CONSTRAINT weir_tag_pkey PRIMARY KEY (no, key);

ALTER TABLE ONLY public.weir_term
    ADD CONSTRAINT weir_term_kind_digest_key UNIQUE (kind, digest);

ALTER TABLE ONLY public.weir_term
    ADD CONSTRAINT weir_term_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.weir_token
    ADD CONSTRAINT weir_token_id_key UNIQUE (id);

ALTER TABLE ONLY public.weir_token
    ADD CONSTRAINT weir_token_pkey PRIMARY KEY (no);

ALTER TABLE ONLY public.weir_token
    ADD CONSTRAINT weir_token_secret_key UNIQUE (secret);

ALTER TABLE ONLY public.weir_usage
    ADD CONSTRAINT weir_usage_pkey PRIMARY KEY (budget, dimension);

ALTER TABLE ONLY public.weir_waitpoint
    ADD CONSTRAINT weir_waitpoint_pkey PRIMARY KEY (no, uuid);

CREATE INDEX weir_ack_by_version ON ONLY public.weir_ack USING btree (subscription, pid, version);

CREATE INDEX weir_ack_0_subscription_pid_version_idx ON public.weir_ack_0 USING btree (subscription, pid, version);

CREATE INDEX weir_ack_1_subscription_pid_version_idx ON public.weir_ack_1 USING btree (subscription, pid, version);

CREATE INDEX weir_ack_2_subscription_pid_version_idx ON public.weir_ack_2 USING btree (subscription, pid, version);

CREATE INDEX weir_ack_3_subscription_pid_version_idx ON public.weir_ack_3 USING btree (subscription, pid, version);

CREATE INDEX weir_aside_by_partition ON public.weir_aside USING btree (pid, cut, id);

CREATE INDEX weir_audit_by_time ON public.weir_audit USING btree (at_us);

CREATE INDEX weir_budget_reset ON public.weir_budget USING btree (next_reset_us) WHERE (next_reset_us > 0);

CREATE INDEX weir_cut_by_no ON ONLY public.weir_cut USING btree (no);

CREATE INDEX weir_cut_0_no_idx ON public.weir_cut_0 USING btree (no);

CREATE INDEX weir_cut_1_no_idx ON public.weir_cut_1 USING btree (no);

CREATE INDEX weir_cut_2_no_idx ON public.weir_cut_2 USING btree (no);

CREATE INDEX weir_cut_3_no_idx ON public.weir_cut_3 USING btree (no);

CREATE INDEX weir_dead_letter_by_failure ON public.weir_dead_letter USING btree (status, failed_us, id);

CREATE INDEX weir_dead_letter_closed ON public.weir_dead_letter USING btree (completed_us) WHERE (status = ANY (ARRAY['resolved'::text, 'discarded'::text]));

CREATE INDEX weir_dead_letter_open ON public.weir_dead_letter USING btree (deadline_us, id) WHERE (status = ANY (ARRAY['pending'::text, 'reprocessing'::text]));

CREATE INDEX weir_edge_down ON public.weir_edge USING btree (downstream, upstream);

CREATE INDEX weir_edge_group_cancel ON public.weir_edge_group USING btree (cancel_us) WHERE (cancel_us > 0);

CREATE INDEX weir_edge_open ON public.weir_edge USING btree (upstream, downstream) WHERE (state = 0);

CREATE INDEX weir_execution_attempt ON public.weir_execution USING btree (attempt_deadline_us, no) WHERE ((state = 4) AND (attempt_deadline_us > 0));

CREATE INDEX weir_execution_deadline ON public.weir_execution USING btree (deadline_us, no) WHERE ((state < 10) AND (deadline_us > 0));

CREATE INDEX weir_execution_due ON public.weir_execution USING btree (due_us, no) WHERE (state = 2);

CREATE INDEX weir_execution_ended ON public.weir_execution USING btree (ended_us, no) WHERE ((state >= 10) AND (flow = 0));

CREATE INDEX weir_execution_flow ON public.weir_execution USING btree (flow, no) WHERE (flow > 0);

CREATE INDEX weir_execution_lease ON public.weir_execution USING btree (lease_us, no) WHERE (state = 4);

CREATE UNIQUE INDEX weir_execution_name ON public.weir_execution USING btree (flow, name) WHERE (name <> ''::text);

CREATE INDEX weir_execution_ready ON public.weir_execution USING btree (lane, capset, priority DESC, turn, no) WHERE (state = 1);

CREATE INDEX weir_execution_wait ON public.weir_execution USING btree (due_us, no) WHERE ((state = 5) AND (due_us > 0));

CREATE INDEX weir_flow_ended ON public.weir_flow USING btree (ended_us, no) WHERE ((ended_us > 0) AND (state <> 4));

CREATE INDEX weir_flow_gone ON public.weir_flow USING btree (no) WHERE (state = 4);

CREATE INDEX weir_flow_open ON public.weir_flow USING btree (no) WHERE (state = 0);

CREATE INDEX weir_idempotency_until ON public.weir_idempotency USING btree (until_us);

CREATE INDEX weir_log_by_id ON ONLY public.weir_log USING btree (id);

CREATE INDEX weir_log_0_id_idx ON public.weir_log_0 USING btree (id);

CREATE INDEX weir_log_by_xid ON ONLY public.weir_log USING btree (xid, id);

CREATE INDEX weir_log_0_xid_id_idx ON public.weir_log_0 USING btree (xid, id);

CREATE INDEX weir_log_1_id_idx ON public.weir_log_1 USING btree (id);

CREATE INDEX weir_log_1_xid_id_idx ON public.weir_log_1 USING btree (xid, id);

CREATE INDEX weir_log_2_id_idx ON public.weir_log_2 USING btree (id);

CREATE INDEX weir_log_2_xid_id_idx ON public.weir_log_2 USING btree (xid, id);

CREATE INDEX weir_log_3_id_idx ON public.weir_log_3 USING btree (id);

CREATE INDEX weir_log_3_xid_id_idx ON public.weir_log_3 USING btree (xid, id);

CREATE INDEX weir_log_4_id_idx ON public.weir_log_4 USING btree (id);

CREATE INDEX weir_log_4_xid_id_idx ON public.weir_log_4 USING btree (xid, id);

CREATE INDEX weir_log_5_id_idx ON public.weir_log_5 USING btree (id);

CREATE INDEX weir_log_5_xid_id_idx ON public.weir_log_5 USING btree (xid, id);

CREATE INDEX weir_log_6_id_idx ON public.weir_log_6 USING btree (id);

CREATE INDEX weir_log_6_xid_id_idx ON public.weir_log_6 USING btree (xid, id);

CREATE INDEX weir_log_7_id_idx ON public.weir_log_7 USING btree (id);

CREATE INDEX weir_log_7_xid_id_idx ON public.weir_log_7 USING btree (xid, id);

CREATE INDEX weir_spent_waiting ON public.weir_spent USING btree (budget, no) WHERE ((dimension = ''::text) AND (amount > 0));

CREATE INDEX weir_suspension_open ON public.weir_suspension USING btree (no) WHERE (ended_us = 0);

CREATE INDEX weir_tag_by_value ON public.weir_tag USING btree (key, value, no);

CREATE INDEX weir_token_by_name ON public.weir_token USING btree (name);

CREATE INDEX weir_waitpoint_until ON public.weir_waitpoint USING btree (until_us) WHERE (until_us > 0);

ALTER INDEX public.weir_ack_by_version ATTACH PARTITION public.weir_ack_0_subscription_pid_version_idx;

ALTER INDEX public.weir_ack_by_version ATTACH PARTITION public.weir_ack_1_subscription_pid_version_idx;

ALTER INDEX public.weir_ack_by_version ATTACH PARTITION public.weir_ack_2_subscription_pid_version_idx;

ALTER INDEX public.weir_ack_by_version ATTACH PARTITION public.weir_ack_3_subscription_pid_version_idx;

ALTER INDEX public.weir_cut_by_no ATTACH PARTITION public.weir_cut_0_no_idx;

ALTER INDEX public.weir_cut_by_no ATTACH PARTITION public.weir_cut_1_no_idx;

ALTER INDEX public.weir_cut_by_no ATTACH PARTITION public.weir_cut_2_no_idx;

ALTER INDEX public.weir_cut_by_no ATTACH PARTITION public.weir_cut_3_no_idx;

ALTER INDEX public.weir_log_by_id ATTACH PARTITION public.weir_log_0_id_idx;

ALTER INDEX public.weir_log_by_xid ATTACH PARTITION public.weir_log_0_xid_id_idx;

ALTER INDEX public.weir_log_by_id ATTACH PARTITION public.weir_log_1_id_idx;

ALTER INDEX public.weir_log_by_xid ATTACH PARTITION public.weir_log_1_xid_id_idx;

ALTER INDEX public.weir_log_by_id ATTACH PARTITION public.weir_log_2_id_idx;

ALTER INDEX public.weir_log_by_xid ATTACH PARTITION public.weir_log_2_xid_id_idx;

ALTER INDEX public.weir_log_by_id ATTACH PARTITION public.weir_log_3_id_idx;

ALTER INDEX public.weir_log_by_xid ATTACH PARTITION public.weir_log_3_xid_id_idx;

ALTER INDEX public.weir_log_by_id ATTACH PARTITION public.weir_log_4_id_idx;

ALTER INDEX public.weir_log_by_xid ATTACH PARTITION public.weir_log_4_xid_id_idx;

ALTER INDEX public.weir_log_by_id ATTACH PARTITION public.weir_log_5_id_idx;

ALTER INDEX public.weir_log_by_xid ATTACH PARTITION public.weir_log_5_xid_id_idx;

ALTER INDEX public.weir_log_by_id ATTACH PARTITION public.weir_log_6_id_idx;

ALTER INDEX public.weir_log_by_xid ATTACH PARTITION public.weir_log_6_xid_id_idx;

ALTER INDEX public.weir_log_by_id ATTACH PARTITION public.weir_log_7_id_idx;

ALTER INDEX public.weir_log_by_xid ATTACH PARTITION public.weir_log_7_xid_id_idx;

GRANT ALL ON SCHEMA public TO weir_owner;

REVOKE ALL ON FUNCTION public.weir_backlog_aside(queue_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_aside(queue_id integer) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_backlog_claim(queue_id integer, age_s bigint, OUT mine boolean, OUT mark bigint, OUT begun_s bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_claim(queue_id integer, age_s bigint, OUT mine boolean, OUT mark bigint, OUT begun_s bigint) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_backlog_drop(queue_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_drop(queue_id integer) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_backlog_find(queue_id integer, OUT number regclass, OUT place regclass, OUT sum regclass) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_find(queue_id integer, OUT number regclass, OUT place regclass, OUT sum regclass) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_backlog_make(queue_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_make(queue_id integer) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_backlog_print(queue_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_print(queue_id integer) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_backlog_put(queue_id integer, waiting bigint, mark bigint, begun_s bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_put(queue_id integer, waiting bigint, mark bigint, begun_s bigint) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_backlog_read(queue_id integer, OUT stamp bigint, OUT waiting bigint, OUT whole boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_read(queue_id integer, OUT stamp bigint, OUT waiting bigint, OUT whole boolean) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_backlog_read(queue_id integer, OUT stamp bigint, OUT waiting bigint, OUT whole boolean) TO weir_producer;

REVOKE ALL ON FUNCTION public.weir_backlog_step(queue_id integer, after bigint, OUT waiting bigint, OUT place bigint, OUT whole boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_backlog_step(queue_id integer, after bigint, OUT waiting bigint, OUT place bigint, OUT whole boolean) TO weir_runtime;

GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload bytea, headers information_schema.character_data) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload bytea, headers information_schema.character_data) TO weir_producer;

GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload json, headers information_schema.character_data) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload json, headers information_schema.character_data) TO weir_producer;

GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, headers information_schema.character_data) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, headers information_schema.character_data) TO weir_producer;

GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload text, headers information_schema.character_data) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload text, headers information_schema.character_data) TO weir_producer;

REVOKE ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload bytea, type text, headers jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload bytea, type text, headers jsonb) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload bytea, type text, headers jsonb) TO weir_producer;

GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload bytea, type text, headers text) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload bytea, type text, headers text) TO weir_producer;

REVOKE ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload json, type text, headers jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload json, type text, headers jsonb) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload json, type text, headers jsonb) TO weir_producer;

GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload json, type text, headers text) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload json, type text, headers text) TO weir_producer;

REVOKE ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, type text, headers jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, type text, headers jsonb) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, type text, headers jsonb) TO weir_producer;

GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, type text, headers text) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload jsonb, type text, headers text) TO weir_producer;

REVOKE ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload text, type text, headers jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload text, type text, headers jsonb) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload text, type text, headers jsonb) TO weir_producer;

GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload text, type text, headers text) TO weir_runtime;
GRANT ALL ON FUNCTION public.weir_enqueue(queue text, key text, payload text, type text, headers text) TO weir_producer;

REVOKE ALL ON FUNCTION public.weir_enqueue_cluster() FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue_cluster() TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_enqueue_headers(headers jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue_headers(headers jsonb) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_enqueue_quote(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue_quote(value text) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_enqueue_refuse(what text, value text, size_max integer, is_name boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue_refuse(what text, value text, size_max integer, is_name boolean) TO weir_runtime;

REVOKE ALL ON FUNCTION public.weir_enqueue_room(queue text, queue_id integer, backlog_max bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.weir_enqueue_room(queue text, queue_id integer, backlog_max bigint) TO weir_runtime;

GRANT SELECT,USAGE ON SEQUENCE public.weir_ack_id TO weir_runtime;
GRANT SELECT ON SEQUENCE public.weir_ack_id TO weir_viewer;

GRANT SELECT,INSERT ON TABLE public.weir_ack TO weir_runtime;
GRANT SELECT ON TABLE public.weir_ack TO weir_viewer;

GRANT SELECT,TRUNCATE ON TABLE public.weir_ack_0 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_ack_1 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_ack_2 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_ack_3 TO weir_runtime;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_aside TO weir_runtime;

GRANT SELECT(pid) ON TABLE public.weir_aside TO weir_viewer;

GRANT SELECT(cut) ON TABLE public.weir_aside TO weir_viewer;

GRANT SELECT(id) ON TABLE public.weir_aside TO weir_viewer;

GRANT SELECT(created_us) ON TABLE public.weir_aside TO weir_viewer;

GRANT SELECT(uid) ON TABLE public.weir_aside TO weir_viewer;

GRANT SELECT(message_key) ON TABLE public.weir_aside TO weir_viewer;

GRANT SELECT(type) ON TABLE public.weir_aside TO weir_viewer;

GRANT SELECT,UPDATE ON SEQUENCE public.weir_asleep TO weir_runtime;
GRANT SELECT ON SEQUENCE public.weir_asleep TO weir_producer;
GRANT SELECT ON SEQUENCE public.weir_asleep TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_attempt TO weir_runtime;
GRANT SELECT ON TABLE public.weir_attempt TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_audit TO weir_runtime;
GRANT SELECT ON TABLE public.weir_audit TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_audit_policy TO weir_runtime;
GRANT SELECT ON TABLE public.weir_audit_policy TO weir_viewer;

GRANT SELECT,UPDATE ON SEQUENCE public.weir_awaited TO weir_runtime;
GRANT SELECT ON SEQUENCE public.weir_awaited TO weir_producer;
GRANT SELECT ON SEQUENCE public.weir_awaited TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_budget TO weir_runtime;
GRANT SELECT ON TABLE public.weir_budget TO weir_producer;
GRANT SELECT ON TABLE public.weir_budget TO weir_viewer;

GRANT SELECT,UPDATE ON TABLE public.weir_copy TO weir_runtime;
GRANT SELECT ON TABLE public.weir_copy TO weir_viewer;

GRANT SELECT,INSERT ON TABLE public.weir_cut TO weir_runtime;
GRANT SELECT ON TABLE public.weir_cut TO weir_viewer;

GRANT SELECT,TRUNCATE ON TABLE public.weir_cut_0 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_cut_1 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_cut_2 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_cut_3 TO weir_runtime;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_dead_letter TO weir_runtime;

GRANT SELECT(id) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(subscription) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(pid) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(seq) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(log_id) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(created_us) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(uid) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(message_key) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(type) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(attempts) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(error) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(failed_us) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(status) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(token) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(deadline_us) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(completed_us) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT(requeued_uid) ON TABLE public.weir_dead_letter TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_edge TO weir_runtime;
GRANT SELECT ON TABLE public.weir_edge TO weir_viewer;

GRANT SELECT(upstream),INSERT(upstream) ON TABLE public.weir_edge TO weir_producer;

GRANT SELECT(downstream),INSERT(downstream) ON TABLE public.weir_edge TO weir_producer;

GRANT INSERT(flow) ON TABLE public.weir_edge TO weir_producer;

GRANT INSERT(state) ON TABLE public.weir_edge TO weir_producer;

GRANT INSERT(passes_data) ON TABLE public.weir_edge TO weir_producer;

GRANT INSERT(opened_epoch) ON TABLE public.weir_edge TO weir_producer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_edge_group TO weir_runtime;
GRANT SELECT ON TABLE public.weir_edge_group TO weir_viewer;

GRANT INSERT(downstream) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(flow) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(policy) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(state) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(cancel_remaining) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(quorum) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(total) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(succeeded) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(failed) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(skipped) ON TABLE public.weir_edge_group TO weir_producer;

GRANT INSERT(cancel_us) ON TABLE public.weir_edge_group TO weir_producer;

GRANT SELECT,UPDATE ON SEQUENCE public.weir_emptied TO weir_runtime;
GRANT SELECT ON SEQUENCE public.weir_emptied TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_execution TO weir_runtime;
GRANT SELECT ON TABLE public.weir_execution TO weir_viewer;

GRANT SELECT(no) ON TABLE public.weir_execution TO weir_producer;

GRANT SELECT(uuid),INSERT(uuid) ON TABLE public.weir_execution TO weir_producer;

GRANT SELECT(digest),INSERT(digest) ON TABLE public.weir_execution TO weir_producer;

GRANT SELECT(part),INSERT(part) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(state) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(hold) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(pending) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(budgeted) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(lane) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(capset) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(policy) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(priority) ON TABLE public.weir_execution TO weir_producer;

GRANT SELECT(flow),INSERT(flow) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(created_us) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(due_us) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(deadline_us) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(namespace) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(kind) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(turn) ON TABLE public.weir_execution TO weir_producer;

GRANT SELECT(name),INSERT(name) ON TABLE public.weir_execution TO weir_producer;

GRANT INSERT(data_edges) ON TABLE public.weir_execution TO weir_producer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_flow TO weir_runtime;
GRANT SELECT ON TABLE public.weir_flow TO weir_producer;
GRANT SELECT ON TABLE public.weir_flow TO weir_viewer;

GRANT INSERT(uuid) ON TABLE public.weir_flow TO weir_producer;

GRANT INSERT(part) ON TABLE public.weir_flow TO weir_producer;

GRANT UPDATE(members) ON TABLE public.weir_flow TO weir_producer;

GRANT UPDATE(edges) ON TABLE public.weir_flow TO weir_producer;

GRANT UPDATE(unfinished) ON TABLE public.weir_flow TO weir_producer;

GRANT UPDATE(revision) ON TABLE public.weir_flow TO weir_producer;

GRANT INSERT(created_us) ON TABLE public.weir_flow TO weir_producer;

GRANT INSERT(namespace) ON TABLE public.weir_flow TO weir_producer;

GRANT INSERT(kind) ON TABLE public.weir_flow TO weir_producer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_idempotency TO weir_runtime;
GRANT SELECT ON TABLE public.weir_idempotency TO weir_producer;
GRANT SELECT ON TABLE public.weir_idempotency TO weir_viewer;

GRANT INSERT(scope) ON TABLE public.weir_idempotency TO weir_producer;

GRANT INSERT(key) ON TABLE public.weir_idempotency TO weir_producer;

GRANT INSERT(uuid),UPDATE(uuid) ON TABLE public.weir_idempotency TO weir_producer;

GRANT INSERT(part),UPDATE(part) ON TABLE public.weir_idempotency TO weir_producer;

GRANT INSERT(digest),UPDATE(digest) ON TABLE public.weir_idempotency TO weir_producer;

GRANT INSERT(until_us),UPDATE(until_us) ON TABLE public.weir_idempotency TO weir_producer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_input TO weir_runtime;

GRANT INSERT(no) ON TABLE public.weir_input TO weir_producer;
GRANT SELECT(no) ON TABLE public.weir_input TO weir_viewer;

GRANT INSERT(bytes) ON TABLE public.weir_input TO weir_producer;

GRANT SELECT,UPDATE ON TABLE public.weir_leaf TO weir_runtime;
GRANT SELECT ON TABLE public.weir_leaf TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_lease TO weir_runtime;
GRANT SELECT ON TABLE public.weir_lease TO weir_viewer;

GRANT SELECT,USAGE ON SEQUENCE public.weir_log_id TO weir_runtime;
GRANT USAGE ON SEQUENCE public.weir_log_id TO weir_producer;
GRANT SELECT ON SEQUENCE public.weir_log_id TO weir_viewer;

GRANT SELECT,INSERT ON TABLE public.weir_log TO weir_runtime;

GRANT SELECT(xid) ON TABLE public.weir_log TO weir_viewer;

GRANT SELECT(id) ON TABLE public.weir_log TO weir_producer;
GRANT SELECT(id) ON TABLE public.weir_log TO weir_viewer;

GRANT INSERT(pid) ON TABLE public.weir_log TO weir_producer;
GRANT SELECT(pid) ON TABLE public.weir_log TO weir_viewer;

GRANT SELECT(created_us) ON TABLE public.weir_log TO weir_viewer;

GRANT INSERT(uid) ON TABLE public.weir_log TO weir_producer;
GRANT SELECT(uid) ON TABLE public.weir_log TO weir_viewer;

GRANT INSERT(message_key) ON TABLE public.weir_log TO weir_producer;
GRANT SELECT(message_key) ON TABLE public.weir_log TO weir_viewer;

GRANT INSERT(type) ON TABLE public.weir_log TO weir_producer;
GRANT SELECT(type) ON TABLE public.weir_log TO weir_viewer;

GRANT INSERT(headers) ON TABLE public.weir_log TO weir_producer;

GRANT INSERT(payload) ON TABLE public.weir_log TO weir_producer;

GRANT SELECT,TRUNCATE ON TABLE public.weir_log_0 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_log_1 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_log_2 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_log_3 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_log_4 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_log_5 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_log_6 TO weir_runtime;

GRANT SELECT,TRUNCATE ON TABLE public.weir_log_7 TO weir_runtime;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_member TO weir_runtime;
GRANT SELECT ON TABLE public.weir_member TO weir_viewer;

GRANT SELECT ON TABLE public.weir_meta TO weir_runtime;
GRANT SELECT ON TABLE public.weir_meta TO weir_producer;
GRANT SELECT ON TABLE public.weir_meta TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_passed TO weir_runtime;

GRANT SELECT(downstream) ON TABLE public.weir_passed TO weir_viewer;

GRANT SELECT(upstream) ON TABLE public.weir_passed TO weir_viewer;

GRANT SELECT(uuid) ON TABLE public.weir_passed TO weir_viewer;

GRANT SELECT(part) ON TABLE public.weir_passed TO weir_viewer;

GRANT SELECT(name) ON TABLE public.weir_passed TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_queue TO weir_runtime;
GRANT SELECT ON TABLE public.weir_queue TO weir_producer;
GRANT SELECT ON TABLE public.weir_queue TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_result TO weir_runtime;

GRANT SELECT(no) ON TABLE public.weir_result TO weir_viewer;

GRANT SELECT ON TABLE public.weir_schema TO weir_runtime;
GRANT SELECT ON TABLE public.weir_schema TO weir_producer;
GRANT SELECT ON TABLE public.weir_schema TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_secret TO weir_runtime;

GRANT SELECT(key_id) ON TABLE public.weir_secret TO weir_viewer;

GRANT SELECT(active) ON TABLE public.weir_secret TO weir_viewer;

GRANT SELECT(until_us) ON TABLE public.weir_secret TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_signal TO weir_runtime;

GRANT SELECT(no) ON TABLE public.weir_signal TO weir_viewer;

GRANT SELECT(waitpoint) ON TABLE public.weir_signal TO weir_viewer;

GRANT SELECT(key) ON TABLE public.weir_signal TO weir_viewer;

GRANT SELECT(uuid) ON TABLE public.weir_signal TO weir_viewer;

GRANT SELECT(name) ON TABLE public.weir_signal TO weir_viewer;

GRANT SELECT(source_type) ON TABLE public.weir_signal TO weir_viewer;

GRANT SELECT(source) ON TABLE public.weir_signal TO weir_viewer;

GRANT SELECT(came_us) ON TABLE public.weir_signal TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_spent TO weir_runtime;
GRANT SELECT ON TABLE public.weir_spent TO weir_viewer;

GRANT INSERT(no) ON TABLE public.weir_spent TO weir_producer;

GRANT INSERT(budget) ON TABLE public.weir_spent TO weir_producer;

GRANT INSERT(dimension) ON TABLE public.weir_spent TO weir_producer;

GRANT INSERT(amount) ON TABLE public.weir_spent TO weir_producer;

GRANT INSERT(era) ON TABLE public.weir_spent TO weir_producer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_subscription TO weir_runtime;
GRANT SELECT ON TABLE public.weir_subscription TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_suspension TO weir_runtime;
GRANT SELECT ON TABLE public.weir_suspension TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_tag TO weir_runtime;
GRANT SELECT ON TABLE public.weir_tag TO weir_viewer;

GRANT INSERT(no) ON TABLE public.weir_tag TO weir_producer;

GRANT INSERT(key) ON TABLE public.weir_tag TO weir_producer;

GRANT INSERT(value) ON TABLE public.weir_tag TO weir_producer;

GRANT SELECT,INSERT ON TABLE public.weir_term TO weir_runtime;
GRANT SELECT ON TABLE public.weir_term TO weir_producer;
GRANT SELECT ON TABLE public.weir_term TO weir_viewer;

GRANT INSERT(kind) ON TABLE public.weir_term TO weir_producer;

GRANT INSERT(digest) ON TABLE public.weir_term TO weir_producer;

GRANT INSERT(text) ON TABLE public.weir_term TO weir_producer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_token TO weir_runtime;

GRANT SELECT(no) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(id) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(name) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(scopes) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(of_databases) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(of_queues) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(of_lanes) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(of_namespaces) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(created_us) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(lifetime_us) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(expires_us) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(used_us) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT(revoked_us) ON TABLE public.weir_token TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_usage TO weir_runtime;
GRANT SELECT ON TABLE public.weir_usage TO weir_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.weir_waitpoint TO weir_runtime;
GRANT SELECT ON TABLE public.weir_waitpoint TO weir_viewer;

-- numbers
1|1|the outbox
2|1|by what a process is known alive
3|1|producers in SQL
4|1|producers in SQL look up names in the catalogue alone
5|1|how often something was removed
6|1|marks of calls
7|1|queues that are being removed
8|1|producers in SQL refuse queues that are being removed
9|9|copies of leaves
10|9|subscriptions that operators stop and move
11|9|producers in SQL see headers that are there twice, and may keep quiet
12|9|keep rows that all subscriptions have passed
13|9|how much waits in queues with a limit
14|9|audit rows and tokens
15|9|producers in SQL ask less, and notify less often
1001|1001|executions
1002|1001|waiting claims
1003|1003|flows, suspensions
1004|1004|verbs of settled claims
1005|1005|turns
1006|1006|passed results, names of members
-- meta
identity
payload_max
segment_bits
