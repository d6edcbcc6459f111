/*
 * wait_key.c - `weir key rotate`: another secret for the tokens of waitpoints.
 *
 * A secret is never a word of the command line, which others may see, and is never
 * printed.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/codec/hex.h"
#include "base/count.h"
#include "base/duration.h"
#include "base/noun.h"
#include "cli/content.h"
#include "cli/execution/execution_session.h"
#include "cli/execution/execution_words.h"
#include "cli/reply.h"
#include "view/wait_records.h"
#include "weir/suspension.h"

enum { SECRET_FILE_SIZE_MAX = 256 };

#define GRACE_MS_DEFAULT (WEIR_HOURS(24) / WEIR_MILLISECONDS(1))

static int run_rotate(const struct weir_command *self, int argc, char **argv);

static const struct weir_command *const MEMBERS[] = {&weir_cli_key_rotate};

const struct weir_command weir_cli_key = {
    .name = "key",
    .summary = "the secret that tokens of waitpoints are made with",
    .usage = "COMMAND [OPTION...]",
    .details =
        "The first one is made by itself, at random, and is called k1. It is in the\n"
        "database: a user that may read the table of secrets can make tokens.\n",
    .uses_db = true,
    .members = MEMBERS,
    .member_count = COUNT_OF(MEMBERS),
};

struct rotate_call {
    struct weir_execution_session session;
    const char *key;
    const char *file; /* NULL: none */
    int64_t grace_ms;
    uint8_t secret[WEIR_SECRET_SIZE];
};

static const struct weir_command_option ROTATE_OPTIONS[] = {
    WEIR_OPTION(0, "secret-file", "FILE", "32 bytes or 64 hex digits; - is stdin",
                WEIR_AS_TEXT(struct rotate_call, file)),
    WEIR_OPTION(
        'g', "grace", "D", "tokens of the old key stay valid for; default 24h",
        WEIR_AS_MS(struct rotate_call, grace_ms, 0, WEIR_EXECUTION_DURATION_MS_MAX)),
};
static const struct weir_command_option ROTATE_OPERANDS[] = {
    WEIR_OPERAND("KEY", WEIR_AS_TEXT(struct rotate_call, key)),
};

const struct weir_command weir_cli_key_rotate = {
    .name = "key rotate",
    .summary = "make new tokens with another secret",
    .usage = "KEY [--secret-file FILE] [--grace D]",
    .details =
        "KEY is its name, which tokens begin with. Without a file the secret is\n"
        "random. Waitpoints that are older keep their tokens, and those are valid until\n"
        "the grace is over; with --grace 0 they are worthless at once, whatever grace\n"
        "they had before. A key that was used before is in use again, if its secret is\n"
        "the same; the one that is in use changes nothing. Another secret is refused.\n",
    WEIR_OPTIONS(ROTATE_OPTIONS),
    WEIR_OPERANDS(ROTATE_OPERANDS),
    .uses_db = true,
    .operates = true,
    .run = run_rotate,
};

/* 64 digits, and white space behind them. */
static bool read_digits(const char *text, size_t size, uint8_t *out)
{
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    return size == (size_t)2 * WEIR_SECRET_SIZE &&
           weir_hex_read(text, WEIR_SECRET_SIZE, out);
}

static int read_secret(const struct weir_command *self, struct rotate_call *out)
{
    struct weir_content content = {.size = 0};
    int code =
        weir_content_read(&content, self, "secret", out->file, SECRET_FILE_SIZE_MAX, "");

    if (code == WEIR_EXIT_DONE && content.size == WEIR_SECRET_SIZE)
        memcpy(out->secret, content.data, WEIR_SECRET_SIZE);
    else if (code == WEIR_EXIT_DONE &&
             !read_digits(content.data, content.size, out->secret))
        code = weir_command_fail(self,
                                 "the secret has %zu %s, must have %d, or be %d "
                                 "hexadecimal digits",
                                 content.size, WEIR_NOUN(content.size, "byte", "bytes"),
                                 WEIR_SECRET_SIZE, 2 * WEIR_SECRET_SIZE);
    if (content.memory != NULL)
        memset(content.memory, 0, content.size);
    weir_content_fini(&content);
    return code;
}

static void print_lines(const struct rotate_call *self)
{
    char grace[WEIR_DURATION_TEXT_SIZE];

    printf("new tokens are made with '%s'; ", self->key);
    if (self->grace_ms > 0)
        printf("those of the key before are valid for another %s\n",
               weir_duration_spell(self->grace_ms * WEIR_MILLISECONDS(1), grace,
                                   sizeof grace));
    else
        puts("those of the key before are worthless");
}

static int tell(const struct rotate_call *self)
{
    const struct weir_session *session = &self->session.session;

    if (session->shared.json)
        return weir_reply_json(session, &weir_key_rotated_record,
                               &(struct weir_key_rotated){self->key, self->grace_ms});
    if (!session->shared.quiet)
        print_lines(self);
    return WEIR_EXIT_DONE;
}

static int rotate(const struct weir_command *command, struct rotate_call *self)
{
    struct weir_error error = {0};
    int code = weir_execution_session_open(&self->session, command,
                                           WEIR_EXECUTION_SESSION_SILENT, NULL);

    if (code == WEIR_EXIT_DONE)
        code = weir_executions_rotate_key(self->session.executions, self->key,
                                          self->file != NULL ? self->secret : NULL,
                                          self->grace_ms, &error) == WEIR_OK
                   ? tell(self)
                   : weir_execution_session_fail(&self->session, &error);
    weir_execution_session_close(&self->session);
    return code;
}

static int run_rotate(const struct weir_command *self, int argc, char **argv)
{
    struct rotate_call rotate_call = {.grace_ms = GRACE_MS_DEFAULT};
    int code = weir_command_parse(self, argc, argv, &rotate_call, sizeof rotate_call);

    if (code >= 0)
        return code;
    code = WEIR_EXIT_DONE;
    if (rotate_call.file != NULL)
        code = read_secret(self, &rotate_call);
    if (code == WEIR_EXIT_DONE)
        code = rotate(self, &rotate_call);
    memset(rotate_call.secret, 0, sizeof rotate_call.secret);
    return code;
}
