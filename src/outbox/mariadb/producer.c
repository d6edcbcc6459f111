/*
 * producer.c - {p}_enqueue() for MariaDB.
 *
 *   {p}_enqueue              all checks in the order of weir_enqueue_batch(), then the
 *                            row
 *   {p}_enqueue_headers      the headers as they are stored
 *   {p}_enqueue_find         the queue, held until the transaction ends
 *   {p}_enqueue_check_room   is the queue's limit reached?
 *   {p}_enqueue_refuse_text  says what is wrong with a name or a type
 *   {p}_enqueue_refuse_queue says what is wrong with the row of a queue
 *   {p}_enqueue_refuse       ends the call with a text
 *   {p}_enqueue_quote        a value in an error's text, as names.c shows it
 *
 * The row is appended by the rules of mariadb/log.h: a number of the sequence for each,
 * the era that is now, and another one when that is over by the time of the insert.
 *
 * What a routine reads is in the transaction of its caller, with its snapshot;
 * sequences are not. The mode in which it was made is a routine's own, so it is strict;
 * what is a session's is checked. Names of variables hide those of columns. A literal
 * brace is not available (db/sql.h).
 */
#include "outbox/producer.h"

#include <stddef.h>

/* Up to 60 bytes; what is not printable ASCII is a question mark. */
static const char QUOTE[] =
    "CREATE OR REPLACE FUNCTION {p}_enqueue_quote(value LONGBLOB)\n"
    "RETURNS VARCHAR(63) CHARACTER SET utf8mb4\n"
    "DETERMINISTIC NO SQL\n"
    "BEGIN\n"
    "    DECLARE shown VARCHAR(63) CHARACTER SET utf8mb4 DEFAULT '';\n"
    "    DECLARE byte INT;\n"
    "    FOR i IN 1 .. COALESCE(LEAST(LENGTH(value), 60), 0) DO\n"
    "        SET byte = ORD(SUBSTR(value, i, 1));\n"
    "        SET shown = CONCAT(shown, IF(byte BETWEEN 32 AND 126,\n"
    "            CHAR(byte USING utf8mb4), '?'));\n"
    "    END FOR;\n"
    "    RETURN IF(LENGTH(value) > 60, CONCAT(shown, '...'), shown);\n"
    "END\n";

/* An error of the application's, with our text. */
static const char REFUSE[] =
    "CREATE OR REPLACE PROCEDURE {p}_enqueue_refuse(message LONGTEXT\n"
    "    CHARACTER SET utf8mb4)\n"
    "NO SQL\n"
    "BEGIN\n"
    "    SET message = LEFT(message, 500);\n"
    "    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;\n"
    "END\n";

/* Which rule a text breaks that is no queue name (`is_name`) or not printable. */
static const char REFUSE_TEXT[] =
    "CREATE OR REPLACE PROCEDURE {p}_enqueue_refuse_text(\n"
    "    what VARCHAR(20) CHARACTER SET utf8mb4, value LONGBLOB, size_max INT,\n"
    "    is_name BOOLEAN)\n"
    "NO SQL\n"
    "BEGIN\n"
    "    DECLARE shown VARCHAR(100) CHARACTER SET utf8mb4\n"
    "        DEFAULT CONCAT(what, ' \"', {p}_enqueue_quote(value), '\"');\n"
    "    DECLARE byte INT;\n"
    "    IF value IS NULL OR LENGTH(value) = 0 THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT(what, ' is ', IF(value IS NULL, 'NULL',\n"
    "            'empty'), ', must have 1 to ', size_max, ' characters'));\n"
    "    END IF;\n"
    "    IF LENGTH(value) > size_max THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT(shown, ' is too long, must have at most ',\n"
    "            size_max, ' characters'));\n"
    "    END IF;\n"
    "    FOR i IN 1 .. LENGTH(value) DO\n"
    "        SET byte = ORD(SUBSTR(value, i, 1));\n"
    "        IF byte NOT BETWEEN 32 AND 126 OR is_name AND CHAR(byte USING utf8mb4)\n"
    "            COLLATE utf8mb4_bin REGEXP '[^A-Za-z0-9._-]' THEN\n"
    "            CALL {p}_enqueue_refuse(CONCAT(shown, ' has byte 0x',\n"
    "                LOWER(LPAD(HEX(byte), 2, '0')), ' at ', i - 1, ', must be ',\n"
    "                IF(is_name, 'ASCII letters, digits, ''.'', ''_'' and ''-''',\n"
    "                'printable ASCII')));\n"
    "        END IF;\n"
    "    END FOR;\n"
    "    CALL {p}_enqueue_refuse(CONCAT(shown,\n"
    "        ' must begin and end with a letter or digit'));\n"
    "END\n";

