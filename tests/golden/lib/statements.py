# Prints every `struct weir_sql` constant of a program, by its debug information. For gdb:
#
#   gdb -nx -batch -x tests/golden/lib/statements.py PROGRAM
#
# The program is linked without PIE, so that pointers in its constants are final in the file; it is
# read, not run. A variable counts when its type is struct weir_sql, or an array or a struct that has
# one, or a pointer to one, anywhere inside: what the source calls it plays no part. Pointers are
# followed, so that a nameless constant behind one is found too.
#
# One JSON object per line: symbol (of the variable), file, engine (the last index of an array of
# WEIR_ENGINE_COUNT, else null), form ("one" or "many" of a pair, else null or missing), name, text,
# parameters. An element without text is left out.
import json
import re
import subprocess

import gdb

STRUCTURES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
WANTED = "weir_sql"
PAIR = "weir_sql_pair"
ENGINES = 3
STATEMENT = gdb.lookup_type("struct " + WANTED)
verdicts = {}  # tag of a struct: does it hold a statement, or a pointer to one?


def bare(kind):
    return kind.strip_typedefs().unqualified()


def is_statement(kind):
    return kind.code == gdb.TYPE_CODE_STRUCT and kind.tag == WANTED


def holds(kind):
    kind = bare(kind)
    if kind.code in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_PTR):
        inner = bare(kind.target())
        if kind.code == gdb.TYPE_CODE_PTR:
            return is_statement(inner)
        return holds(inner)
    if kind.code not in STRUCTURES:
        return False
    if is_statement(kind):
        return True
    if kind.tag is None:
        return any(holds(field.type) for field in kind.fields())
    if kind.tag not in verdicts:
        verdicts[kind.tag] = False
        verdicts[kind.tag] = any(holds(field.type) for field in kind.fields())
    return verdicts[kind.tag]


def text_of(pointer):
    return None if int(pointer) == 0 else pointer.string("utf-8")


def walk(value, where, engine):
    kind = bare(value.type)
    if is_statement(kind):
        text = text_of(value["text"])
        if text is not None:
            print(json.dumps(dict(where, engine=engine, name=text_of(value["name"]), text=text,
                                  parameters=text_of(value["parameters"]) or "")))
    elif kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        for i in range(low, high + 1):
            walk(value[i], where, i if high - low + 1 == ENGINES else engine)
    elif kind.code == gdb.TYPE_CODE_PTR:
        if int(value) != 0:
            walk(value.dereference(), where, engine)
    else:
        for field in kind.fields():
            if holds(field.type):
                form = field.name if kind.tag == PAIR else where.get("form")
                walk(value[field.name], dict(where, form=form), engine)


# The variables of file scope, of every compilation unit that has one. gdb names the variables of a
# program only in text: "12:     static const struct weir_sql SQL_X[3];".
def variables():
    names = set()
    for line in gdb.execute("info variables -q -n", to_string=True).splitlines():
        found = re.match(r"\d+:.*?(\w+)(\[\d*\])*;$", line)
        if found:
            names.add(found.group(1))
    for name in sorted(names):
        for symbol in gdb.lookup_static_symbols(name) + [gdb.lookup_global_symbol(name)]:
            if symbol is not None and symbol.addr_class == gdb.SYMBOL_LOC_STATIC:
                yield symbol


# A static constant of a function, as (symbol, address): "SQL_X.0" in the table of symbols. Where the
# function was inlined there is no debug information about it, so its shape has to tell.
def nameless():
    for line in subprocess.check_output(["nm", "-S", gdb.current_progspace().filename],
                                        text=True).splitlines():
        found = re.match(r"(\w+) (\w+) [rd] (\w+)\.\d+$", line)
        if found and int(found.group(2), 16) == STATEMENT.sizeof:
            yield found.group(3), int(found.group(1), 16)


def looks_like_statement(value):
    try:
        letters = text_of(value["parameters"]) or ""
        return (text_of(value["name"]) and text_of(value["text"])
                and re.fullmatch("[irtbfmIRTBFM]*", letters))
    except (gdb.error, UnicodeDecodeError):
        return False


def main():
    seen = set()
    for symbol in variables():
        if not holds(symbol.type):
            continue
        value = symbol.value()
        if int(value.address) not in seen:
            seen.add(int(value.address))
            walk(value, {"symbol": symbol.name, "file": symbol.symtab.filename}, None)
    for name, address in nameless():
        value = gdb.Value(address).cast(STATEMENT.pointer()).dereference()
        if address not in seen and looks_like_statement(value):
            walk(value, {"symbol": name, "file": ""}, None)


main()
