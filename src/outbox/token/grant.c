/*
 * grant.c - see grant.h and weir/token.h.
 *
 * A pattern is matched with one place to go back to, that of the last *: a later * makes
 * the earlier ones irrelevant. So no pattern takes longer than its length times that of
 * the name.
 */
#include "outbox/token/grant.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "outbox/names.h"
#include "outbox/token/token_text.h"

#define LIFETIME_MIN WEIR_SECONDS(1)
#define LIFETIME_MAX (100 * 366 * WEIR_HOURS(24))

static const char *const SCOPES[WEIR_SCOPE_COUNT] = {
    "read", "content", "producer", "worker", "signal", "operator", "admin",
};
static const char *const RESTRICTIONS[WEIR_RESTRICTION_COUNT] = {
    [WEIR_RESTRICT_DATABASES] = "databases",
    [WEIR_RESTRICT_QUEUES] = "queues",
    [WEIR_RESTRICT_LANES] = "lanes",
    [WEIR_RESTRICT_NAMESPACES] = "namespaces",
};

/* ---- names ------------------------------------------------------------------------- */

const char *weir_scope_name(enum weir_scope scope)
{
    for (int i = 0; i < WEIR_SCOPE_COUNT; i++) {
        if ((unsigned)scope == 1U << i)
            return SCOPES[i];
    }
    return "unknown";
}

enum weir_status weir_scope_parse(const char *name, enum weir_scope *out,
                                  struct weir_error *error)
{
    for (int i = 0; i < WEIR_SCOPE_COUNT; i++) {
        if (strcmp(name, SCOPES[i]) == 0) {
            *out = (enum weir_scope)(1U << i);
            return WEIR_OK;
        }
    }
    return weir_error_set(error, WEIR_INVALID,
                          "scope \"%.40s\" is none of read, content, producer, worker, "
                          "signal, operator, admin",
                          name);
}

const char *weir_restriction_name(enum weir_restriction restriction)
{
    return (unsigned)restriction < WEIR_RESTRICTION_COUNT ? RESTRICTIONS[restriction]
                                                          : "unknown";
}

/* ---- questions --------------------------------------------------------------------- */

bool weir_grant_is_valid(const struct weir_grant *self, int64_t now_us)
{
    return self->revoked_us == 0 && (self->expires_us == 0 || now_us < self->expires_us);
}

/* A scope with those that it includes. */
static uint32_t widen(uint32_t scopes)
{
    if ((scopes & WEIR_SCOPE_ADMIN) != 0)
        return WEIR_SCOPE_ALL;
    if ((scopes & (WEIR_SCOPE_OPERATOR | WEIR_SCOPE_CONTENT)) != 0)
        scopes |= WEIR_SCOPE_READ;
    return scopes;
}

bool weir_grant_allows(const struct weir_grant *self, enum weir_scope scope)
{
    return (widen(self->scopes) & (uint32_t)scope) != 0;
}

static bool matches(const char *pattern, const char *end, const char *name)
{
    const char *star = NULL;
    const char *from = NULL; /* what the last * has taken up to now ends here */

    while (*name != '\0') {
        if (pattern < end && *pattern == '*') {
            star = pattern++;
            from = name;
        } else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

bool weir_grant_covers(const struct weir_grant *self, enum weir_restriction restriction,
                       const char *name)
{
    const char *glob = self->globs[restriction];

    if (glob[0] == '\0')
        return true;
    for (;;) {
        const char *end = glob + strcspn(glob, ",");

        if (matches(glob, end, name))
            return true;
        if (*end == '\0')
            return false;
        glob = end + 1;
    }
}

/* ---- what an operator gives -------------------------------------------------------- */

static enum weir_status check_name(const char *name, struct weir_error *error)
{
    if (weir_token_is_in(name))
        return weir_error_set(error, WEIR_INVALID,
                              "the text of a token was given, must be a name or an id");
    if (name == NULL || strlen(name) > WEIR_TOKEN_NAME_SIZE_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "the name of a token has 1 to %d characters",
                              WEIR_TOKEN_NAME_SIZE_MAX);
    return weir_queue_name_check("token name", name, error);
}

/* Every printable character may be in a name, but for those that lists are made of. */
static enum weir_status check_glob(const char *what, const char *glob, size_t size,
                                   struct weir_error *error)
{
    if (size == 0)
        return weir_error_set(error, WEIR_INVALID, "%s: a pattern is empty", what);
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)glob[i] <= ' ' || glob[i] == 0x7f)
            return weir_error_set(error, WEIR_INVALID,
                                  "%s: a pattern has a blank or a control character",
                                  what);
    }
    return WEIR_OK;
}

static enum weir_status check_globs(const char *what, const char *globs, size_t *count,
                                    struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (globs == NULL || globs[0] == '\0')
        return WEIR_OK;
    if (strlen(globs) > WEIR_TOKEN_GLOBS_SIZE_MAX)
        return weir_error_set(error, WEIR_INVALID,
                              "%s: patterns have more than %d bytes together", what,
                              WEIR_TOKEN_GLOBS_SIZE_MAX);
    while (status == WEIR_OK) {
        size_t size = strcspn(globs, ",");

        status = check_glob(what, globs, size, error);
        (*count)++;
        if (globs[size] == '\0')
            break;
        globs += size + 1;
    }
    return status;
}

enum weir_status weir_token_options_check(const struct weir_token_options *options,
                                          struct weir_error *error)
{
    size_t count = 0;
    enum weir_status status = check_name(options->name, error);

    if (status == WEIR_OK &&
        (options->scopes == 0 || (options->scopes & ~(uint32_t)WEIR_SCOPE_ALL) != 0))
        status = weir_error_set(error, WEIR_INVALID, "a token needs at least one scope");
    for (int i = 0; i < WEIR_RESTRICTION_COUNT && status == WEIR_OK; i++)
        status = check_globs(RESTRICTIONS[i], options->globs[i], &count, error);
    if (status == WEIR_OK && count > WEIR_GLOBS_MAX)
        status = weir_error_set(error, WEIR_OUT_OF_RANGE,
                                "%zu patterns, the limit is %d for a token", count,
                                WEIR_GLOBS_MAX);
    if (status == WEIR_OK && options->lifetime_ns != 0 &&
        (options->lifetime_ns < LIFETIME_MIN || options->lifetime_ns > LIFETIME_MAX))
        status = weir_error_set(error, WEIR_OUT_OF_RANGE,
                                "the lifetime of a token is 1 s to 100 years");
    return status;
}

/* ---- for people -------------------------------------------------------------------- */

/* A text that is being written; what does not fit is left out. */
struct phrase {
    char *out;
    size_t size;
    size_t used;
};

static WEIR_PRINTF(2, 3) void add(struct phrase *self, const char *format, ...)
{
    va_list arguments;

    if (self->used + 4 > self->size)
        return;
    va_start(arguments, format);
    self->used += weir_text_format_list(self->out + self->used, self->size - self->used,
                                        format, arguments);
    va_end(arguments);
}

const char *weir_grant_describe(const struct weir_grant *self, char *out, size_t size)
{
    struct phrase phrase = {.out = out, .size = size};

    out[0] = '\0';
    for (int i = 0; i < WEIR_SCOPE_COUNT; i++) {
        if ((self->scopes & 1U << i) != 0)
            add(&phrase, "%s%s", phrase.used > 0 ? ", " : "", SCOPES[i]);
    }
    for (int i = 0; i < WEIR_RESTRICTION_COUNT; i++) {
        if (self->globs[i][0] != '\0')
            add(&phrase, "; %s %s", RESTRICTIONS[i], self->globs[i]);
    }
    return out;
}
