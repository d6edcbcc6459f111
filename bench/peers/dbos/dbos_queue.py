"""DBOS: a workflow per message, through a queue that is looked at every 10 ms.

Workflows are enqueued by DBOSClient.enqueue_in_transaction(), in a transaction of the caller.
The interface is described in ../README.md, and is the same as that of load.h. A message counts
when its workflow begins. In the task `complete` it counts when the workflow has run its step.
"""
import json
import os
import sys
import threading
import time

import sqlalchemy
from dbos import DBOS, DBOSClient

PAYLOAD_SIZE = 200
WARM_UP = 100
WAIT_LIMIT_S = 180
POLL_S = 0.01

options = {"task": "stream", "conns": "1", "batch": "1", "rate": "0", "seconds": "1"}
options.update(argument.split("=", 1) for argument in sys.argv[1:])
url = options["url"].replace("postgresql://", "postgresql+psycopg://")
conns, batch, rate, seconds = (int(options[name]) for name in ("conns", "batch", "rate", "seconds"))

handled = {}  # when each message was handled first
sent = 0
lock = threading.Lock()

DBOS(config={"name": "bench", "system_database_url": options["url"], "run_admin_server": False,
             "log_level": "ERROR", "sys_db_pool_size": 20})


def mark(number):
    handled.setdefault(number, time.perf_counter())


@DBOS.step()
def step(number):
    return number


@DBOS.workflow()
def workflow(number, pad):
    if options["task"] != "complete":
        mark(number)
    result = step(number)
    if options["task"] == "complete":
        mark(number)
    return result


def await_all():
    end = time.monotonic() + WAIT_LIMIT_S
    while len(handled) < sent:
        if time.monotonic() > end:
            sys.exit("not all messages were delivered")
        time.sleep(0.002)


DBOS.launch()
DBOS.register_queue("bench", polling_interval_sec=POLL_S)
client = DBOSClient(system_database_url=options["url"])
engine = sqlalchemy.create_engine(url, pool_size=conns)
target = {"queue_name": "bench", "workflow_name": workflow.__qualname__}


def send(connection, count):
    global sent
    with lock:
        first = sent
        sent += count
    with connection.begin():
        for number in range(first, first + count):
            pad = "x" * (PAYLOAD_SIZE - len(json.dumps([number, ""])))
            client.enqueue_in_transaction(connection, target, number, pad)


def latencies(connection):
    first, start, committed = sent, time.perf_counter(), []
    for i in range(rate * seconds):
        time.sleep(max(0.0, start + i / rate - time.perf_counter()))
        send(connection, 1)
        committed.append(time.perf_counter())
    achieved = len(committed) / (time.perf_counter() - start)
    await_all()
    times = sorted(max(0.0, handled[first + i] - at) * 1e3 for i, at in enumerate(committed))
    return {"n": len(times), "rate": achieved, "p50": times[len(times) // 2],
            "p99": times[len(times) * 99 // 100]}


def stream(connections):
    first, start = sent, time.perf_counter()

    def produce(connection):
        while time.perf_counter() < start + seconds:
            send(connection, batch)

    threads = [threading.Thread(target=produce, args=(c,)) for c in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    await_all()
    return {"n": sent - first, "rate": (sent - first) / (max(handled.values()) - start)}


connections = [engine.connect() for _ in range(conns)]
for _ in range(max(1, WARM_UP // batch)):
    send(connections[0], batch)
await_all()
time.sleep(0.3)
result = latencies(connections[0]) if options["task"] == "latency" else stream(connections)
print(json.dumps(result), flush=True)
os._exit(0)  # its threads would go on
