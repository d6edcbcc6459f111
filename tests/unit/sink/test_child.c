/*
 * Tests of sink/util/child.c as other programs than sinks use it; the rest is in
 * test_exec.c and test_exec_stream.c.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "kit/test.h"
#include "sink/util/child.h"
#include "weir/heap.h"

enum { OUTPUT_MAX = 1 << 20, LOOK_MS = 50 };

static void open_child(struct weir_child *child, const char *command)
{
    const struct weir_child_options options = {
        .command = command, .environment = environ, .answers = true};

    check_int(weir_child_open(child, &options), 0);
}

/* Until `text` was said, or until the end if it is NULL. */
static void attend(struct weir_child *child, struct weir_buf *out, const char *text)
{
    struct weir_child_wait wait = {.end_input = true, .for_ms = LOOK_MS};

    while (!child->ended && (text == NULL || strstr(weir_buf_text(out), text) == NULL)) {
        weir_child_step(child, &wait);
        weir_child_drain(child, out);
    }
}

WEIR_TEST(child, gives_all_of_its_output)
{
    struct weir_child child;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), OUTPUT_MAX);
    open_child(&child, "head -c 300000 /dev/zero; echo end");
    attend(&child, &out, NULL);
    check_int((int64_t)out.size, 300000 + 4);
    check(memcmp(out.data + 300000, "end\n", 4) == 0);
    check_status(weir_buf_status(&out), WEIR_OK);
    weir_child_close(&child);
    weir_buf_fini(&out);
}

/* The shell waits for another process, which is the one that says that it is there:
 * both are asked. */
WEIR_TEST(child, ends_with_its_group_when_it_is_asked)
{
    struct weir_child child;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), OUTPUT_MAX);
    open_child(&child, "trap 'echo asked; exit 3' TERM;"
                       " sh -c 'echo ready; exec sleep 1000'; :");
    attend(&child, &out, "ready");
    weir_child_ask(&child);
    attend(&child, &out, NULL);
    check_str(weir_buf_text(&out), "ready\nasked\n");
    check(WIFEXITED(child.code));
    check_int(WEXITSTATUS(child.code), 3);
    weir_child_ask(&child); /* nobody is there any more */
    weir_child_close(&child);
    weir_buf_fini(&out);
}

/* The shell does not heed its own signal for long: it is gone before the one it waits
 * for is ready. */
WEIR_TEST(child, has_not_ended_while_its_group_tidies_up)
{
    struct weir_child child;
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), OUTPUT_MAX);
    open_child(&child, "sh -c 'trap \"sleep 0.1; echo tidy; exit 1\" TERM;"
                       " echo ready; while :; do sleep 0.02; done'; :");
    attend(&child, &out, "ready");
    weir_child_ask(&child);
    attend(&child, &out, NULL);
    check_str(weir_buf_text(&out), "ready\ntidy\n");
    check(WIFSIGNALED(child.code));
    weir_child_close(&child);
    weir_buf_fini(&out);
}

WEIR_TEST(child, ends_with_a_group_that_does_not_heed_it_when_it_is_killed)
{
    struct weir_child child;
    struct weir_child_wait wait = {.end_input = true, .for_ms = LOOK_MS};
    struct weir_buf out;

    weir_buf_init(&out, weir_heap_system(), OUTPUT_MAX);
    open_child(&child, "sh -c 'trap \"\" TERM; echo ready; exec sleep 1000'; :");
    attend(&child, &out, "ready");
    weir_child_ask(&child);
    while (!child.gone)
        weir_child_step(&child, &wait);
    check(!child.ended);
    weir_child_kill(&child);
    check(child.ended);
    weir_child_close(&child);
    weir_buf_fini(&out);
}
