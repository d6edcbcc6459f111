// pg-boss: a queue that notifies, four workers that take up to 100 jobs at a time and look again
// at once after a full batch. Jobs are sent within a transaction of the caller, by option `db`.
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { handled, measure, message } from './load.mjs';

const QUEUE = 'bench';
const WORKERS = 4;

async function begin(options, more) {
  const boss = new PgBoss({ connectionString: options.url, schedule: false, ...more });
  boss.on('error', console.error);
  await boss.start();
  return boss;
}

async function start(options) {
  const boss = await begin(options, { max: WORKERS + 3, useListenNotify: true });
  await boss.createQueue(QUEUE, { notify: true });
  await boss.work(
    QUEUE,
    {
      batchSize: 100,
      localConcurrency: WORKERS,
      pollingIntervalSeconds: 0.5,
      burstWhenBatchFull: true,
    },
    async (jobs) => jobs.forEach((job) => handled(job.data)),
  );
}

let sender;

async function open(options) {
  sender ??= await begin(options, { max: 2, supervise: false });
  const client = new pg.Client(options.url);
  await client.connect();
  const db = { executeSql: (text, values) => client.query(text, values) };
  return {
    async send(first, count) {
      await client.query('BEGIN');
      if (count === 1) await sender.send(QUEUE, message(first), { db });
      else {
        const jobs = Array.from({ length: count }, (_, i) => ({ data: message(first + i) }));
        await sender.insert(QUEUE, jobs, { db });
      }
      await client.query('COMMIT');
    },
  };
}

await measure({ start, open });
