# Replaces in a transcript what changes from run to run. What it finds:
#
#   <url>          the URL of a database server
#   <id 1>         the id of an execution; numbered, so that it shows which are the same
#   <uid 1>        32 hexadecimal digits of a message, <uuid 1> a uuid, <token 1> the secret behind k1:
#   <client token 1>, <token id 1>   of weir token
#   <user>         the user of the system, in audit rows
#   <number 1>     16 hexadecimal or 13 to 20 decimal digits: a fingerprint, the token of a claim, the
#                  mark of a page
#   <time>         a time of day, with date
#   <duration>     a number and one of ns, us, ms, s, min; hours only with minutes behind them. Not in an
#                  error that says what a value must be
#   <rate>         a number and /s, the columns in/s and out/s
#   <n>            numbers of JSON whose key says that they are measured, and bytes of files
#   <process>      host and process id
#   <version>      of weir, of a library or of a server
#   <prefix>       of this run
#
# A line of standard error that a delivery is tried again is left out: whether it comes before the end is
# a matter of time.
#
# In a paragraph in which something was replaced, spaces at the begin of a line vanish and other runs of
# them become two: columns are as wide as what was in them.
#
#   normalise.py PREFIX "weir VERSION" <RAW >TRANSCRIPT
import getpass
import re
import socket
import sys

# Durations of JSON that are settings.
SET = ("dead_letter_retention_seconds", "retain_seconds", "period_seconds")

MEASURED = re.compile(r'"(\w*seconds|\w+_per_second|per_second|file_bytes|free_bytes|cycles)":'
                      r"(-?[0-9.]+)")

numbers = {}


def numbered(kind):
    def replace(found):
        known = numbers.setdefault(kind, {})
        return "<%s %d>" % (kind, known.setdefault(found.group(), len(known) + 1))
    return replace


def measured(found):
    return found.group() if found.group(1) in SET else '"%s":<n>' % found.group(1)


# The cells of columns that measure something; numbers stand below the end of their title.
def mask_columns(lines):
    ends = []
    result = []
    for line in lines:
        titles = list(re.finditer(r"(?<=  )(in/s|out/s|oldest|age|behind)(?=  |$)", line))
        if titles:
            ends = [title.end() for title in titles]
        elif not line.strip():
            ends = []
        else:
            for end in sorted(ends, reverse=True):
                cell = re.search(r"\S+( (ns|us|ms|s|min|h|d))?$", line[:end])
                if cell and len(line) >= end and line[end:end + 1] in ("", " "):
                    line = line[:cell.start()] + "<n>" + line[end:]
        result.append(line)
    return result


def rules(prefix, version):
    process = r"(?<![\w.-])" + re.escape(socket.gethostname()) + r":\d+(-\d+)?"
    user = re.escape(getpass.getuser())
    return [
        (re.compile(r"\b(postgresql|mariadb)://[^\s\"',;]*[^\s\"',;:]"), "<url>"),
        (re.compile(r"\bs\\*_\d+\\*_\w+\b"), "<database>"),
        (re.compile(re.escape(prefix)), "<prefix>"),
        (re.compile(r"\bweir_[A-Za-z0-9_-]{49}(?![\w-])"), numbered("client token")),
        (re.compile(r"(?m)(?<=\"id\":\")[0-9a-f]{8}(?=\")|(?<=\bid )[0-9a-f]{8}(?=,)|^[0-9a-f]{8}(?=  |$)"),
         numbered("token id")),
        (re.compile(r"(?<=\"who\":\")" + user + r"(?=\")|(?<=  )" + user + r"(?=  cli\b)"), "<user>"),
        (re.compile(r"(?<![\w-])\d{1,5}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), numbered("id")),
        (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), numbered("uuid")),
        (re.compile(r"\b[0-9a-f]{64}\b"), numbered("token")),
        (re.compile(r"\b[0-9a-f]{32}\b"), numbered("uid")),
        (re.compile(r"\b(?!9223372036854775807)(?:[0-9a-f]{16}|\d{13,20})\b"), numbered("number")),
        (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
        (re.compile(process), "<process>"),
        (re.compile(r"\b" + re.escape(version.split()[-1]) + r"\b"), "<version>"),
        (re.compile(r"\b(library|libpq|server) \d+(\.\d+)+[-+~:\w.]*"), r"\1 <version>"),
        (MEASURED, measured),
        (re.compile(r"(?<![\w.])\d+(\.\d+)?/s\b"), "<rate>"),
        (re.compile(r"(?<![\w.])-?\d+(\.\d+)? h \d+ min\b"), "<duration>"),
        (re.compile(r"(?<![\w.])-?\d+(\.\d+)? (ns|us|ms|s|min)( \d+ (ms|s))?\b"), "<duration>"),
        (re.compile(r"(?<![\w.])\d+(\.\d+)? MiB\b"), "<n> MiB"),
        (re.compile(r"\babout \d+ delivered messages?"), "about <n> delivered messages"),
        (re.compile(r"\b\d+ transactions? not purged"), "<n> transactions not purged"),
        (re.compile(r"oldest (-|<duration>), oldest snapshot \d+ transactions? back"),
         "oldest <duration>, oldest snapshot <n> transactions back"),
    ]


def squeeze(line):
    return re.sub(r" {2,}", "  ", line.lstrip(" "))


def replace(line, table):
    for pattern, text in table:
        if text != "<duration>" or " must be " not in line:
            line = pattern.sub(text, line)
    return line


# The lines of one command, or of a heading; an empty line ends a paragraph.
def normalise(block, table):
    result, paragraph = [replace(block[0], table)], []
    for line in block[1:] + [""]:
        paragraph.append(line)
        if line == "":
            after = [replace(one, table) for one in mask_columns(paragraph)]
            result += after if after == paragraph else [squeeze(one) for one in after]
            paragraph = []
    return result[:-1]


def main():
    table = rules(sys.argv[1], sys.argv[2])
    block = []
    for line in sys.stdin.read().split("\n")[:-1]:
        if re.match(r"2> .*; trying again$", line):
            continue
        if re.match(r"\$ |# ", line) and block:
            print("\n".join(normalise(block, table)))
            block = []
        block.append(line)
    if block:
        print("\n".join(normalise(block, table)))


main()
