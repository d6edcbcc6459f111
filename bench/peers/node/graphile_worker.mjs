// graphile-worker: woken by notifications; under load it takes jobs by the hundred (local
// queue) and completes them in groups. Jobs are added by its SQL functions, which is how they
// join a transaction of the caller.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { handled, measure, message } from './load.mjs';

const CONCURRENT_JOBS = 24;
const ONE = { name: 'one', text: "SELECT graphile_worker.add_job('bench', $1::json)" };
const MANY = {
  name: 'many',
  text: `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY (
    SELECT ROW ('bench', job, NULL, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
    FROM json_array_elements($1::json) job))`,
};
const logger = new Logger(() => (level, text) => {
  if (level === 'error') console.error(text);
});

async function start(options) {
  const pgPool = new pg.Pool({ connectionString: options.url, max: CONCURRENT_JOBS + 2 });
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  await utils.release();
  const grouped = { localQueue: { size: 200 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  const worker = {
    concurrentJobs: CONCURRENT_JOBS,
    maxPoolSize: CONCURRENT_JOBS + 2,
    ...(options.task === 'latency' ? {} : grouped),
  };
  await run({
    preset: { worker },
    pgPool,
    logger,
    noHandleSignals: true,
    taskList: { bench: handled },
  });
}

async function open(options) {
  const client = new pg.Client(options.url);
  await client.connect();
  return {
    async send(first, count) {
      const messages = Array.from({ length: count }, (_, i) => message(first + i));
      await client.query('BEGIN');
      if (count === 1) await client.query({ ...ONE, values: [JSON.stringify(messages[0])] });
      else await client.query({ ...MANY, values: [JSON.stringify(messages)] });
      await client.query('COMMIT');
    },
  };
}

await measure({ start, open });
