CREATE TABLE `weir_ack` (
  `subscription` int(11) NOT NULL,
  `pid` int(11) NOT NULL,
  `version` bigint(20) NOT NULL,
  `epoch` bigint(20) NOT NULL,
  `incarnation` varchar(100) NOT NULL,
  `cut` bigint(20) NOT NULL,
  `last_id` bigint(20) NOT NULL,
  `seq` bigint(20) NOT NULL,
  `attempts` int(11) NOT NULL DEFAULT 0,
  `alone` int(11) NOT NULL DEFAULT 0,
  `retry_us` bigint(20) NOT NULL DEFAULT 0,
  `error` longtext NOT NULL DEFAULT '',
  `trying` bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (`subscription`,`pid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_aside` (
  `pid` int(11) NOT NULL,
  `cut` bigint(20) NOT NULL DEFAULT 0,
  `id` bigint(20) NOT NULL,
  `source_id` bigint(20) NOT NULL,
  `created_us` bigint(20) NOT NULL,
  `uid` binary(16) NOT NULL,
  `message_key` longtext DEFAULT NULL,
  `type` varchar(1024) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `headers` longtext DEFAULT NULL,
  `payload` longblob NOT NULL,
  `payload_size` int(11) GENERATED ALWAYS AS (octet_length(`payload`)) STORED,
  PRIMARY KEY (`id`),
  KEY `weir_aside_by_partition` (`pid`,`cut`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_audit` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `at_us` bigint(20) NOT NULL,
  `nonce` bigint(20) NOT NULL,
  `request` varchar(1024) DEFAULT NULL,
  `actor` varchar(1024) NOT NULL,
  `origin` bigint(20) NOT NULL,
  `address` varchar(1024) DEFAULT NULL,
  `action` varchar(1024) NOT NULL,
  `target` varchar(1024) DEFAULT NULL,
  `changed` bigint(20) NOT NULL,
  `old_value` varchar(1024) DEFAULT NULL,
  `new_value` varchar(1024) DEFAULT NULL,
  `reason` varchar(1024) DEFAULT NULL,
  `outcome` varchar(1024) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `weir_audit_by_time` (`at_us`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_audit_policy` (
  `id` bigint(20) NOT NULL,
  `retain_us` bigint(20) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
CREATE TABLE `weir_backlog` (
  `queue` int(11) NOT NULL,
  `counted_us` bigint(20) NOT NULL DEFAULT 0,
  `claimed_us` bigint(20) NOT NULL DEFAULT 0,
  `waiting` bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (`queue`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
CREATE TABLE `weir_counter` (
  `name` varchar(16) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `value` bigint(20) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_dead_letter` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `subscription` int(11) NOT NULL,
  `pid` int(11) NOT NULL,
  `seq` bigint(20) NOT NULL,
  `log_id` bigint(20) NOT NULL,
  `created_us` bigint(20) NOT NULL,
  `uid` binary(16) NOT NULL,
  `message_key` longtext DEFAULT NULL,
  `type` varchar(1024) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `headers` longtext DEFAULT NULL,
  `payload` longblob NOT NULL,
  `attempts` int(11) NOT NULL,
  `error` longtext NOT NULL,
  `failed_us` bigint(20) NOT NULL,
  `status` varchar(16) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL DEFAULT 'pending',
  `token` bigint(20) NOT NULL DEFAULT 0,
  `deadline_us` bigint(20) NOT NULL DEFAULT 0,
  `completed_us` bigint(20) NOT NULL DEFAULT 0,
  `requeued_uid` binary(16) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `subscription` (`subscription`,`pid`,`seq`),
  KEY `weir_dead_letter_by_failure` (`status`,`failed_us`,`id`),
  KEY `weir_dead_letter_open` (`status`,`deadline_us`,`id`),
  KEY `weir_dead_letter_closed` (`completed_us`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_era` (
  `no` bigint(20) NOT NULL,
  PRIMARY KEY (`no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE SEQUENCE `weir_era_now` start with 1 minvalue 1 maxvalue 9223372036854775806 increment by 1 nocache nocycle ENGINE=InnoDB
CREATE TABLE `weir_incoming` (
  `era` bigint(20) NOT NULL,
  `id` bigint(20) NOT NULL,
  `pid` int(11) NOT NULL,
  `created_us` bigint(20) NOT NULL,
  `uid` binary(16) NOT NULL,
  `message_key` longtext DEFAULT NULL,
  `type` varchar(1024) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `headers` longtext DEFAULT NULL,
  `payload` longblob NOT NULL,
  PRIMARY KEY (`era`,`id`),
  CONSTRAINT `weir_incoming_era` FOREIGN KEY (`era`) REFERENCES `weir_era` (`no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE SEQUENCE `weir_incoming_id` start with 1 minvalue 1 maxvalue 9223372036854775806 increment by 1 cache 1000 nocycle ENGINE=InnoDB
CREATE TABLE `weir_lease` (
  `subscription` int(11) NOT NULL,
  `pid` int(11) NOT NULL,
  `owner` bigint(20) DEFAULT NULL,
  `epoch` bigint(20) NOT NULL DEFAULT 0,
  `incarnation` varchar(100) NOT NULL DEFAULT '',
  `until_us` bigint(20) NOT NULL DEFAULT 0,
  `crashes` int(11) NOT NULL DEFAULT 0,
  `marks_from` bigint(20) NOT NULL DEFAULT 0,
  `replay_to` bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (`subscription`,`pid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_log` (
  `id` bigint(20) NOT NULL,
  `source_id` bigint(20) NOT NULL,
  `pid` int(11) NOT NULL,
  `created_us` bigint(20) NOT NULL,
  `uid` binary(16) NOT NULL,
  `message_key` longtext DEFAULT NULL,
  `type` varchar(1024) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `headers` longtext DEFAULT NULL,
  `payload` longblob NOT NULL,
  `payload_size` int(11) GENERATED ALWAYS AS (octet_length(`payload`)) STORED,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_member` (
  `process` bigint(20) NOT NULL,
  `subscription` int(11) NOT NULL,
  `name` text NOT NULL,
  `until_us` bigint(20) NOT NULL,
  `started_us` bigint(20) NOT NULL,
  `delivered` bigint(20) NOT NULL DEFAULT 0,
  `rate` double NOT NULL DEFAULT 0,
  `alive_by` int(11) NOT NULL DEFAULT 0,
  `library` varchar(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL DEFAULT '',
  `clock_off_us` bigint(20) NOT NULL DEFAULT 0,
  `beat_us` bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (`subscription`,`process`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_meta` (
  `name` varchar(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `value` text NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_queue` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(1024) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `partitions` int(11) NOT NULL,
  `paused` tinyint(1) NOT NULL DEFAULT 0,
  `unread` int(11) NOT NULL DEFAULT 0,
  `backlog_max` bigint(20) NOT NULL DEFAULT 0,
  `attempts_max` int(11) NOT NULL DEFAULT 0,
  `retention_us` bigint(20) NOT NULL DEFAULT 0,
  `removed_cut` bigint(20) NOT NULL DEFAULT 0,
  `removed_id` bigint(20) NOT NULL DEFAULT 0,
  `created_us` bigint(20) NOT NULL,
  `removals` bigint(20) NOT NULL DEFAULT 0,
  `going_us` bigint(20) NOT NULL DEFAULT 0,
  `retain_us` bigint(20) NOT NULL DEFAULT 0,
  `whole_us` bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`),
  UNIQUE KEY `name` (`name`),
  KEY `weir_queue_of_producers` (`name`,`partitions`,`backlog_max`,`going_us`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_schema` (
  `number` bigint(20) NOT NULL,
  `readable_by` bigint(20) NOT NULL,
  `name` varchar(255) NOT NULL,
  `applied_at` datetime(6) NOT NULL,
  PRIMARY KEY (`number`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
CREATE TABLE `weir_subscription` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `queue` int(11) NOT NULL,
  `name` varchar(1024) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `serving` int(11) NOT NULL,
  `created_us` bigint(20) NOT NULL,
  `paused` tinyint(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`),
  UNIQUE KEY `queue` (`queue`,`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE TABLE `weir_token` (
  `no` bigint(20) NOT NULL AUTO_INCREMENT,
  `id` varchar(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `name` varchar(64) CHARACTER SET ascii COLLATE ascii_nopad_bin NOT NULL,
  `secret` binary(32) NOT NULL,
  `scopes` bigint(20) NOT NULL,
  `of_databases` varchar(1024) NOT NULL,
  `of_queues` varchar(1024) NOT NULL,
  `of_lanes` varchar(1024) NOT NULL,
  `of_namespaces` varchar(1024) NOT NULL,
  `created_us` bigint(20) NOT NULL,
  `lifetime_us` bigint(20) NOT NULL,
  `expires_us` bigint(20) NOT NULL,
  `used_us` bigint(20) NOT NULL,
  `revoked_us` bigint(20) NOT NULL,
  PRIMARY KEY (`no`),
  UNIQUE KEY `id` (`id`),
  UNIQUE KEY `secret` (`secret`),
  KEY `weir_token_by_name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin ROW_FORMAT=DYNAMIC
CREATE FUNCTION `weir_enqueue`(queue LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    message_key LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    payload LONGBLOB,
    message_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    headers LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS char(32) CHARSET ascii COLLATE ascii_general_ci
    MODIFIES SQL DATA
BEGIN
    DECLARE payload_max, limit_of_backlog, number, this_era BIGINT;
    DECLARE queue_id, partition_count INT;
    DECLARE stored_headers LONGTEXT CHARACTER SET utf8mb4;
    DECLARE message_uid BINARY(16) DEFAULT UNHEX(MD5(CONCAT(UUID(), RAND())));
    DECLARE hash BIGINT DEFAULT CONV(LEFT(MD5(message_key), 8), 16, 10);
    DECLARE is_over BOOLEAN DEFAULT TRUE;
    DECLARE attempts INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1216, 1452 SET is_over = TRUE;
    IF queue IS NULL OR LENGTH(queue) NOT BETWEEN 1 AND 1024
        OR queue REGEXP '[^A-Za-z0-9._-]' OR queue REGEXP '^[._-]'
        OR RIGHT(queue, 1) IN ('.', '_', '-') THEN
        CALL weir_enqueue_refuse_text('queue name', queue, 1024, TRUE);
    END IF;
    IF message_type IS NULL OR LENGTH(message_type) NOT BETWEEN 1 AND 1024
        OR message_type REGEXP '[^ -~]' THEN
        CALL weir_enqueue_refuse_text('type', message_type, 1024, FALSE);
    END IF;
    IF payload IS NULL THEN
        CALL weir_enqueue_refuse('payload is NULL, must have a value');
    END IF;
    SELECT value INTO payload_max FROM weir_meta WHERE name = 'payload_max';
    IF LENGTH(payload) > payload_max THEN
        CALL weir_enqueue_refuse(CONCAT('payload has ', LENGTH(payload),
            ' bytes, must have at most ', payload_max));
    END IF;
    IF LENGTH(message_key) > 1024 THEN
        CALL weir_enqueue_refuse(CONCAT('key "', weir_enqueue_quote(message_key),
            '" is too long, must have at most 1024 bytes'));
    END IF;
    IF LOCATE(CHAR(0 USING utf8mb4), message_key) > 0 THEN
        CALL weir_enqueue_refuse(CONCAT('key "', weir_enqueue_quote(message_key),
            '" has a zero byte, must have none'));
    END IF;
    IF headers IS NOT NULL THEN
        SET stored_headers = weir_enqueue_headers(headers);
    END IF;
    CALL weir_enqueue_find(queue, queue_id, partition_count, limit_of_backlog);
    IF NOT @@foreign_key_checks THEN
        CALL weir_enqueue_refuse(CONCAT('foreign_key_checks is off on this',
            ' connection: a message might be lost; switch it on before',
            ' enqueueing'));
    END IF;
    IF limit_of_backlog > 0 THEN
        CALL weir_enqueue_check_room(queue, queue_id, limit_of_backlog);
    END IF;
    WHILE is_over DO
        SET attempts = attempts + 1;
        IF attempts > 5 THEN
            CALL weir_enqueue_refuse('append: eras end faster than we can append');
        END IF;
        SET is_over = FALSE;
        SET number = NEXT VALUE FOR weir_incoming_id;
        SELECT next_not_cached_value INTO this_era FROM weir_era_now;
         SET STATEMENT innodb_snapshot_isolation = 0 FOR 
        INSERT INTO weir_incoming (era, id, pid, created_us, uid, message_key,
            type, headers, payload) VALUES (this_era, number * 65536,
            queue_id * 64 + COALESCE(hash, ORD(message_uid)) MOD partition_count,
            CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED), message_uid, message_key, message_type, stored_headers,
            payload);
    END WHILE;
    RETURN LOWER(HEX(message_uid));
utf8mb4_general_ci
CREATE PROCEDURE `weir_enqueue_check_room`(
    queue LONGTEXT CHARACTER SET utf8mb4, queue_id INT, backlog_max BIGINT)
    READS SQL DATA
BEGIN
    DECLARE path VARCHAR(20) DEFAULT CONCAT('$.q', queue_id);
    DECLARE known VARCHAR(80) DEFAULT IF(JSON_VALID(@weir_backlog),
        JSON_VALUE(@weir_backlog, path), NULL);
    DECLARE now_us BIGINT DEFAULT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED);
    DECLARE read_us BIGINT DEFAULT SUBSTRING_INDEX(known, '/', 1);
    DECLARE stamp BIGINT DEFAULT
        SUBSTRING_INDEX(SUBSTRING_INDEX(known, '/', 2), '/', -1);
    DECLARE backlog BIGINT DEFAULT SUBSTRING_INDEX(known, '/', -1);
    DECLARE front, number_us, number_age, number BIGINT;
    DECLARE policy INT;
    IF @@log_bin AND @@sql_log_bin AND @@binlog_format <> 'ROW' THEN
        CALL weir_enqueue_refuse(CONCAT('queue "', LEFT(queue, 100),
            '" has a limit, which cannot be counted while binlog_format is ',
            @@binlog_format, ': set it to ROW'));
    END IF;
    IF known IS NULL OR now_us - read_us NOT BETWEEN 0 AND 1000000 THEN
        SET read_us = now_us;
        SELECT MAX(b.counted_us), MAX(GREATEST(b.counted_us, b.claimed_us)),
            MAX(b.waiting) INTO number_us, number_age, number
            FROM weir_backlog b WHERE b.queue = queue_id;
        SET number_age = now_us - number_age;
        IF number_age BETWEEN 0 AND 2999999 THEN
            IF known IS NULL OR stamp <> number_us THEN
                SET stamp = number_us;
                SET backlog = number;
            END IF;
        ELSE
            SET stamp = now_us;
            SET front = (SELECT MIN(a.last_id) FROM weir_subscription s
                JOIN weir_ack a ON a.subscription = s.id WHERE s.queue = queue_id);
            SET policy = (SELECT q.unread FROM weir_queue q WHERE q.id = queue_id);
            SELECT COALESCE(MAX(w.waiting), 0) INTO backlog FROM
                (SELECT SUM((SELECT COUNT(*) FROM (SELECT id, pid FROM weir_log
                        WHERE id > front ORDER BY id LIMIT 100000) l
                        WHERE l.pid = a.pid AND l.id > a.last_id)
                    + (SELECT COUNT(*) FROM weir_aside k WHERE k.pid = a.pid
                        AND k.cut >= 0 AND k.id > a.last_id)) AS waiting
                FROM weir_subscription s JOIN weir_ack a ON a.subscription = s.id
                WHERE s.queue = queue_id GROUP BY s.id) w;
            IF front IS NULL AND policy = 0 THEN
                SET backlog = (SELECT COUNT(*) FROM (SELECT pid FROM weir_log
                    ORDER BY id LIMIT 100000) l
                    WHERE l.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63)
                    + (SELECT COUNT(*) FROM weir_aside k
                    WHERE k.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63);
            END IF;
            IF front IS NOT NULL OR policy = 0 THEN
                SET backlog = backlog + (SELECT COUNT(*) FROM (SELECT i.pid
                    FROM weir_era e STRAIGHT_JOIN weir_incoming i
                    FORCE INDEX (PRIMARY) ON i.era = e.no LIMIT 100000) i
                    WHERE i.pid BETWEEN queue_id * 64 AND queue_id * 64 + 63);
            END IF;
        END IF;
    END IF;
    IF backlog >= backlog_max THEN
        CALL weir_enqueue_refuse(CONCAT('queue "', LEFT(queue, 100), '" has ',
            backlog, IF(backlog = 1, ' message', ' messages'),
            ' waiting, its limit is ', backlog_max));
    END IF;
    SET @weir_backlog = JSON_SET(IF(JSON_VALID(@weir_backlog), @weir_backlog,
        JSON_OBJECT()), path, CONCAT(read_us, '/', stamp, '/', backlog + 1));
utf8mb4_general_ci
CREATE PROCEDURE `weir_enqueue_find`(
    queue LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    OUT queue_id INT, OUT partition_count INT, OUT limit_of_backlog BIGINT)
    READS SQL DATA
BEGIN
    DECLARE held_id INT;
    DECLARE goes_us BIGINT;
     SET STATEMENT innodb_snapshot_isolation = 0 FOR 
    SELECT id INTO held_id FROM weir_queue FORCE INDEX (name)
        WHERE name = CONVERT(queue USING ascii) LOCK IN SHARE MODE;
    SELECT id, partitions, backlog_max, going_us
        INTO queue_id, partition_count, limit_of_backlog, goes_us
        FROM weir_queue FORCE INDEX (weir_queue_of_producers)
        WHERE name = CONVERT(queue USING ascii);
    IF queue_id IS NULL OR held_id IS NULL OR held_id <> queue_id THEN
        CALL weir_enqueue_refuse(CONCAT('there is no queue "', queue, '"'));
    END IF;
    IF partition_count NOT IN (1, 2, 4, 8, 16, 32, 64)
        OR queue_id NOT BETWEEN 1 AND 33554431 THEN
        CALL weir_enqueue_refuse_queue(queue, queue_id, partition_count);
    END IF;
    IF goes_us > CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) THEN
        CALL weir_enqueue_refuse(CONCAT('queue "', queue, '" is being removed'));
    END IF;
utf8mb4_general_ci
CREATE FUNCTION `weir_enqueue_headers`(headers LONGTEXT CHARACTER SET
    utf8mb4) RETURNS longtext CHARSET utf8mb4 COLLATE utf8mb4_general_ci
BEGIN
    DECLARE header_names, header_values, name, header_value, path LONGTEXT
        CHARACTER SET utf8mb4;
    DECLARE stored LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE size_left INT DEFAULT 16384;
    IF NOT JSON_VALID(headers) THEN
        CALL weir_enqueue_refuse('headers are no JSON object of texts: no JSON');
    END IF;
    IF JSON_TYPE(headers) <> 'OBJECT' THEN
        CALL weir_enqueue_refuse(
            'headers are no JSON object of texts: no object at byte 0');
    END IF;
    IF JSON_LENGTH(headers) > 64 THEN
        CALL weir_enqueue_refuse(CONCAT('header_count is ',
            JSON_LENGTH(headers), ', must be at most 64'));
    END IF;
    SET header_names = JSON_KEYS(headers);
    SET header_values = COALESCE(JSON_EXTRACT(headers, '$.*'), '[]');
    IF JSON_LENGTH(header_values) <> JSON_LENGTH(header_names) THEN
        FOR i IN 0 .. JSON_LENGTH(header_names) - 1 DO
            SET name = JSON_EXTRACT(header_names, CONCAT('$[', i, ']'));
            SET path = CONCAT('$.', name);
            IF JSON_CONTAINS_PATH(JSON_REMOVE(headers, path), 'one', path) THEN
                CALL weir_enqueue_refuse(CONCAT('header "',
                    weir_enqueue_quote(JSON_UNQUOTE(name)),
                    '" is there twice, must be once'));
            END IF;
        END FOR;
    END IF;
    FOR i IN 0 .. JSON_LENGTH(header_values) - 1 DO
        SET name = JSON_UNQUOTE(JSON_EXTRACT(header_names, CONCAT('$[', i, ']')));
        SET header_value = JSON_EXTRACT(header_values, CONCAT('$[', i, ']'));
        IF LENGTH(name) NOT BETWEEN 1 AND 256 OR name REGEXP '[^ -~]' THEN
            CALL weir_enqueue_refuse_text('header name', name, 256, FALSE);
        END IF;
        IF JSON_TYPE(header_value) = 'NULL' THEN
            CALL weir_enqueue_refuse(CONCAT('header "', weir_enqueue_quote(name),
                '" is NULL, must have a value'));
        END IF;
        SET size_left = size_left - LENGTH(name) - LENGTH(JSON_UNQUOTE(header_value));
        IF size_left < 0 THEN
            CALL weir_enqueue_refuse(CONCAT('headers up to "',
                weir_enqueue_quote(name), '" are too large, names and values',
                ' must have at most 16384 bytes together'));
        END IF;
        SET stored = CONCAT(stored, IF(i = 0, CHAR(123 USING utf8mb4), ','),
            JSON_QUOTE(name), ':',
            IF(JSON_TYPE(header_value) = 'STRING', header_value,
            JSON_QUOTE(header_value)));
    END FOR;
    RETURN IF(stored = '', NULL, CONCAT(stored, CHAR(125 USING utf8mb4)));
utf8mb4_general_ci
CREATE FUNCTION `weir_enqueue_quote`(value LONGBLOB) RETURNS varchar(63) CHARSET utf8mb4 COLLATE utf8mb4_general_ci
    NO SQL
    DETERMINISTIC
BEGIN
    DECLARE shown VARCHAR(63) CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE byte INT;
    FOR i IN 1 .. COALESCE(LEAST(LENGTH(value), 60), 0) DO
        SET byte = ORD(SUBSTR(value, i, 1));
        SET shown = CONCAT(shown, IF(byte BETWEEN 32 AND 126,
            CHAR(byte USING utf8mb4), '?'));
    END FOR;
    RETURN IF(LENGTH(value) > 60, CONCAT(shown, '...'), shown);
utf8mb4_general_ci
CREATE PROCEDURE `weir_enqueue_refuse`(message LONGTEXT
    CHARACTER SET utf8mb4)
    NO SQL
BEGIN
    SET message = LEFT(message, 500);
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = message;
utf8mb4_general_ci
CREATE PROCEDURE `weir_enqueue_refuse_queue`(
    queue LONGTEXT CHARACTER SET utf8mb4, queue_id INT, partition_count INT)
    NO SQL
BEGIN
    DECLARE why VARCHAR(100) CHARACTER SET utf8mb4 DEFAULT
        IF(queue_id BETWEEN 1 AND 33554431,
        CONCAT('partitions is ', partition_count,
        ', must be a power of two from 1 to 64'),
        CONCAT('id is ', queue_id, ', must be from 1 to 33554431'));
    CALL weir_enqueue_refuse(CONCAT('the row of queue "', queue, '": ', why));
utf8mb4_general_ci
CREATE PROCEDURE `weir_enqueue_refuse_text`(
    what VARCHAR(20) CHARACTER SET utf8mb4, value LONGBLOB, size_max INT,
    is_name BOOLEAN)
    NO SQL
BEGIN
    DECLARE shown VARCHAR(100) CHARACTER SET utf8mb4
        DEFAULT CONCAT(what, ' "', weir_enqueue_quote(value), '"');
    DECLARE byte INT;
    IF value IS NULL OR LENGTH(value) = 0 THEN
        CALL weir_enqueue_refuse(CONCAT(what, ' is ', IF(value IS NULL, 'NULL',
            'empty'), ', must have 1 to ', size_max, ' characters'));
    END IF;
    IF LENGTH(value) > size_max THEN
        CALL weir_enqueue_refuse(CONCAT(shown, ' is too long, must have at most ',
            size_max, ' characters'));
    END IF;
    FOR i IN 1 .. LENGTH(value) DO
        SET byte = ORD(SUBSTR(value, i, 1));
        IF byte NOT BETWEEN 32 AND 126 OR is_name AND CHAR(byte USING utf8mb4)
            COLLATE utf8mb4_bin REGEXP '[^A-Za-z0-9._-]' THEN
            CALL weir_enqueue_refuse(CONCAT(shown, ' has byte 0x',
                LOWER(LPAD(HEX(byte), 2, '0')), ' at ', i - 1, ', must be ',
                IF(is_name, 'ASCII letters, digits, ''.'', ''_'' and ''-''',
                'printable ASCII')));
        END IF;
    END FOR;
    CALL weir_enqueue_refuse(CONCAT(shown,
        ' must begin and end with a letter or digit'));
utf8mb4_general_ci
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
-- meta
payload_max
-- grants
GRANT ALL PRIVILEGES ON `app`.* TO `weir_owner` WITH GRANT OPTION
GRANT EXECUTE ON FUNCTION `app`.`weir_enqueue_headers` TO `weir_runtime`
GRANT EXECUTE ON FUNCTION `app`.`weir_enqueue_quote` TO `weir_runtime`
GRANT EXECUTE ON FUNCTION `app`.`weir_enqueue` TO `weir_producer`
GRANT EXECUTE ON FUNCTION `app`.`weir_enqueue` TO `weir_runtime`
GRANT EXECUTE ON PROCEDURE `app`.`weir_enqueue_check_room` TO `weir_runtime`
GRANT EXECUTE ON PROCEDURE `app`.`weir_enqueue_find` TO `weir_runtime`
GRANT EXECUTE ON PROCEDURE `app`.`weir_enqueue_refuse_queue` TO `weir_runtime`
GRANT EXECUTE ON PROCEDURE `app`.`weir_enqueue_refuse_text` TO `weir_runtime`
GRANT EXECUTE ON PROCEDURE `app`.`weir_enqueue_refuse` TO `weir_runtime`
GRANT INSERT ON `app`.`weir_incoming` TO `weir_producer`
GRANT SELECT (`attempts`, `completed_us`, `created_us`, `deadline_us`, `error`, `failed_us`, `id`, `log_id`, `message_key`, `pid`, `requeued_uid`, `seq`, `status`, `subscription`, `token`, `type`, `uid`) ON `app`.`weir_dead_letter` TO `weir_viewer`
GRANT SELECT (`created_us`, `cut`, `id`, `message_key`, `payload_size`, `pid`, `source_id`, `type`, `uid`) ON `app`.`weir_aside` TO `weir_viewer`
GRANT SELECT (`created_us`, `era`, `id`, `message_key`, `pid`, `type`, `uid`) ON `app`.`weir_incoming` TO `weir_viewer`
GRANT SELECT (`created_us`, `expires_us`, `id`, `lifetime_us`, `name`, `no`, `of_databases`, `of_lanes`, `of_namespaces`, `of_queues`, `revoked_us`, `scopes`, `used_us`) ON `app`.`weir_token` TO `weir_viewer`
GRANT SELECT (`created_us`, `id`, `message_key`, `payload_size`, `pid`, `source_id`, `type`, `uid`) ON `app`.`weir_log` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_ack` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_audit_policy` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_audit` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_backlog` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_counter` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_era_now` TO `weir_producer`
GRANT SELECT ON `app`.`weir_era_now` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_era` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_incoming_id` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_lease` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_member` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_meta` TO `weir_producer`
GRANT SELECT ON `app`.`weir_meta` TO `weir_runtime`
GRANT SELECT ON `app`.`weir_meta` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_queue` TO `weir_producer`
GRANT SELECT ON `app`.`weir_queue` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_schema` TO `weir_producer`
GRANT SELECT ON `app`.`weir_schema` TO `weir_runtime`
GRANT SELECT ON `app`.`weir_schema` TO `weir_viewer`
GRANT SELECT ON `app`.`weir_subscription` TO `weir_viewer`
GRANT SELECT, INSERT ON `app`.`weir_era_now` TO `weir_runtime`
GRANT SELECT, INSERT ON `app`.`weir_incoming_id` TO `weir_producer`
GRANT SELECT, INSERT ON `app`.`weir_incoming_id` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE ON `app`.`weir_backlog` TO `weir_producer`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_ack` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_aside` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_audit_policy` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_audit` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_backlog` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_counter` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_dead_letter` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_era` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_incoming` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_lease` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_log` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_member` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_queue` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_subscription` TO `weir_runtime`
GRANT SELECT, INSERT, UPDATE, DELETE ON `app`.`weir_token` TO `weir_runtime`
GRANT USAGE ON *.* TO `weir_owner`
GRANT USAGE ON *.* TO `weir_producer`
GRANT USAGE ON *.* TO `weir_runtime`
GRANT USAGE ON *.* TO `weir_viewer`
