# From what statements.py has printed to the texts of SQL, and what of them the source has and it has
# not. JSON lines on standard input.
#
#   texts.py records ENGINE        those for one engine, as expand.c reads them
#   texts.py literals OBJECT...    texts of SQL in object files that are no statement's
#   texts.py missing FILE...       constants that these sources define and that were not printed
import json
import re
import struct
import sys

ENGINES = ("sqlite", "postgresql", "mariadb")
WORDS = {"sqlite": "sqlite", "pg": "postgresql", "postgres": "postgresql", "postgresql": "postgresql",
         "maria": "mariadb", "mariadb": "mariadb"}

# The first word of a statement, or a table of ours anywhere.
SQL = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|GRANT|REVOKE|WITH|BEGIN|COMMIT|ROLLBACK|START"
    r"|SAVEPOINT|RELEASE|LOCK|UNLOCK|TRUNCATE|PRAGMA|SET|SHOW|CALL|LISTEN|UNLISTEN|NOTIFY|ANALYZE"
    r"|VACUUM|EXPLAIN|COMMENT|REPLACE|KILL|ATTACH|DETACH|EXECUTE|COPY|DECLARE|FETCH|DO|REINDEX)"
    r"(?![\w.])(?! [a-z])|.*\{p\}", re.DOTALL)

# Bugs that tests ask for by a fault point: a release build leaves them out.
FAULTS = {"SQL_DELETE_UP_TO", "SQL_MOVE_WRONGLY", "SQL_PICK_UNLOCKED_ROWS"}


# The engine that takes the form "many" of a pair (traits.h).
TAKES_ARRAYS = "postgresql"


# By the name of its file or its symbol, else by its form, else by its place in an array of engines,
# else all.
def engines_of(statement):
    place = inside_src(statement["file"]) + " " + statement["symbol"]
    for word in re.split(r"[^a-z]+", place.lower()):
        if word in WORDS:
            return [WORDS[word]]
    if statement.get("form") is not None:
        return [one for one in ENGINES if (one == TAKES_ARRAYS) == (statement["form"] == "many")]
    if statement["engine"] is not None:
        return [ENGINES[statement["engine"]]]
    return list(ENGINES)


def print_records(statements, engine):
    for one in statements:
        if engine in engines_of(one):
            sys.stdout.write("\0".join((one["name"], one["parameters"], one["text"])) + "\0")


# The bytes of all read-only data of a 64-bit little-endian object file.
def constants_of(path):
    with open(path, "rb") as file:
        data = file.read()
    offset, size, count, names = (struct.unpack_from("<Q", data, 0x28)[0],
                                  *struct.unpack_from("<HHH", data, 0x3A))
    sections = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    for name, _, _, _, start, length in sections:
        at = sections[names][4] + name
        if data[at:data.index(b"\0", at)].startswith(b".rodata"):
            yield data[start:start + length]


def print_literals(statements, objects):
    known = {one["text"] for one in statements}
    found = set()
    for path in objects:
        for block in constants_of(path):
            for piece in block.split(b"\0"):
                text = piece.decode("utf-8", "replace")
                if text.isprintable() or "\n" in text:
                    if SQL.match(text) and text not in known:
                        found.add(text)
    for text in sorted(found):
        print(text + ("\n" if "\n" in text else ""))


def inside_src(path):
    return re.sub(r"^.*\bsrc/", "", path)


# A constant of a function that was inlined is known by its name alone.
def print_missing(statements, files):
    printed = {(inside_src(one["file"]), one["symbol"]) for one in statements}
    for path in files:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        for name in re.findall(r"^(?:[ \t]*static )?const struct weir_sql\s+(\w+)[^;=]*=", text,
                               re.MULTILINE):
            if not printed & {(inside_src(path), name), ("", name)} and name not in FAULTS:
                print(path + ": " + name)


def main():
    statements = [json.loads(line) for line in sys.stdin]
    what, words = sys.argv[1], sys.argv[2:]
    if what == "records":
        print_records(statements, words[0])
    elif what == "literals":
        print_literals(statements, words)
    elif what == "missing":
        print_missing(statements, words)


main()
