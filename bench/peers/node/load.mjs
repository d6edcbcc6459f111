// What the measured programs on Node share: arguments, messages, times, result. The interface
// is described in ../README.md, and is the same as that of load.h. Messages are handled by
// the main thread; producers are another thread, with an event loop of its own.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';

const PAYLOAD_SIZE = 200;
const MESSAGES_MAX = 1 << 22;
const WARM_UP = 400;
const WAIT_LIMIT_MS = 120_000;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

// Of both threads: when each message was handled first, 0 if not yet; the last of these
// times; how many there are.
const shared = isMainThread
  ? {
      handledMs: new Float64Array(new SharedArrayBuffer(8 * MESSAGES_MAX)),
      lastMs: new Float64Array(new SharedArrayBuffer(8)),
      count: new Int32Array(new SharedArrayBuffer(4)),
    }
  : workerData.shared;

export function message(id) {
  const empty = JSON.stringify({ id, pad: '' }).length;
  return { id, pad: 'x'.repeat(PAYLOAD_SIZE - empty) };
}

// The first line of a handler.
export function handled({ id }) {
  if (shared.handledMs[id] !== 0) return;
  shared.lastMs[0] = shared.handledMs[id] = nowMs();
  Atomics.add(shared.count, 0, 1);
}

function readOptions() {
  const options = { url: '', task: 'stream', conns: 1, batch: 1, rate: 0, seconds: 1 };
  for (const argument of process.argv.slice(2)) {
    const [, name, value] = argument.match(/^(\w+)=(.*)$/s);
    options[name] = typeof options[name] === 'number' ? Number(value) : value;
  }
  return options;
}

// start(options) begins to handle; open(options) gives a producer's session, which has
// send(first, count): one transaction, committed when its promise is fulfilled.
export async function measure({ start, open }) {
  const options = readOptions();
  if (!isMainThread) {
    await produce(options, open);
    return;
  }
  await start(options);
  const producer = new Worker(process.argv[1], {
    argv: process.argv.slice(2),
    workerData: { shared },
  });
  await new Promise((resolve, reject) => {
    producer.on('error', reject);
    producer.on('message', (line) => process.stdout.write(line, resolve));
  });
  process.exit(0);
}

async function produce(options, open) {
  const sessions = [];
  for (let i = 0; i < options.conns; i++) sessions.push(await open(options));
  let next = 0;
  const send = async (session, count) => {
    const first = next;
    next += count;
    await session.send(first, count);
  };
  const awaitAll = async () => {
    const end = nowMs() + WAIT_LIMIT_MS;
    while (Atomics.load(shared.count, 0) < next) {
      if (nowMs() > end) throw new Error('not all messages were delivered');
      await sleep(1);
    }
  };
  for (let i = 0; i < WARM_UP; i += options.batch) await send(sessions[0], options.batch);
  await awaitAll();
  await sleep(300);
  const first = next;
  const startMs = nowMs();
  let result;
  if (options.task === 'latency') {
    const committed = [];
    for (let i = 0; i < options.rate * options.seconds; i++) {
      const pause = startMs + (i * 1000) / options.rate - nowMs();
      if (pause > 0) await sleep(pause);
      await send(sessions[0], 1);
      committed.push(nowMs());
    }
    const rate = (committed.length * 1000) / (nowMs() - startMs);
    await awaitAll();
    const times = committed.map((at, i) => Math.max(0, shared.handledMs[first + i] - at));
    times.sort((a, b) => a - b);
    const quantile = (q) => times[Math.floor(times.length * q)];
    result = { n: times.length, rate, p50: quantile(0.5), p99: quantile(0.99) };
  } else {
    const endMs = startMs + options.seconds * 1000;
    const work = async (session) => {
      while (nowMs() < endMs) await send(session, options.batch);
    };
    await Promise.all(sessions.map(work));
    await awaitAll();
    const n = next - first;
    result = { n, rate: (n * 1000) / (shared.lastMs[0] - startMs) };
  }
  parentPort.postMessage(`${JSON.stringify(result)}\n`);
}
