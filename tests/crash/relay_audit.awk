# relay_audit.awk - is a file that relays have written what was promised?
#
#   awk -v partitions=8 -f relay_audit.awk sent marks lines
#
#   sent    producer count                    each has enqueued its numbers 1 to count, in order
#   marks   line kind partition seq           where a relay had ended, in order: the file had so many
#                                             lines, and so far was the partition acknowledged. Kind
#                                             is "kill" or "stop". Each mark has all partitions.
#   lines   partition seq id epoch producer number       the file, line by line
#
# The last mark is that of the end, when nothing was left. What must hold:
#
#   R1  Between two marks each partition goes on with the message behind the last acknowledged
#       one, and then one by one. So what comes again after a kill is exactly what had not been
#       acknowledged, in order, and nothing comes again anywhere else. But for a takeover, when one
#       of several was killed, or a lease lost since the machine stood still: that shows by a
#       later epoch, and is counted.
#   R2  What is acknowledged is in the file. What a relay has written before it was stopped in good
#       order is acknowledged.
#   R3  What comes again has the same id, producer and number, and a later epoch.
#   R4  In each partition the numbers of a producer ascend.
#   R5  In the end each number of each producer is there.
#
# Prints what is wrong, and ends with 1; or a line of figures.

function complain(text) {
    if (++wrong <= 10) print "line " line ": " text
}

# A relay has ended at this line: the next one begins where it was acknowledged.
function pass_marks(  p) {
    while (mark <= marks && mark_line[mark] == line) {
        kills += mark_kind[mark] == "kill"
        stops += mark_kind[mark] == "stop"
        for (p = 0; p < partitions; p++) {
            if (high[p] < acked[mark, p])
                complain("partition " p " is acknowledged up to " acked[mark, p] \
                    ", but the file ends at " high[p] + 0)
            if (mark_kind[mark] == "stop" && at[p] + 0 != acked[mark, p])
                complain("partition " p " was stopped at " at[p] + 0 \
                    ", but is acknowledged up to " acked[mark, p])
            at[p] = acked[mark, p]
        }
        mark++
    }
}

FILENAME == ARGV[1] { sent[$1] = $2; next }

FILENAME == ARGV[2] {
    if ($3 == 0) {
        marks++
        mark_line[marks] = $1
        mark_kind[marks] = $2
    }
    acked[marks, $3] = $4
    next
}

FNR == 1 { mark = 1 }

{
    pass_marks()
    line = FNR
    if (NF != 6) complain("has " NF " fields")
    if ($2 <= at[$1] && $4 > now[$1])
        takeovers++
    else if ($2 != at[$1] + 1)
        complain("partition " $1 " has seq " $2 " after " at[$1] + 0)
    at[$1] = $2
    now[$1] = $4
    if ($2 <= high[$1]) {
        again++
        if (what[$1, $2] != $3 " " $5 " " $6)
            complain("partition " $1 " seq " $2 " was another message before")
        if ($4 <= epoch[$1, $2])
            complain("partition " $1 " seq " $2 " comes again in epoch " $4)
    } else {
        high[$1] = $2
        what[$1, $2] = $3 " " $5 " " $6
        if ($6 <= last[$1, $5])
            complain("producer " $5 " has number " $6 " after " last[$1, $5])
        last[$1, $5] = $6
        got[$5]++
    }
    epoch[$1, $2] = $4
}

END {
    pass_marks()
    if (mark <= marks) complain("the file has shrunk below " mark_line[mark] " lines")
    for (producer in sent) {
        total += sent[producer]
        if (got[producer] != sent[producer])
            complain("producer " producer " has sent " sent[producer] ", there are " \
                got[producer] + 0)
    }
    for (producer in got)
        if (!(producer in sent)) complain("who is producer " producer "?")
    if (wrong > 0) {
        print wrong " wrong"
        exit 1
    }
    print total " messages, " kills " kills, " stops " stops, " again + 0 " came again, " \
        takeovers + 0 " takeovers without a mark"
}