/* A row that another program has written, out of range (stored_queue.h). */
static const char REFUSE_QUEUE[] =
    "CREATE OR REPLACE PROCEDURE {p}_enqueue_refuse_queue(\n"
    "    queue LONGTEXT CHARACTER SET utf8mb4, queue_id INT, partition_count INT)\n"
    "NO SQL\n"
    "BEGIN\n"
    "    DECLARE why VARCHAR(100) CHARACTER SET utf8mb4 DEFAULT\n"
    "        IF(queue_id BETWEEN 1 AND 33554431,\n"
    "        CONCAT('partitions is ', partition_count,\n"
    "        ', must be a power of two from 1 to 64'),\n"
    "        CONCAT('id is ', queue_id, ', must be from 1 to 33554431'));\n"
    "    CALL {p}_enqueue_refuse(CONCAT('the row of queue \"', queue, '\": ', why));\n"
    "END\n";

/*
 * What is no text is kept as its JSON, as readers do (headers.h); a text
 * as it is written. Names and values come in the order of the object, and a name that
 * is there twice is one name and two values. They are counted first, since JSON_KEYS()
 * compares each name with all others. CHAR(123) and CHAR(125) are the braces.
 */
static const char HEADERS[] =
    "CREATE OR REPLACE FUNCTION {p}_enqueue_headers(headers LONGTEXT CHARACTER SET\n"
    "    utf8mb4) RETURNS LONGTEXT CHARACTER SET utf8mb4\n"
    "NOT DETERMINISTIC CONTAINS SQL\n"
    "BEGIN\n"
    "    DECLARE header_names, header_values, name, header_value, path LONGTEXT\n"
    "        CHARACTER SET utf8mb4;\n"
    "    DECLARE stored LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';\n"
    "    DECLARE size_left INT DEFAULT 16384;\n"
    "    IF NOT JSON_VALID(headers) THEN\n"
    "        CALL {p}_enqueue_refuse('headers are no JSON object of texts: no JSON');\n"
    "    END IF;\n"
    "    IF JSON_TYPE(headers) <> 'OBJECT' THEN\n"
    "        CALL {p}_enqueue_refuse(\n"
    "            'headers are no JSON object of texts: no object at byte 0');\n"
    "    END IF;\n"
    "    IF JSON_LENGTH(headers) > 64 THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('header_count is ',\n"
    "            JSON_LENGTH(headers), ', must be at most 64'));\n"
    "    END IF;\n"
    "    SET header_names = JSON_KEYS(headers);\n"
    "    SET header_values = COALESCE(JSON_EXTRACT(headers, '$.*'), '[]');\n"
    "    IF JSON_LENGTH(header_values) <> JSON_LENGTH(header_names) THEN\n"
    "        FOR i IN 0 .. JSON_LENGTH(header_names) - 1 DO\n"
    "            SET name = JSON_EXTRACT(header_names, CONCAT('$[', i, ']'));\n"
    "            SET path = CONCAT('$.', name);\n"
    "            IF JSON_CONTAINS_PATH(JSON_REMOVE(headers, path), 'one', path) THEN\n"
    "                CALL {p}_enqueue_refuse(CONCAT('header \"',\n"
    "                    {p}_enqueue_quote(JSON_UNQUOTE(name)),\n"
    "                    '\" is there twice, must be once'));\n"
    "            END IF;\n"
    "        END FOR;\n"
    "    END IF;\n"
    "    FOR i IN 0 .. JSON_LENGTH(header_values) - 1 DO\n"
    "        SET name = JSON_UNQUOTE(JSON_EXTRACT(header_names, CONCAT('$[', i, ']')));\n"
    "        SET header_value = JSON_EXTRACT(header_values, CONCAT('$[', i, ']'));\n"
    "        IF LENGTH(name) NOT BETWEEN 1 AND 256 OR name REGEXP '[^ -~]' THEN\n"
    "            CALL {p}_enqueue_refuse_text('header name', name, 256, FALSE);\n"
    "        END IF;\n"
    "        IF JSON_TYPE(header_value) = 'NULL' THEN\n"
    "            CALL {p}_enqueue_refuse(CONCAT('header \"', {p}_enqueue_quote(name),\n"
    "                '\" is NULL, must have a value'));\n"
    "        END IF;\n"
    "        SET size_left = size_left - LENGTH(name) - "
    "LENGTH(JSON_UNQUOTE(header_value));\n"
    "        IF size_left < 0 THEN\n"
    "            CALL {p}_enqueue_refuse(CONCAT('headers up to \"',\n"
    "                {p}_enqueue_quote(name), '\" are too large, names and values',\n"
    "                ' must have at most 16384 bytes together'));\n"
    "        END IF;\n"
    "        SET stored = CONCAT(stored, IF(i = 0, CHAR(123 USING utf8mb4), ','),\n"
    "            JSON_QUOTE(name), ':',\n"
    "            IF(JSON_TYPE(header_value) = 'STRING', header_value,\n"
    "            JSON_QUOTE(header_value)));\n"
    "    END FOR;\n"
    "    RETURN IF(stored = '', NULL, CONCAT(stored, CHAR(125 USING utf8mb4)));\n"
    "END\n";

