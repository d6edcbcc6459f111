#!/usr/bin/env python3
"""Measure weir and its peers in one run; `script/bench peers --help` has the options.

Each system is a part that is installed from its package registry into build/peers, and a
program with the interface that README.md describes. Systems of a row run one after the
other, rounds outermost, each in a database of its own on one server. A figure is the median of
the rounds; a ratio is the median of the ratios to the bare insert of the same row and round.
"""
import argparse
import datetime
import functools
import glob
import hashlib
import json
import os
import platform
import pwd
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "peers"
PAGE = ROOT / "docs" / "performance.md"
RUN_TIMEOUT_S = 400
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": 200,
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
}


class Unavailable(Exception):
    """A part that cannot be measured here."""


# ---- parts: what is installed, and how ---------------------------------------------------------


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            raise Unavailable(f"no {tool} here")


def execute(name, command, **options):
    """Run a step of an installation, with a log that is shown when the step fails."""
    log = BUILD / f"{name}.log"
    with open(log, "ab") as out:
        status = subprocess.run(["nice", "-n", "19", *map(str, command)], stdout=out,
                                stderr=subprocess.STDOUT, **options).returncode
    if status != 0:
        raise Unavailable(f"`{' '.join(map(str, command))}` failed, see build/peers/{log.name}")


def copied(name):
    """A copy of the part's folder, which may hold what tools leave there; is it a new one?"""
    source, target, digest = HERE / name, BUILD / name, hashlib.sha256()
    files = sorted(path for path in source.rglob("*") if path.is_file())
    for path in files:
        digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes())
        to = target / path.relative_to(source)
        if not to.exists() or to.read_bytes() != path.read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
    stamp = target / ".installed"
    return target, stamp, not stamp.exists() or stamp.read_text() != digest.hexdigest(), digest.hexdigest()


@functools.cache
def compile_c(name, *libraries):
    binary = BUILD / "bin" / name
    binary.parent.mkdir(parents=True, exist_ok=True)
    need("cc", "pg_config")
    include = subprocess.run(["pg_config", "--includedir"], capture_output=True, text=True)
    execute("c", ["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-I", ROOT / "include", "-I",
                  include.stdout.strip(), HERE / f"{name}.c", HERE / "load.c", "-o", binary,
                  *libraries, "-lpthread"])
    return [binary]


def install_tables_pg():
    return compile_c("tables_pg", "-lpq")


def install_tables_sqlite():
    return compile_c("tables_sqlite", "-lsqlite3")


def install_weir(name):
    library = ROOT / "build" / "release" / "libweir.a"
    return compile_c(name, library, "-lsqlite3", "-lpq", "-lmariadb", "-lm", "-ldl")


def install_pgq():
    packages = [f"postgresql-{server_major()}-pgq3", "pgqd"]

    def missing():
        return [name for name in packages if debian_version(name) is None]

    if missing():
        need("apt-get")
        root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        print("installing:", *missing(), file=sys.stderr)
        execute("pgq", [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y",
                        "--no-install-recommends", "--no-upgrade", *missing()])
    return install_tables_pg()


def install_pgmq():
    need("cargo")
    target, *_ = copied("pgmq")
    lib = target / "lib.rs"
    lib.touch()
    listed = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=target,
                            capture_output=True, text=True)
    if listed.returncode != 0:
        raise Unavailable("cargo could not fetch the crate pgmq")
    crate, = (package for package in json.loads(listed.stdout)["packages"]
              if package["name"] == "pgmq")
    sql = Path(crate["manifest_path"]).parent / "src/install/embedded/sql/pgmq.sql"
    shutil.copy(sql, BUILD / "pgmq.sql")
    return install_tables_pg()


def install_rust(name):
    need("cargo")
    target, stamp, is_new, digest = copied("rust")
    if is_new:
        print("building the parts in Rust, which takes long the first time", file=sys.stderr)
        execute("rust", ["cargo", "build", "--release"], cwd=target,
                env=dict(os.environ, CARGO_TARGET_DIR=str(target / "target")))
        stamp.write_text(digest)
    return [target / "target" / "release" / name]


def install_river():
    need("go")
    target, stamp, is_new, digest = copied("river")
    if is_new:
        execute("river", ["go", "mod", "tidy"], cwd=target)
        execute("river", ["go", "build", "-o", "river", "."], cwd=target)
        stamp.write_text(digest)
    return [target / "river"]


