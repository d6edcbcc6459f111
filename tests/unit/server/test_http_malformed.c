/* The cases of malformed.txt, over real sockets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "kit/http/fixture.h"
#include "kit/test.h"

enum { CASES_MAX = 256, STATUSES_MAX = 4, LINE_SIZE = 512 };

struct sample {
    char name[LINE_SIZE];
    int statuses[STATUSES_MAX];
    int status_count;
    char *bytes;
    size_t size;
};

static struct sample samples[CASES_MAX];
static int sample_count;

static void add_byte(struct sample *sample, char c)
{
    sample->bytes = realloc(sample->bytes, sample->size + 1);
    check(sample->bytes != NULL);
    sample->bytes[sample->size++] = c;
}

/* One escape; returns the characters behind the backslash that it takes. */
static size_t add_escape(struct sample *sample, const char *text)
{
    unsigned value;

    switch (text[0]) {
    case 'r':
        add_byte(sample, '\r');
        return 1;
    case 'n':
        add_byte(sample, '\n');
        return 1;
    case 't':
        add_byte(sample, '\t');
        return 1;
    case '0':
        add_byte(sample, '\0');
        return 1;
    case '\\':
        add_byte(sample, '\\');
        return 1;
    case 'x':
        check(sscanf(text + 1, "%2x", &value) == 1);
        add_byte(sample, (char)value);
        return 3;
    default:
        weir_test_fail(__FILE__, __LINE__, "%s: no such escape: %s", sample->name, text);
    }
}

static void add_line(struct sample *sample, const char *line)
{
    for (size_t i = 0; line[i] != '\0'; i++) {
        if (line[i] != '\\')
            add_byte(sample, line[i]);
        else if (line[i + 1] == '\0')
            return;
        else
            i += add_escape(sample, line + i + 1);
    }
    add_byte(sample, '\r');
    add_byte(sample, '\n');
}

static struct sample *begin_sample(const char *line)
{
    struct sample *sample = &samples[sample_count++];
    const char *colon = strchr(line, ':');

    check(sample_count < CASES_MAX && colon != NULL);
    *sample = (struct sample){0};
    snprintf(sample->name, sizeof sample->name, "%s", colon + 2);
    for (const char *at = line + 1; at < colon;) {
        char *end;
        int status = (int)strtol(at, &end, 10);

        if (end == at)
            break;
        check(sample->status_count < STATUSES_MAX);
        sample->statuses[sample->status_count++] = status;
        at = end;
    }
    return sample;
}

/* An empty line before "=" or "#" separates cases and belongs to none. */
static void read_samples(void)
{
    FILE *file = fopen(WEIR_TEST_SERVER "/malformed.txt", "re");
    struct sample *sample = NULL;
    char line[LINE_SIZE];
    bool empty = false;

    check(file != NULL);
    sample_count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '=') {
            if (line[0] == '=')
                sample = begin_sample(line);
            empty = false;
            continue;
        }
        if (sample != NULL && empty)
            add_line(sample, "");
        empty = line[0] == '\0';
        if (sample != NULL && !empty)
            add_line(sample, line);
    }
    fclose(file);
}

static void free_samples(void)
{
    for (int i = 0; i < sample_count; i++)
        free(samples[i].bytes);
}

static void send_sample(struct http_client *client, const struct sample *sample,
                        size_t step)
{
    for (size_t i = 0; i < sample->size; i += step) {
        size_t size = sample->size - i < step ? sample->size - i : step;

        if (!http_try_send(client, sample->bytes + i, size))
            return;
    }
}

static void check_answers(struct http_client *client, const struct sample *sample)
{
    struct http_reply reply;
    int count = 0;

    while (http_receive(client, &reply)) {
        if (count >= sample->status_count || reply.status != sample->statuses[count])
            weir_test_fail(__FILE__, __LINE__, "%s: answer %d is %d", sample->name,
                           count + 1, reply.status);
        count++;
        http_reply_fini(&reply);
    }
    if (count != sample->status_count)
        weir_test_fail(__FILE__, __LINE__, "%s: %d answers", sample->name, count);
}

/* Send all cases in pieces of `step` bytes. */
static void run(size_t step)
{
    struct http_fixture fixture;
    struct http_client client;

    read_samples();
    check(sample_count > 100);
    http_fixture_open(&fixture);
    for (int i = 0; i < sample_count; i++) {
        http_connect(&client, http_fixture_address(&fixture));
        send_sample(&client, &samples[i], step);
        (void)shutdown(client.fd, SHUT_WR);
        check_answers(&client, &samples[i]);
        http_close(&client);
    }
    http_fixture_close(&fixture);
    free_samples();
}

WEIR_TEST(malformed, requests_have_the_answers_of_the_file_when_sent_at_once)
{
    run(1 << 20);
}

WEIR_TEST(malformed, requests_have_the_same_answers_when_sent_byte_by_byte)
{
    run(1);
}

WEIR_TEST(malformed, requests_have_the_same_answers_when_sent_in_pieces_of_7)
{
    run(7);
}
