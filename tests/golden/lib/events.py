# Prints every event that the sources given log, one line each: its name, its level (or levels, where
# the call chooses; "-" for a variable) and its facts as the source has them.
#
#   events.py FILE...
#
# An event is the third argument of weir_log_event(), a text or a choice of two. Where it is a
# variable, the events are all texts of that file that look like one and belong to no other call.
import re
import sys

TEXT = r'"(?:[^"\\]|\\.)*"'
EVENT = re.compile(r"[a-z_]+\.[a-z_]+")


# The arguments of the call whose opening bracket is in front of `start`.
def arguments_of(source, start):
    found, depth, piece, at = [], 1, "", start
    while depth > 0:
        text = re.compile(TEXT + r"|'(?:[^'\\]|\\.)'").match(source, at)
        token = text.group() if text else source[at]
        at += len(token)
        depth += (token in "([{") - (token in ")]}")
        if depth == 0 or (depth == 1 and token == ","):
            found.append(" ".join(piece.split()))
            piece = ""
        else:
            piece += token
    return found


# "a" PRId64 "b" as it is, but for breaks of the line between texts.
def joined(facts):
    return re.sub(r'" "', "", facts)


def names_in(expression):
    return [text for text in (one[1:-1] for one in re.findall(TEXT, expression))
            if EVENT.fullmatch(text)]


def events_of(path):
    with open(path, encoding="utf-8") as file:
        source = re.sub(r"/\*.*?\*/|\bWEIR_POINT\([^)]*\)", "", file.read(), flags=re.DOTALL)
    direct, open_calls = [], []
    for call in re.finditer(r"(?<!void )\bweir_log_event\(", source):
        words = arguments_of(source, call.end())
        names = names_in(words[2])
        levels = "|".join(re.findall(r"WEIR_LOG_(\w+)", words[1])).lower() or "-"
        facts = levels + " " + joined(words[3])
        if not names:
            open_calls.append(facts)
        direct += [(name, facts) for name in names]
    for facts in open_calls:
        taken = {name for name, _ in direct}
        direct += [(name, facts) for name in names_in(source) if name not in taken]
    return direct


def main():
    found = set()
    for path in sys.argv[1:]:
        found.update(events_of(path))
    for name, facts in sorted(found):
        print(name, facts)


main()