def install_node(name):
    need("npm")
    target, stamp, is_new, digest = copied("node")
    if is_new:
        execute("node", ["npm", "install", "--no-audit", "--no-fund"], cwd=target)
        stamp.write_text(digest)
    node, = glob.glob(str(target / "node_modules/node-linux-*/bin/node")) or [None]
    if node is None:
        raise Unavailable("npm has no package of Node 22 for this machine")
    return [node, target / f"{name}.mjs"]


def install_dbos():
    target, stamp, is_new, digest = copied("dbos")
    python = target / "venv/bin/python"
    if is_new:
        execute("dbos", [sys.executable, "-m", "venv", target / "venv"])
        execute("dbos", [python, "-m", "pip", "install", "-q", "-r", target / "requirements.txt"])
        stamp.write_text(digest)
    return [python, target / "dbos_queue.py"]


def debian_version(name):
    """The version of an installed package, or None."""
    if shutil.which("dpkg-query") is None:
        return None
    found = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}", name],
                           capture_output=True, text=True).stdout.split()
    return found[1] if found and found[0] == "ii" else None


def pinned(path, name):
    """The version that a manifest asks for."""
    text = (HERE / path).read_text()
    return re.search(rf'(?m)^[\s"]*{re.escape(name)}\W+(?:version\W+)?v?(\d[\w.]*)', text)[1]


def weir_version():
    text = (ROOT / "include/weir/version.h").read_text()
    return ".".join(re.findall(r"define WEIR_VERSION_[A-Z]+ (\d+)", text))


# ---- systems: a part, its program and what is passed to it -------------------------------------


class System:
    def __init__(self, title, install, version=None, argument=None, setup=None):
        self.title, self.install, self.version = title, install, version
        self.argument, self.setup = argument, setup
        self.command = None


def setup_table(server, database):
    server.sql("CREATE TABLE queue (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
               "payload text NOT NULL)", database)


def setup_pgmq(server, database):
    server.sql((BUILD / "pgmq.sql").read_text(), database)
    server.sql("SELECT pgmq.create('bench')", database)


def setup_pgq(server, database):
    server.sql("""CREATE EXTENSION pgq;
        SELECT pgq.create_queue('bench');
        SELECT pgq.register_consumer('bench', 'consumer');
        SELECT pgq.set_queue_config('bench', 'ticker_max_lag', '10 milliseconds');
        SELECT pgq.set_queue_config('bench', 'ticker_idle_period', '1 second')""", database)
    return server.start_ticker(database)


SYSTEMS = {
    "bare": System("bare insert", install_tables_pg, argument="bare", setup=setup_table),
    "weir": System("weir, in the caller's transaction", lambda: install_weir("weir_outbox"),
                   weir_version, "caller"),
    "weir-own": System("weir, in a transaction of its own", lambda: install_weir("weir_outbox"),
                       weir_version, "own"),
    "weir-sql": System("weir, SQL function", lambda: install_weir("weir_outbox"), weir_version,
                       "sql"),
    "table": System("skip-locked table", install_tables_pg, argument="table", setup=setup_table),
    "pgq": System("PgQ", install_pgq,
                  lambda: debian_version(f"postgresql-{server_major()}-pgq3"), "pgq", setup_pgq),
    "pgmq": System("pgmq", install_pgmq, lambda: pinned("pgmq/Cargo.toml", "pgmq"), "pgmq",
                   setup_pgmq),
    "river": System("River", install_river,
                    lambda: pinned("river/go.mod", "github.com/riverqueue/river")),
    "graphile-worker": System("graphile-worker", lambda: install_node("graphile_worker"),
                              lambda: pinned("node/package.json", "graphile-worker")),
    "pg-boss": System("pg-boss", lambda: install_node("pg_boss"),
                      lambda: pinned("node/package.json", "pg-boss")),
    "cf-modkit-db": System("cf-modkit-db", lambda: install_rust("cf_modkit_db"),
                           lambda: pinned("rust/Cargo.toml", "cf-modkit-db")),
    "dbos": System("DBOS", install_dbos, lambda: pinned("dbos/requirements.txt", "dbos")),
    "bare-sqlite": System("bare insert", install_tables_sqlite, argument="bare"),
    "table-sqlite": System("queue table", install_tables_sqlite, argument="table"),
    "weir-sqlite": System("weir, in the caller's transaction",
                          lambda: install_weir("weir_outbox"), weir_version, "caller"),
    "weir-own-sqlite": System("weir, in a transaction of its own",
                              lambda: install_weir("weir_outbox"), weir_version, "own"),
    "cf-modkit-db-sqlite": System("cf-modkit-db", lambda: install_rust("cf_modkit_db"),
                                  lambda: pinned("rust/Cargo.toml", "cf-modkit-db")),
    "weir-executions": System("weir", lambda: install_weir("weir_executions"), weir_version),
    "dbos-executions": System("DBOS", install_dbos,
                              lambda: pinned("dbos/requirements.txt", "dbos")),
    "flowfabric": System("FlowFabric", lambda: install_rust("flowfabric"),
                         lambda: pinned("rust/Cargo.toml", "ff-backend-postgres")),
}
OUTBOXES = ["bare", "weir", "weir-own", "weir-sql", "table", "pgq", "pgmq", "river",
            "graphile-worker", "pg-boss", "cf-modkit-db", "dbos"]
