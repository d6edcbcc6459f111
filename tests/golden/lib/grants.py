# Grants as MariaDB shows them, in an order of our own: the server lists them, and the columns in one,
# as they come.
#
#   grants.py DATABASE <GRANTS
import re
import sys


def main():
    database = re.escape(sys.argv[1]).replace("_", r"\\?_")
    lines = []
    for line in sys.stdin.read().splitlines():
        line = re.sub(database, "app", line)
        lines.append(re.sub(r"\(([^)]*)\)",
                            lambda found: "(" + ", ".join(sorted(found.group(1).split(", "))) + ")", line))
    print("\n".join(sorted(lines)))


main()
