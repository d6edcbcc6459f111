/*
 * Tests of sink/stdout.c. Standard output is a pipe of the test's while a sink writes
 * to it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "sink_fixture.h"

/* Standard output as it was, and the end to read from. */
struct tube {
    int saved;
    int reader;
};

static void tube_open(struct tube *self)
{
    int ends[2];

    fflush(stdout);
    check_int(pipe2(ends, O_CLOEXEC), 0);
    self->reader = ends[0];
    self->saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    check_int(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    close(ends[1]);
}

/* Before any check that may fail, so that it can be seen. */
static void tube_restore(struct tube *self)
{
    if (self->saved >= 0) {
        fflush(stdout);
        (void)dup2(self->saved, STDOUT_FILENO);
        close(self->saved);
        self->saved = -1;
    }
}

/* All that was written, once nobody writes any more. */
static char *tube_drain(struct tube *self)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file;

    tube_restore(self);
    file = fdopen(self->reader, "r");
    if (getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(file);
    return text;
}

WEIR_TEST(stdout_sink, writes_lines)
{
    enum weir_outcome outcome;
    struct sink_fixture sink_fixture;
    struct tube tube;
    char *text;

    sink_fixture_open(&sink_fixture, "stdout:");
    sink_fixture_fill(&sink_fixture, 3);
    tube_open(&tube);
    outcome = sink_fixture_deliver(&sink_fixture);
    text = tube_drain(&tube);
    check_int(outcome, WEIR_DONE);
    check_int(sink_fixture.batch.processed, 3);
    check_int(count_lines(text), 3);
    check(strstr(text, "\"payload\":\"message 3\"}\n") != NULL);
    free(text);
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(stdout_sink, outlives_its_reader)
{
    struct weir_sink_health health;
    enum weir_outcome outcome;
    struct sink_fixture sink_fixture;
    struct tube tube;

    sink_fixture_open(&sink_fixture, "stdout:");
    sink_fixture_fill(&sink_fixture, 3);
    tube_open(&tube);
    close(tube.reader);
    outcome = sink_fixture_deliver(&sink_fixture);
    tube_restore(&tube);
    check_int(outcome, WEIR_RETRY);
    check_int(sink_fixture.batch.processed, 0);
    check_str(sink_fixture.reason.text, "standard output is closed: its reader has gone");
    weir_sink_read_health(sink_fixture.sink, &health);
    check_status(health.status, WEIR_CLOSED);
    sink_fixture_close(&sink_fixture);
}

/* Open the sink while standard output is this; -1: closed. */
static void refuses_standard_output(int instead)
{
    enum weir_status status;
    struct sink_fixture sink_fixture;
    struct tube tube;

    sink_fixture_init(&sink_fixture);
    tube_open(&tube);
    if (instead >= 0)
        dup2(instead, STDOUT_FILENO);
    else
        close(STDOUT_FILENO);
    status = sink_fixture_try(&sink_fixture, "stdout:");
    tube_restore(&tube);
    close(tube.reader);
    check_status(status, WEIR_SYSTEM);
    check_str(sink_fixture.error.text,
              "sink \"stdout:\": standard output: Bad file descriptor");
    sink_fixture_close(&sink_fixture);
}

WEIR_TEST(stdout_sink, must_be_open)
{
    refuses_standard_output(-1);
}

WEIR_TEST(stdout_sink, must_be_open_for_writing)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    refuses_standard_output(nothing);
    close(nothing);
}

/* ---- slow readers ------------------------------------------------------------------ */

/* More than a pipe holds, of messages larger than one step. */
static void fill_large(struct sink_fixture *sink_fixture, const char *payload,
                       size_t size, int64_t budget_ns)
{
    sink_fixture_fill_for(sink_fixture, 10, budget_ns);
    for (int i = 0; i < 10; i++) {
        sink_fixture->messages[i].payload = payload;
        sink_fixture->messages[i].payload_size = size;
    }
}

WEIR_TEST(stdout_sink, gives_up_when_nobody_reads_and_ends_the_line_later)
{
    enum { SIZE = 30000 };
    enum weir_outcome first, second;
    size_t processed;
    struct sink_fixture sink_fixture;
    struct tube tube;
    char *payload = malloc(SIZE);
    char *text, *line;

    memset(payload, 'x', SIZE);
    sink_fixture_open(&sink_fixture, "stdout:");
    fill_large(&sink_fixture, payload, SIZE, WEIR_MILLISECONDS(200));
    tube_open(&tube);
    first = sink_fixture_deliver(&sink_fixture);
    processed = sink_fixture.batch.processed;
    fcntl(tube.reader, F_SETPIPE_SZ, 1 << 20); /* room */
    fill_large(&sink_fixture, payload, SIZE, WEIR_SECONDS(60));
    second = sink_fixture_deliver(&sink_fixture);
    text = tube_drain(&tube);

    check_int(first, WEIR_RETRY);
    check_str(sink_fixture.reason.text, "");
    check_int(second, WEIR_DONE);
    check_int(processed, 0); /* the first chunk did not fit as a whole */
    check_int(sink_fixture.batch.processed, 10);
    check_int(count_lines(text), 3 + 10); /* a chunk is of three */
    line = strtok(text, "\n");
    for (; line != NULL; line = strtok(NULL, "\n")) {
        check_int(strncmp(line, "{\"queue\":", 9), 0);
        check(strstr(line + 1, "{\"queue\":") == NULL);
        check(strcmp(line + strlen(line) - 4, "xx\"}") == 0);
    }
    free(text);
    free(payload);
    sink_fixture_close(&sink_fixture);
}

/* ---- threads ----------------------------------------------------------------------- */

enum { THREADS = 4, BATCHES = 50, BATCH = 20 };

struct pool {
    pthread_t thread;
    struct weir_sink *sink;
    int32_t partition;
};

static void *work(void *argument)
{
    struct pool *self = argument;
    struct weir_message messages[BATCH];
    struct weir_reason reason;
    char payload[700];

    memset(payload, 'y', sizeof payload);
    for (int i = 0; i < BATCHES; i++) {
        struct weir_batch batch;

        for (int n = 0; n < BATCH; n++)
            messages[n] = (struct weir_message){.queue = "q",
                                                .type = "t",
                                                .partition = self->partition,
                                                .seq = i * BATCH + n + 1,
                                                .payload = payload,
                                                .payload_size = sizeof payload,
                                                .batch = &batch};
        weir_batch_init(&batch, weir_heap_system(), NULL, messages, BATCH, 0);
        if (weir_sink_deliver(self->sink, &batch, &reason) != WEIR_DONE)
            abort();
        weir_batch_fini(&batch);
    }
    return NULL;
}

struct listener {
    pthread_t thread;
    int fd;
    char *text;
};

static void *listen_all(void *argument)
{
    struct listener *self = argument;
    size_t size = 0;
    FILE *file = fdopen(self->fd, "r");

    if (getdelim(&self->text, &size, '\0', file) < 0)
        abort();
    fclose(file);
    return NULL;
}

WEIR_TEST(stdout_sink, keeps_lines_of_several_threads_whole_and_in_order)
{
    int last[THREADS] = {0};
    struct pool pool[THREADS];
    struct listener listener;
    struct sink_fixture sink_fixture;
    struct tube tube;
    char *line;
    int count = 0;

    sink_fixture_open(&sink_fixture, "stdout:");
    tube_open(&tube);
    listener = (struct listener){.fd = tube.reader};
    pthread_create(&listener.thread, NULL, listen_all, &listener);
    for (int i = 0; i < THREADS; i++) {
        pool[i] = (struct pool){.sink = sink_fixture.sink, .partition = i};
        pthread_create(&pool[i].thread, NULL, work, &pool[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(pool[i].thread, NULL);
    tube_restore(&tube);
    pthread_join(listener.thread, NULL);

    for (line = strtok(listener.text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        int partition, seq;

        check_int(sscanf(line, "{\"queue\":\"q\",\"partition\":%d,\"seq\":%d,",
                         &partition, &seq),
                  2);
        check_int(seq, last[partition] + 1);
        check(strcmp(line + strlen(line) - 4, "yy\"}") == 0);
        last[partition] = seq;
        count++;
    }
    check_int(count, THREADS * BATCHES * BATCH);
    free(listener.text);
    sink_fixture_close(&sink_fixture);
}