/*
 * The number that was published (backlog.h), read once a second, and what this session
 * has added since: the limit is kept about. A number that is missing or old, or that
 * the snapshot of the transaction shows as old, is not used: then the session counts
 * for itself, what waits for the subscription that is furthest behind: rows of the log
 * behind its positions, what is not moved yet, and what is set aside for it; without
 * subscriptions all of these, unless it is dropped. No more than 100,000 rows of each
 * are looked at. The function publishes nothing: the server locks a table that a
 * function may write for each call of it. Kept in a variable of the session: when the
 * number was read, which count it was, and the sum.
 *
 * With a binary log of another format than ROW the server locks what a function reads,
 * until the transaction ends: to count would stop the movers.
 */
static const char ROOM[] =
    "CREATE OR REPLACE PROCEDURE {p}_enqueue_check_room(\n"
    "    queue LONGTEXT CHARACTER SET utf8mb4, queue_id INT, backlog_max BIGINT)\n"
    "READS SQL DATA\n"
    "BEGIN\n"
    "    DECLARE path VARCHAR(20) DEFAULT CONCAT('$.q', queue_id);\n"
    "    DECLARE known VARCHAR(80) DEFAULT IF(JSON_VALID(@{p}_backlog),\n"
    "        JSON_VALUE(@{p}_backlog, path), NULL);\n"
    "    DECLARE now_us BIGINT DEFAULT {now};\n"
    "    DECLARE read_us BIGINT DEFAULT SUBSTRING_INDEX(known, '/', 1);\n"
    "    DECLARE stamp BIGINT DEFAULT\n"
    "        SUBSTRING_INDEX(SUBSTRING_INDEX(known, '/', 2), '/', -1);\n"
    "    DECLARE backlog BIGINT DEFAULT SUBSTRING_INDEX(known, '/', -1);\n"
    "    DECLARE front, number_us, number_age, number BIGINT;\n"
    "    DECLARE policy INT;\n"
    "    IF @@log_bin AND @@sql_log_bin AND @@binlog_format <> 'ROW' THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('queue \"', LEFT(queue, 100),\n"
    "            '\" has a limit, which cannot be counted while binlog_format is ',\n"
    "            @@binlog_format, ': set it to ROW'));\n"
    "    END IF;\n"
    "    IF known IS NULL OR now_us - read_us NOT BETWEEN 0 AND 1000000 THEN\n"
    "        SET read_us = now_us;\n"
    "        SELECT MAX(b.counted_us), MAX(GREATEST(b.counted_us, b.claimed_us)),\n"
    "            MAX(b.waiting) INTO number_us, number_age, number\n"
    "            FROM {p}_backlog b WHERE b.queue = queue_id;\n"
    "        SET number_age = now_us - number_age;\n"
    "        IF number_age BETWEEN 0 AND 2999999 THEN\n"
    "            IF known IS NULL OR stamp <> number_us THEN\n"
    "                SET stamp = number_us;\n"
    "                SET backlog = number;\n"
    "            END IF;\n"
    "        ELSE\n"
    "            SET stamp = now_us;\n"
    "            SET front = (SELECT MIN(a.last_id) FROM {p}_subscription s\n"
    "                JOIN {p}_ack a ON a.subscription = s.id WHERE s.queue = queue_id);\n"
    "            SET policy = (SELECT q.unread FROM {p}_queue q WHERE q.id = queue_id);\n"
    "            SELECT COALESCE(MAX(w.waiting), 0) INTO backlog FROM\n"
    "                (SELECT SUM((SELECT COUNT(*) FROM (SELECT id, pid FROM {p}_log\n"
    "                        WHERE id > front ORDER BY id LIMIT 100000) l\n"
    "                        WHERE l.pid = a.pid AND l.id > a.last_id)\n"
    "                    + (SELECT COUNT(*) FROM {p}_aside k WHERE k.pid = a.pid\n"
    "                        AND k.cut >= 0 AND k.id > a.last_id)) AS waiting\n"
    "                FROM {p}_subscription s JOIN {p}_ack a ON a.subscription = s.id\n"
    "                WHERE s.queue = queue_id GROUP BY s.id) w;\n"
    "            IF front IS NULL AND policy = 0 THEN\n"
    "                SET backlog = (SELECT COUNT(*) FROM (SELECT pid FROM {p}_log\n"
    "                    ORDER BY id LIMIT 100000) l\n"
    "                    WHERE l.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63)\n"
    "                    + (SELECT COUNT(*) FROM {p}_aside k\n"
    "                    WHERE k.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63);\n"
    "            END IF;\n"
    "            IF front IS NOT NULL OR policy = 0 THEN\n"
    "                SET backlog = backlog + (SELECT COUNT(*) FROM (SELECT i.pid\n"
    "                    FROM {p}_era e STRAIGHT_JOIN {p}_incoming i\n"
    "                    FORCE INDEX (PRIMARY) ON i.era = e.no LIMIT 100000) i\n"
    "                    WHERE i.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63);\n"
    "            END IF;\n"
    "        END IF;\n"
    "    END IF;\n"
    "    IF backlog >= backlog_max THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('queue \"', LEFT(queue, 100), '\" has ',\n"
    "            backlog, IF(backlog = 1, ' message', ' messages'),\n"
    "            ' waiting, its limit is ', backlog_max));\n"
    "    END IF;\n"
    "    SET @{p}_backlog = JSON_SET(IF(JSON_VALID(@{p}_backlog), @{p}_backlog,\n"
    "        JSON_OBJECT()), path, CONCAT(read_us, '/', stamp, '/', backlog + 1));\n"
    "END\n";