SQLITE = ["bare-sqlite", "weir-sqlite", "weir-own-sqlite", "table-sqlite", "cf-modkit-db-sqlite"]
EXECUTIONS = ["weir-executions", "dbos-executions", "flowfabric"]


class Row:
    """One column of a table: a load, and the systems that carry it."""

    def __init__(self, name, systems, task="stream", conns=1, batch=1, rate=0):
        self.name, self.systems, self.task = name, systems, task
        self.arguments = dict(task=task, conns=conns, batch=batch, rate=rate)


ROWS = ([Row(f"latency-{rate}", OUTBOXES, "latency", rate=rate) for rate in (50, 200, 1000)] +
        [Row("single-1", OUTBOXES), Row("single-8", OUTBOXES, conns=8),
         Row("batch-100", OUTBOXES, batch=100), Row("sqlite-1", SQLITE),
         Row("executions-1", EXECUTIONS, "complete"),
         Row("executions-8", EXECUTIONS, "complete", conns=8)])
TABLES = [
    ("Commit to handler on PostgreSQL, p50 / p99 in ms (bare insert: the transaction itself)",
     {"latency-50": "50 a second", "latency-200": "200 a second", "latency-1000": "1,000 a second"}),
    ("Through PostgreSQL, messages a second (and of the bare insert)",
     {"single-1": "1 a transaction, 1 connection", "single-8": "1 a transaction, 8 connections",
      "batch-100": "100 a transaction, 1 connection"}),
    ("Through SQLite (FULL), messages a second (and of the bare insert)",
     {"sqlite-1": "1 a transaction"}),
    ("Executions on PostgreSQL, completed a second",
     {"executions-1": "submitted by 1 connection",
      "executions-8": "by 8 connections"}),
]


# ---- the server --------------------------------------------------------------------------------


def server_folder():
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    if found:
        return Path(max(found, key=lambda path: int(path.split("/")[4]))).parent
    need("initdb", "postgres", "psql")
    return Path(shutil.which("initdb")).resolve().parent


def server_major():
    shown = subprocess.run([server_folder() / "postgres", "--version"], capture_output=True,
                           text=True).stdout
    return re.search(r"\d+", shown)[0]


class Server:
    """PostgreSQL with flushed commits in a temporary folder on disk, ended by its process id."""

    def __enter__(self):
        # Not as root, who may not run it.
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="weir-peers-",
                                            dir=os.environ.get("TMPDIR") or "/var/tmp"))
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = None
        try:
            self.run(server_folder() / "initdb", "-D", self.folder / "data", "-U", "postgres",
                     "-A", "trust", "-E", "UTF8", "--no-locale").check_returncode()
            arguments = [part for name, value in SETTINGS.items()
                         for part in ("-c", f"{name}={value}")]
            self.process = self.spawn(server_folder() / "postgres", "-D", self.folder / "data",
                                      "-p", str(self.port), "-k", self.folder, *arguments)
            self.await_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def options(self):
        log = open(self.folder / "log", "ab")
        as_user = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return dict(cwd=self.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                    **(as_user if self.user else {}))

    def run(self, *command):
        return subprocess.run(command, **self.options())

    def spawn(self, *command):
        return subprocess.Popen(command, **self.options())

    def await_ready(self):
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit((self.folder / "log").read_text())
            if subprocess.run([server_folder() / "pg_isready", "-q", "-h", "127.0.0.1", "-p",
                               str(self.port), "-U", "postgres"]).returncode == 0:
                return
            time.sleep(0.1)
        sys.exit("PostgreSQL did not start")

    def url(self, database):
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def sql(self, text, database="postgres"):
        done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database)],
                              input=text, capture_output=True, text=True,
                              env=dict(os.environ, PGOPTIONS="-c client_min_messages=error"))
        if done.returncode != 0:
            raise Unavailable(done.stderr.strip())

    def start_ticker(self, database):
        """PgQ's ticker, as fast as it goes."""
        settings = self.folder / "pgqd.ini"
        settings.write_text(f"""[pgqd]
logfile = {self.folder}/pgqd.log
pidfile = {self.folder}/pgqd.pid
base_connstr = host=127.0.0.1 port={self.port} user=postgres
initial_database = {database}
database_list = {database}
syslog = 0
ticker_period = 0.01
""")
        (self.folder / "pgqd.pid").unlink(missing_ok=True)
        return self.spawn("pgqd", "-q", settings)


