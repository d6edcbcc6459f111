CREATE INDEX weir_aside_by_partition ON weir_aside (pid, cut, id);
CREATE INDEX weir_audit_by_time ON weir_audit (at_us);
CREATE INDEX weir_budget_reset ON weir_budget (next_reset_us) WHERE next_reset_us > 0;
CREATE INDEX weir_dead_letter_by_failure ON weir_dead_letter (status, failed_us, id);
CREATE INDEX weir_dead_letter_closed ON weir_dead_letter (completed_us) WHERE status IN ('resolved', 'discarded');
CREATE INDEX weir_dead_letter_open ON weir_dead_letter (deadline_us, id) WHERE status IN ('pending', 'reprocessing');
CREATE INDEX weir_edge_down ON weir_edge (downstream, upstream);
CREATE INDEX weir_edge_group_cancel ON weir_edge_group (cancel_us) WHERE cancel_us > 0;
CREATE INDEX weir_edge_open ON weir_edge (upstream, downstream) WHERE state = 0;
CREATE INDEX weir_execution_attempt ON weir_execution (attempt_deadline_us, no) WHERE state = 4 AND attempt_deadline_us > 0;
CREATE INDEX weir_execution_deadline ON weir_execution (deadline_us, no) WHERE state < 10 AND deadline_us > 0;
CREATE INDEX weir_execution_due ON weir_execution (due_us, no) WHERE state = 2;
CREATE INDEX weir_execution_ended ON weir_execution (ended_us, no) WHERE state >= 10 AND flow = 0;
CREATE INDEX weir_execution_flow ON weir_execution (flow, no) WHERE flow > 0;
CREATE INDEX weir_execution_lease ON weir_execution (lease_us, no) WHERE state = 4;
CREATE UNIQUE INDEX weir_execution_name ON weir_execution (flow, name) WHERE name <> '';
CREATE INDEX weir_execution_ready ON weir_execution (lane, capset, priority DESC, turn, no) WHERE state = 1;
CREATE INDEX weir_execution_wait ON weir_execution (due_us, no) WHERE state = 5 AND due_us > 0;
CREATE INDEX weir_flow_ended ON weir_flow (ended_us, no) WHERE ended_us > 0 AND state <> 4;
CREATE INDEX weir_flow_gone ON weir_flow (no) WHERE state = 4;
CREATE INDEX weir_flow_open ON weir_flow (no) WHERE state = 0;
CREATE INDEX weir_idempotency_until ON weir_idempotency (until_us);
CREATE INDEX weir_spent_waiting ON weir_spent (budget, no) WHERE dimension = '' AND amount > 0;
CREATE INDEX weir_suspension_open ON weir_suspension (no) WHERE ended_us = 0;
CREATE INDEX weir_tag_by_value ON weir_tag (key, value, no);
CREATE INDEX weir_token_by_name ON weir_token (name);
CREATE INDEX weir_waitpoint_until ON weir_waitpoint (until_us) WHERE until_us > 0;
CREATE TABLE weir_ack ( subscription INTEGER NOT NULL, pid INTEGER NOT NULL, version INTEGER NOT NULL, epoch INTEGER NOT NULL, incarnation TEXT NOT NULL, cut INTEGER NOT NULL, last_id INTEGER NOT NULL, seq INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, alone INTEGER NOT NULL DEFAULT 0, retry_us INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '', trying INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (subscription, pid)) WITHOUT ROWID;
CREATE TABLE weir_aside ( pid INTEGER NOT NULL, cut INTEGER NOT NULL DEFAULT 0, id INTEGER PRIMARY KEY, created_us INTEGER NOT NULL, uid BLOB NOT NULL, message_key TEXT, type TEXT NOT NULL, headers TEXT, payload BLOB NOT NULL);
CREATE TABLE weir_attempt ( no INTEGER NOT NULL, number INTEGER NOT NULL, type INTEGER NOT NULL, outcome INTEGER NOT NULL, epoch INTEGER NOT NULL, started_us INTEGER NOT NULL, ended_us INTEGER NOT NULL, worker TEXT NOT NULL, instance TEXT NOT NULL, failure TEXT NOT NULL, PRIMARY KEY (no, number)) WITHOUT ROWID;
CREATE TABLE weir_audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at_us INTEGER NOT NULL, nonce INTEGER NOT NULL, request TEXT, actor TEXT NOT NULL, origin INTEGER NOT NULL, address TEXT, action TEXT NOT NULL, target TEXT, changed INTEGER NOT NULL, old_value TEXT, new_value TEXT, reason TEXT, outcome TEXT NOT NULL);
CREATE TABLE weir_audit_policy (id INTEGER PRIMARY KEY, retain_us INTEGER NOT NULL);
CREATE TABLE weir_backlog (queue INTEGER PRIMARY KEY, counted_us INTEGER NOT NULL DEFAULT 0, claimed_us INTEGER NOT NULL DEFAULT 0, waiting INTEGER NOT NULL DEFAULT 0);
CREATE TABLE weir_budget ( no INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, part INTEGER NOT NULL, scope_type TEXT NOT NULL, scope TEXT NOT NULL, period_us INTEGER NOT NULL DEFAULT 0, next_reset_us INTEGER NOT NULL DEFAULT 0, era INTEGER NOT NULL DEFAULT 0, hard_breaches INTEGER NOT NULL DEFAULT 0, soft_breaches INTEGER NOT NULL DEFAULT 0, breached_us INTEGER NOT NULL DEFAULT 0, created_us INTEGER NOT NULL, breached TEXT NOT NULL DEFAULT '');
CREATE TABLE weir_dead_letter ( id INTEGER PRIMARY KEY AUTOINCREMENT, subscription INTEGER NOT NULL, pid INTEGER NOT NULL, seq INTEGER NOT NULL, log_id INTEGER NOT NULL, created_us INTEGER NOT NULL, uid BLOB NOT NULL, message_key TEXT, type TEXT NOT NULL, headers TEXT, payload BLOB NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL, failed_us INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'pending', token INTEGER NOT NULL DEFAULT 0, deadline_us INTEGER NOT NULL DEFAULT 0, completed_us INTEGER NOT NULL DEFAULT 0, requeued_uid BLOB, UNIQUE (subscription, pid, seq));
CREATE TABLE weir_edge ( upstream INTEGER NOT NULL, downstream INTEGER NOT NULL, flow INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0, passes_data INTEGER NOT NULL, opened_epoch INTEGER NOT NULL, PRIMARY KEY (upstream, downstream)) WITHOUT ROWID;
CREATE TABLE weir_edge_group ( downstream INTEGER PRIMARY KEY, flow INTEGER NOT NULL, policy INTEGER NOT NULL DEFAULT 0, state INTEGER NOT NULL DEFAULT 0, cancel_remaining INTEGER NOT NULL DEFAULT 0, quorum INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0, succeeded INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0, cancel_us INTEGER NOT NULL DEFAULT 0);
CREATE TABLE weir_execution ( no INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE, digest BLOB NOT NULL, part INTEGER NOT NULL, state INTEGER NOT NULL, hold INTEGER NOT NULL, pending INTEGER NOT NULL, attempt_type INTEGER NOT NULL DEFAULT 0, percent INTEGER NOT NULL DEFAULT -1, budgeted INTEGER NOT NULL DEFAULT 0, lane INTEGER NOT NULL, capset INTEGER NOT NULL, policy INTEGER NOT NULL, priority INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, retries INTEGER NOT NULL DEFAULT 0, reclaims INTEGER NOT NULL DEFAULT 0, replays INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0, settled_epoch INTEGER NOT NULL DEFAULT 0, flow INTEGER NOT NULL, created_us INTEGER NOT NULL, due_us INTEGER NOT NULL, lease_us INTEGER NOT NULL DEFAULT 0, attempt_deadline_us INTEGER NOT NULL DEFAULT 0, deadline_us INTEGER NOT NULL, claimed_us INTEGER NOT NULL DEFAULT 0, started_us INTEGER NOT NULL DEFAULT 0, ended_us INTEGER NOT NULL DEFAULT 0, namespace TEXT NOT NULL, kind TEXT NOT NULL, worker TEXT NOT NULL DEFAULT '', instance TEXT NOT NULL DEFAULT '', failure TEXT NOT NULL DEFAULT '', progress_text TEXT NOT NULL DEFAULT '', on_timeout INTEGER NOT NULL DEFAULT 0, settled_as INTEGER NOT NULL DEFAULT 0, turn INTEGER NOT NULL DEFAULT 0, name TEXT NOT NULL DEFAULT '', data_edges INTEGER NOT NULL DEFAULT 0);
CREATE TABLE weir_flow ( no INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE, part INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0, cancel_policy INTEGER NOT NULL DEFAULT 0, members INTEGER NOT NULL DEFAULT 0, edges INTEGER NOT NULL DEFAULT 0, unfinished INTEGER NOT NULL DEFAULT 0, unlucky INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL DEFAULT 0, created_us INTEGER NOT NULL, ended_us INTEGER NOT NULL DEFAULT 0, namespace TEXT NOT NULL, kind TEXT NOT NULL, cancel_reason TEXT NOT NULL DEFAULT '');
CREATE TABLE weir_idempotency ( scope TEXT NOT NULL, key TEXT NOT NULL, uuid BLOB NOT NULL, part INTEGER NOT NULL, digest BLOB NOT NULL, until_us INTEGER NOT NULL, PRIMARY KEY (scope, key)) WITHOUT ROWID;
CREATE TABLE weir_input (no INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE weir_lease ( subscription INTEGER NOT NULL, pid INTEGER NOT NULL, owner INTEGER, epoch INTEGER NOT NULL DEFAULT 0, incarnation TEXT NOT NULL DEFAULT '', until_us INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0, marks_from INTEGER NOT NULL DEFAULT 0, replay_to INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (subscription, pid)) WITHOUT ROWID;
CREATE TABLE weir_log ( id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, created_us INTEGER NOT NULL, uid BLOB NOT NULL, message_key TEXT, type TEXT NOT NULL, headers TEXT, payload BLOB NOT NULL);
CREATE TABLE weir_member ( process INTEGER NOT NULL, subscription INTEGER NOT NULL, name TEXT NOT NULL, until_us INTEGER NOT NULL, started_us INTEGER NOT NULL, delivered INTEGER NOT NULL DEFAULT 0, rate REAL NOT NULL DEFAULT 0, alive_by INTEGER NOT NULL DEFAULT 0, library TEXT NOT NULL DEFAULT '', clock_off_us INTEGER NOT NULL DEFAULT 0, beat_us INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (subscription, process)) WITHOUT ROWID;
CREATE TABLE weir_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE weir_passed ( downstream INTEGER NOT NULL, upstream INTEGER NOT NULL, uuid BLOB NOT NULL, part INTEGER NOT NULL, name TEXT NOT NULL, bytes BLOB, PRIMARY KEY (downstream, upstream));
CREATE TABLE weir_queue ( id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, partitions INTEGER NOT NULL, paused INTEGER NOT NULL DEFAULT 0, unread INTEGER NOT NULL DEFAULT 0, backlog_max INTEGER NOT NULL DEFAULT 0, attempts_max INTEGER NOT NULL DEFAULT 0, retention_us INTEGER NOT NULL DEFAULT 0, removed_cut INTEGER NOT NULL DEFAULT 0, removed_id INTEGER NOT NULL DEFAULT 0, created_us INTEGER NOT NULL, removals INTEGER NOT NULL DEFAULT 0, going_us INTEGER NOT NULL DEFAULT 0, retain_us INTEGER NOT NULL DEFAULT 0, whole_us INTEGER NOT NULL DEFAULT 0);
CREATE TABLE weir_result (no INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE weir_schema (number INTEGER PRIMARY KEY, readable_by INTEGER NOT NULL, name TEXT NOT NULL, applied_at INTEGER NOT NULL);
CREATE TABLE weir_secret ( key_id TEXT PRIMARY KEY, secret BLOB NOT NULL, active INTEGER NOT NULL, until_us INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE weir_signal ( no INTEGER NOT NULL, waitpoint BLOB NOT NULL, key TEXT NOT NULL, uuid BLOB NOT NULL, name TEXT NOT NULL, source_type TEXT NOT NULL, source TEXT NOT NULL, payload BLOB NOT NULL, came_us INTEGER NOT NULL, PRIMARY KEY (no, waitpoint, key));
CREATE TABLE weir_spent ( no INTEGER NOT NULL, budget INTEGER NOT NULL, dimension TEXT NOT NULL, amount INTEGER NOT NULL, era INTEGER NOT NULL, PRIMARY KEY (no, budget, dimension)) WITHOUT ROWID;
CREATE TABLE weir_subscription ( id INTEGER PRIMARY KEY AUTOINCREMENT, queue INTEGER NOT NULL, name TEXT NOT NULL, serving INTEGER NOT NULL, created_us INTEGER NOT NULL, paused INTEGER NOT NULL DEFAULT 0, UNIQUE (queue, name));
CREATE TABLE weir_suspension ( no INTEGER PRIMARY KEY, reason INTEGER NOT NULL, since_us INTEGER NOT NULL, ended_us INTEGER NOT NULL DEFAULT 0, timeout_us INTEGER NOT NULL, resume_delay_us INTEGER NOT NULL, condition TEXT NOT NULL);
CREATE TABLE weir_tag ( no INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (no, key)) WITHOUT ROWID;
CREATE TABLE weir_term ( id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL, digest BLOB NOT NULL, text TEXT NOT NULL, UNIQUE (kind, digest));
CREATE TABLE weir_token (no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, secret BLOB NOT NULL UNIQUE, scopes INTEGER NOT NULL, of_databases TEXT NOT NULL, of_queues TEXT NOT NULL, of_lanes TEXT NOT NULL, of_namespaces TEXT NOT NULL, created_us INTEGER NOT NULL, lifetime_us INTEGER NOT NULL, expires_us INTEGER NOT NULL, used_us INTEGER NOT NULL, revoked_us INTEGER NOT NULL);
CREATE TABLE weir_usage ( budget INTEGER NOT NULL, dimension TEXT NOT NULL, used INTEGER NOT NULL DEFAULT 0, hard INTEGER NOT NULL DEFAULT 0, soft INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (budget, dimension)) WITHOUT ROWID;
CREATE TABLE weir_waitpoint ( no INTEGER NOT NULL, uuid BLOB NOT NULL, state INTEGER NOT NULL, name TEXT NOT NULL, key_id TEXT NOT NULL, created_us INTEGER NOT NULL, until_us INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (no, uuid)) WITHOUT ROWID;
CREATE TABLE sqlite_sequence(name,seq);
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
payload_max