/* Of an older library. */
static const char DROP_ROOM[] = "DROP PROCEDURE IF EXISTS {p}_enqueue_room";

/*
 * The queue is held by its name until the transaction ends (catalog.c), and read from
 * an index that has all of it (schema.c): where what is read is locked (see above), the
 * sweep and a pause of the queue are not in the way.
 */
static const char FIND[] =
    "CREATE OR REPLACE PROCEDURE {p}_enqueue_find(\n"
    "    queue LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,\n"
    "    OUT queue_id INT, OUT partition_count INT, OUT limit_of_backlog BIGINT)\n"
    "READS SQL DATA\n"
    "BEGIN\n"
    "    DECLARE held_id INT;\n"
    "    DECLARE goes_us BIGINT;\n"
    "    /*M!101108 SET STATEMENT innodb_snapshot_isolation = 0 FOR */\n"
    "    SELECT id INTO held_id FROM {p}_queue FORCE INDEX (name)\n"
    "        WHERE name = CONVERT(queue USING ascii) LOCK IN SHARE MODE;\n"
    "    SELECT id, partitions, backlog_max, going_us\n"
    "        INTO queue_id, partition_count, limit_of_backlog, goes_us\n"
    "        FROM {p}_queue FORCE INDEX ({p}_queue_of_producers)\n"
    "        WHERE name = CONVERT(queue USING ascii);\n"
    "    IF queue_id IS NULL OR held_id IS NULL OR held_id <> queue_id THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('there is no queue \"', queue, '\"'));\n"
    "    END IF;\n"
    "    IF partition_count NOT IN (1, 2, 4, 8, 16, 32, 64)\n"
    "        OR queue_id NOT BETWEEN 1 AND 33554431 THEN\n"
    "        CALL {p}_enqueue_refuse_queue(queue, queue_id, partition_count);\n"
    "    END IF;\n"
    "    IF goes_us > {now} THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('queue \"', queue, '\" is being removed'));\n"
    "    END IF;\n"
    "END\n";