# ---- measuring ---------------------------------------------------------------------------------


def measure(server, row, name, seconds):
    """What the program printed, as a dictionary; or one with `error`."""
    system, ticker, folder = SYSTEMS[name], None, None
    result = {"row": row.name, "system": name}
    try:
        if row.systems is SQLITE:
            folder = tempfile.mkdtemp(prefix="weir-peers-",
                                      dir=os.environ.get("TMPDIR") or "/var/tmp")
            url = {"weir_outbox": "sqlite:{}/q.db", "tables_sqlite": "{}/q.db"}.get(
                system.command[0].name, "sqlite://{}/q.db?mode=rwc&synchronous=FULL").format(folder)
        else:
            url = server.url("bench")
            server.sql("DROP DATABASE IF EXISTS bench WITH (FORCE)")
            server.sql("CREATE DATABASE bench TEMPLATE template0")
            ticker = system.setup(server, "bench") if system.setup else None
            server.sql("CHECKPOINT")
        arguments = dict(row.arguments, url=url, seconds=seconds)
        if system.argument:
            arguments["system"] = system.argument
        done = subprocess.run([*map(str, system.command),
                               *(f"{key}={value}" for key, value in arguments.items())],
                              capture_output=True, text=True, timeout=RUN_TIMEOUT_S)
        if done.returncode != 0:
            raise Unavailable((done.stderr or done.stdout).strip()[-300:])
        result.update(json.loads(done.stdout.strip().splitlines()[-1]))
    except (Unavailable, subprocess.TimeoutExpired, json.JSONDecodeError, IndexError) as error:
        result["error"] = str(error)
    finally:
        if ticker:
            ticker.terminate()
            ticker.wait()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    return result


def measure_all(chosen, rounds, seconds, emit):
    results = []
    with Server() as server:
        for number in range(rounds):
            for row in ROWS:
                for name in (name for name in row.systems if name in chosen):
                    result = dict(measure(server, row, name, seconds), round=number)
                    results.append(result)
                    emit(result)
    return results


# ---- the tables --------------------------------------------------------------------------------


class Cell:
    """What one system did in one row: the medians of its runs, and how they are shown."""

    def __init__(self, row, runs, bare):
        whole = [run for run in runs if "error" not in run]
        self.ahead_by, self.text = None, "failed"  # larger is better
        if not whole:
            return

        def median(key):
            return statistics.median(run[key] for run in whole)

        if "p50" in whole[0]:
            self.ahead_by = -median("p50")
            self.text = f"{median('p50'):.2f} / {median('p99'):.2f}"
            if median("rate") < 0.95 * int(row.split("-")[1]):
                self.text += f" (at {median('rate'):.0f} a second)"
        else:
            self.ahead_by = median("rate")
            self.text = f"{median('rate'):,.0f}"
            ratios = [run["rate"] / bare[run["round"]] for run in whole if run["round"] in bare]
            if ratios:
                self.text += f" ({statistics.median(ratios):.2f})"
        if len(whole) < len(runs):
            self.text += f" ({len(runs) - len(whole)} of {len(runs)} failed)"


def cells(results):
    """{(row, system): Cell}"""
    runs, bare = {}, {}
    for run in results:
        runs.setdefault((run["row"], run["system"]), []).append(run)
        if run["system"].startswith("bare") and "error" not in run:
            bare.setdefault(run["row"], {})[run["round"]] = run["rate"]
    return {(row, system): Cell(row, found, {} if system.startswith("bare") else
                                bare.get(row, {}))
            for (row, system), found in runs.items()}


def ahead(found, row):
    """Titles of the systems that deliver and are ahead of the best form of weir."""
    known = {name: cell.ahead_by for (where, name), cell in found.items()
             if where == row and cell.ahead_by is not None and not name.startswith("bare")}
    best = max((value for name, value in known.items() if name.startswith("weir")), default=None)
    return [SYSTEMS[name].title for name in sorted(known, key=known.get, reverse=True)
            if best is not None and known[name] > best]


