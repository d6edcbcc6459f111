/*
 * Tests of sink/exec_stream.c: processes that live on.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "desk.h"

/* A stream that says `answer` to every line. */
#define EACH(answer) "exec-stream:while read -r line; do " answer "; done"

WEIR_TEST(exec_stream, acks_by_ok)
{
    struct desk desk;

    desk_open(&desk, EACH("echo ok"));
    for (int i = 0; i < 3; i++) {
        desk_fill(&desk, 100);
        check_answer(&desk, WEIR_DONE, 100, "");
    }
    check_int(count_children(), desk.children + 1);
    desk_close(&desk);
}

WEIR_TEST(exec_stream, understands_retry_and_reject)
{
    struct desk desk;

    desk_open(&desk, EACH("case $line in *'message 2'*) echo reject  bad thing;;"
                          " *'message 4'*) echo retry not now;; *) echo ok;; esac"));
    desk_fill(&desk, 5);
    check_answer(&desk, WEIR_RETRY, 3, "not now");
    check_int(desk.batch.rejection_count, 1);
    check_int(desk.batch.rejections[0].index, 1);
    check_str(desk.batch.rejections[0].reason, "bad thing");
    check_int(count_children(), desk.children + 1); /* it may stay */
    desk_close(&desk);

    desk_open(&desk, EACH("echo retry"));
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_RETRY, 0, "handler asked for a retry");
    desk_close(&desk);
}

/* The second message must not be seen before the first one is answered for. */
WEIR_TEST(exec_stream, sends_one_message_at_a_time)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;

    make_path(path, "ahead");
    desk_open(
        &desk,
        "exec-stream:while read -r line; do echo >> %s;"
        " if read -t 0.1 -r next; then echo reject ahead; else echo retry; fi; done",
        path);
    desk_fill(&desk, 5);
    check_answer(&desk, WEIR_RETRY, 0, "");
    check_int(desk.batch.rejection_count, 0);
    check_int(count_lines_in(path), 1);
    desk_close(&desk);
}

WEIR_TEST(exec_stream, replaces_one_that_says_something_else)
{
    struct desk desk;

    desk_open(&desk, EACH("echo okay; echo no >&2"));
    desk_fill(&desk, 2);
    check_answer(&desk, WEIR_RETRY, 0, "answered \"okay\", must be ok, retry or reject");
    check_int(count_children(), desk.children);
    desk_close(&desk);

    desk_open(&desk, EACH("head -c 5000 /dev/zero"));
    desk_fill(&desk, 2);
    check_answer(&desk, WEIR_RETRY, 0, "must be ok, retry or reject");
    desk_close(&desk);
}

WEIR_TEST(exec_stream, replaces_one_that_says_too_much)
{
    struct desk desk;

    desk_open(&desk, EACH("printf 'ok\\nok\\n'"));
    desk_fill(&desk, 5);
    check_answer(&desk, WEIR_RETRY, 1, "said something unasked for");
    check_int(count_children(), desk.children);
    desk_close(&desk);
}

WEIR_TEST(exec_stream, retries_what_a_crash_left_unanswered)
{
    struct desk desk;

    desk_open(&desk, EACH("case $line in *'message 3'*) echo oops >&2; kill -9 $$;; esac;"
                          " echo ok"));
    desk_fill(&desk, 5);
    check_answer(&desk, WEIR_RETRY, 2,
                 "ended without an answer, killed by signal 9 (Killed): oops");
    check_int(count_children(), desk.children);
    desk_close(&desk);
}

/* It ends after each batch, so to say; nobody has to notice. */
WEIR_TEST(exec_stream, starts_a_new_one_when_an_idle_one_has_ended)
{
    struct desk desk;

    desk_open(&desk, "exec-stream:read -r line; echo ok");
    for (int i = 0; i < 5; i++) {
        desk_fill(&desk, 1);
        check_answer(&desk, WEIR_DONE, 1, "");
        for (int n = 0; n < 20; n++)
            desk_nap();
    }
    desk_close(&desk);
}