static const char ENQUEUE[] =
    "CREATE OR REPLACE FUNCTION {p}_enqueue(\n"
    "    queue LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,\n"
    "    message_key LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,\n"
    "    payload LONGBLOB,\n"
    "    message_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,\n"
    "    headers LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)\n"
    "RETURNS CHAR(32) CHARACTER SET ascii\n"
    "NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER\n"
    "BEGIN\n"
    "    DECLARE payload_max, limit_of_backlog, number, this_era BIGINT;\n"
    "    DECLARE queue_id, partition_count INT;\n"
    "    DECLARE stored_headers LONGTEXT CHARACTER SET utf8mb4;\n"
    "    DECLARE message_uid BINARY(16) DEFAULT UNHEX(MD5(CONCAT(UUID(), RAND())));\n"
    "    DECLARE hash BIGINT DEFAULT CONV(LEFT(MD5(message_key), 8), 16, 10);\n"
    "    DECLARE is_over BOOLEAN DEFAULT TRUE;\n"
    "    DECLARE attempts INT DEFAULT 0;\n"
    "    DECLARE CONTINUE HANDLER FOR 1216, 1452 SET is_over = TRUE;\n"
    "    IF queue IS NULL OR LENGTH(queue) NOT BETWEEN 1 AND 1024\n"
    "        OR queue REGEXP '[^A-Za-z0-9._-]' OR queue REGEXP '^[._-]'\n"
    "        OR RIGHT(queue, 1) IN ('.', '_', '-') THEN\n"
    "        CALL {p}_enqueue_refuse_text('queue name', queue, 1024, TRUE);\n"
    "    END IF;\n"
    "    IF message_type IS NULL OR LENGTH(message_type) NOT BETWEEN 1 AND 1024\n"
    "        OR message_type REGEXP '[^ -~]' THEN\n"
    "        CALL {p}_enqueue_refuse_text('type', message_type, 1024, FALSE);\n"
    "    END IF;\n"
    "    IF payload IS NULL THEN\n"
    "        CALL {p}_enqueue_refuse('payload is NULL, must have a value');\n"
    "    END IF;\n"
    "    SELECT value INTO payload_max FROM {p}_meta WHERE name = 'payload_max';\n"
    "    IF LENGTH(payload) > payload_max THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('payload has ', LENGTH(payload),\n"
    "            ' bytes, must have at most ', payload_max));\n"
    "    END IF;\n"
    "    IF LENGTH(message_key) > 1024 THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('key \"', {p}_enqueue_quote(message_key),\n"
    "            '\" is too long, must have at most 1024 bytes'));\n"
    "    END IF;\n"
    "    IF LOCATE(CHAR(0 USING utf8mb4), message_key) > 0 THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('key \"', {p}_enqueue_quote(message_key),\n"
    "            '\" has a zero byte, must have none'));\n"
    "    END IF;\n"
    "    IF headers IS NOT NULL THEN\n"
    "        SET stored_headers = {p}_enqueue_headers(headers);\n"
    "    END IF;\n"
    "    CALL {p}_enqueue_find(queue, queue_id, partition_count, limit_of_backlog);\n"
    "    IF NOT @@foreign_key_checks THEN\n"
    "        CALL {p}_enqueue_refuse(CONCAT('foreign_key_checks is off on this',\n"
    "            ' connection: a message might be lost; switch it on before',\n"
    "            ' enqueueing'));\n"
    "    END IF;\n"
    "    IF limit_of_backlog > 0 THEN\n"
    "        CALL {p}_enqueue_check_room(queue, queue_id, limit_of_backlog);\n"
    "    END IF;\n"
    "    WHILE is_over DO\n"
    "        SET attempts = attempts + 1;\n"
    "        IF attempts > 5 THEN\n"
    "            CALL {p}_enqueue_refuse('append: eras end faster than we can append');\n"
    "        END IF;\n"
    "        SET is_over = FALSE;\n"
    "        SET number = NEXT VALUE FOR {p}_incoming_id;\n"
    "        SELECT next_not_cached_value INTO this_era FROM {p}_era_now;\n"
    "        /*M!101108 SET STATEMENT innodb_snapshot_isolation = 0 FOR */\n"
    "        INSERT INTO {p}_incoming (era, id, pid, created_us, uid, message_key,\n"
    "            type, headers, payload) VALUES (this_era, number * 65536,\n"
    "            queue_id * 64 + COALESCE(hash, ORD(message_uid)) MOD partition_count,\n"
    "            {now}, message_uid, message_key, message_type, stored_headers,\n"
    "            payload);\n"
    "    END WHILE;\n"
    "    RETURN LOWER(HEX(message_uid));\n"
    "END\n";

const char *const weir_producer_maria[] = {
    "INSERT IGNORE INTO {p}_meta VALUES ('payload_max', '65536')",
    "CREATE INDEX IF NOT EXISTS {p}_queue_of_producers ON {p}_queue"
    " (name, partitions, backlog_max)",
    NULL,
};

const char *const weir_producer_maria_functions[] = {
    "SET sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
    QUOTE,
    REFUSE,
    REFUSE_TEXT,
    REFUSE_QUEUE,
    HEADERS,
    ROOM,
    FIND,
    ENQUEUE,
    DROP_ROOM,
    NULL,
};