def tables(results):
    """Lines of Markdown."""
    found, lines = cells(results), []
    for title, columns in TABLES:
        columns = {row: text for row, text in columns.items()
                   if any(row == where for where, _ in found)}
        if not columns:
            continue
        lines += ["", f"**{title}**", "", f"| | {' | '.join(columns.values())} |",
                  "| --- |" + " --- |" * len(columns)]
        for name, system in SYSTEMS.items():
            texts = [found[row, name].text if (row, name) in found else "" for row in columns]
            if any(texts):
                lines.append(f"| {system.title} | {' | '.join(texts)} |")
        lines.append("")
        for row, text in columns.items():
            lines.append(f"- Ahead of weir, {text}: {', '.join(ahead(found, row)) or 'none'}.")
    return lines[1:]


def machine():
    with open("/proc/cpuinfo") as cpus:
        names = re.findall(r"model name\s*: (.*)", cpus.read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    postgres = subprocess.run([server_folder() / "postgres", "--version"], capture_output=True,
                              text=True).stdout.split()[2]
    return (f"{os.cpu_count()} cores ({names[0] if names else platform.machine()}), "
            f"{memory:.0f} GiB, Linux {platform.release().split('-')[0]}; PostgreSQL {postgres}; "
            f"load average before the run {os.getloadavg()[0]:.1f}")


def versions(chosen):
    shown = {}
    for name in chosen:
        if SYSTEMS[name].version:
            shown[SYSTEMS[name].title.split(",")[0]] = SYSTEMS[name].version()
    return ", ".join(f"{title} {version}" for title, version in shown.items())


def write_page(lines):
    text = PAGE.read_text()
    begin, end = "<!-- peers: begin -->", "<!-- peers: end -->"
    head, rest = text.split(begin)
    PAGE.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.split(end)[1]}")


def install(wanted):
    """The systems that can be measured; the others are named."""
    BUILD.mkdir(parents=True, exist_ok=True)
    chosen, left_out = [], {}
    for name in wanted:
        try:
            SYSTEMS[name].command = SYSTEMS[name].install()
            chosen.append(name)
        except Unavailable as reason:
            left_out[name] = str(reason)
            print(f"left out: {name}: {reason}", file=sys.stderr)
    return chosen, left_out


def main():
    parser = argparse.ArgumentParser(prog="script/bench peers", description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true",
                        help="one round of one second: whether everything works")
    parser.add_argument("--only", metavar="NAME,...", default="",
                        help="these systems or rows: " + ", ".join(
                            [*SYSTEMS, *(row.name for row in ROWS)]))
    parser.add_argument("--rounds", type=int, help="default 3")
    parser.add_argument("--seconds", type=int, help="of sending, in each run; default 4")
    parser.add_argument("--json", action="store_true", help="print each run as a line of JSON")
    parser.add_argument("--write", action="store_true",
                        help="write the tables into docs/performance.md")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name]
    unknown = set(names) - set(SYSTEMS) - {row.name for row in ROWS}
    if unknown:
        parser.error("no such system or row: " + ", ".join(sorted(unknown)))
    systems = [name for name in SYSTEMS if name in names] or list(SYSTEMS)
    rows = [row for row in ROWS if row.name in names] or ROWS
    ROWS[:] = rows
    systems = [name for name in systems if any(name in row.systems for row in rows)]
    rounds = options.rounds or (1 if options.quick else 3)
    seconds = options.seconds or (1 if options.quick else 4)

    chosen, left_out = install(systems)
    head = machine()

    def emit(result):
        if options.json:
            print(json.dumps(result), flush=True)
        else:
            figures = " ".join(f"{key}={value}" for key, value in result.items()
                               if key not in ("row", "system"))
            print(f"{result['row']:14} {result['system']:22} {figures}", file=sys.stderr)

    results = measure_all(chosen, rounds, seconds, emit)
    command = " ".join(["script/bench peers", *sys.argv[1:]])
    lines = [f"`{command}`, {datetime.date.today()}; rounds of {seconds} s: {rounds}. {head}.", "",
             f"Versions: {versions(chosen)}.", "", *tables(results)]
    if left_out:
        lines += ["", "Left out: " + "; ".join(f"{name} ({why})" for name, why in
                                               left_out.items()) + "."]
    if not options.json:
        print("\n".join(lines))
    if options.write:
        write_page(lines)
    sys.exit(1 if any("error" in result for result in results) else 0)


if __name__ == "__main__":
    main()