WEIR_TEST(exec_stream, kills_what_hangs_at_the_deadline)
{
    struct desk desk;

    desk_open(&desk, EACH("echo stuck >&2; sleep 1000"));
    desk_fill_for(&desk, 2, WEIR_MILLISECONDS(300));
    check_answer(&desk, WEIR_RETRY, 0, "killed, since its time was over: stuck");
    check_int(count_children(), desk.children);
    desk_close(&desk);
}

WEIR_TEST(exec_stream, cannot_be_started_without_a_command)
{
    struct desk desk;

    desk_open(&desk, "exec-stream:no-such-command-here");
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_RETRY, 0, "exit code 127");
    desk_close(&desk);
}

WEIR_TEST(exec_stream, gets_a_large_message_as_a_whole)
{
    enum { SIZE = 3 * 1000 * 1000 };
    char *payload = malloc(SIZE);
    struct desk desk;

    check(payload != NULL);
    memset(payload, 'x', SIZE);
    desk_open(&desk,
              "exec-stream:awk 'length($0) > %d { print \"ok\"; fflush(); next }"
              " { print \"reject\"; fflush() }'",
              SIZE);
    desk_fill(&desk, 2);
    desk.messages[0].payload = payload;
    desk.messages[0].payload_size = SIZE;
    check_answer(&desk, WEIR_DONE, 2, "");
    check_int(desk.batch.rejection_count, 1);
    check_int(desk.batch.rejections[0].index, 1);
    desk_close(&desk);
    free(payload);
}

/* What it does at the end of its input is done before close() returns. */
WEIR_TEST(exec_stream, ends_by_the_end_of_its_input)
{
    char path[DESK_PATH_SIZE];
    struct desk desk;
    char *text;

    make_path(path, "end");
    desk_open(
        &desk,
        "exec-stream:while read -r line; do echo ok; done; sleep 0.2; echo bye > %s",
        path);
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_DONE, 1, "");
    desk_close(&desk);
    text = slurp(path);
    check_str(text, "bye\n");
    free(text);
}

WEIR_TEST(exec_stream, is_killed_when_it_does_not_end)
{
    struct desk desk;

    desk_init(&desk);
    desk.options.stop_grace_ns = WEIR_MILLISECONDS(100);
    check_status(desk_try(&desk, EACH("echo ok") "; sleep 1000"), WEIR_OK);
    desk_fill(&desk, 1);
    check_answer(&desk, WEIR_DONE, 1, "");
    desk_close(&desk);
}

/* ---- many ------------------------------------------------------------------------------ */

struct crew {
    pthread_t thread;
    struct weir_sink *sink;
    _Atomic size_t *done;
};

enum { THREADS = 4, BATCHES = 250, BATCH = 10 };

static void *work(void *argument)
{
    struct crew *self = argument;
    struct weir_message messages[BATCH];
    struct weir_reason reason;

    for (int i = 0; i < BATCHES; i++) {
        struct weir_batch batch;

        for (int n = 0; n < BATCH; n++)
            messages[n] = (struct weir_message){
                .queue = "q", .type = "t", .seq = n, .batch = &batch};
        weir_batch_init(&batch, weir_heap_system(), NULL, messages, BATCH, 0);
        reason.text[0] = '\0';
        if (weir_sink_deliver(self->sink, &batch, &reason) == WEIR_DONE)
            atomic_fetch_add(self->done, batch.processed);
        weir_batch_fini(&batch);
    }
    return NULL;
}

WEIR_TEST(exec_stream, has_as_many_processes_as_deliveries)
{
    struct crew crew[THREADS];
    _Atomic size_t done = 0;
    struct desk desk;

    desk_open(&desk, EACH("echo ok"));
    for (int i = 0; i < THREADS; i++) {
        crew[i] = (struct crew){.sink = desk.sink, .done = &done};
        check_int(pthread_create(&crew[i].thread, NULL, work, &crew[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        check_int(pthread_join(crew[i].thread, NULL), 0);
    check_int(done, THREADS * BATCHES * BATCH);
    check_in_range(count_children(), desk.children + 1, desk.children + THREADS);
    desk_close(&desk);
}
