/*
 * token_records.c - see token_records.h.
 */
#include "view/token_records.h"

#include <string.h>

#include "base/codec/utc.h"
#include "base/text.h"
#include "db/clock.h"

static void each_scope(const void *row, weir_record_emit_fn emit, void *state)
{
    const struct weir_grant *grant = row;

    for (int i = 0; i < WEIR_SCOPE_COUNT; i++) {
        if ((grant->scopes & 1U << i) != 0)
            emit(state, weir_scope_name((enum weir_scope)(1U << i)));
    }
}

static const char *scopes_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_grant *grant = row;
    size_t used = 0;

    (void)now_us;
    out[0] = '\0';
    for (int i = 0; i < WEIR_SCOPE_COUNT; i++) {
        if ((grant->scopes & 1U << i) != 0)
            used += weir_text_format(out + used, WEIR_CELL_SIZE - used, "%s%s",
                                     used > 0 ? "," : "",
                                     weir_scope_name((enum weir_scope)(1U << i)));
    }
    return out;
}

static void each_glob(const char *globs, weir_record_emit_fn emit, void *state)
{
    char glob[WEIR_TOKEN_GLOBS_SIZE_MAX + 1];

    while (*globs != '\0') {
        size_t size = strcspn(globs, ",");

        memcpy(glob, globs, size);
        glob[size] = '\0';
        emit(state, glob);
        globs += size + (globs[size] == ',');
    }
}

#define GLOBS_OF(name, restriction)                                                      \
    static void each_##name(const void *row, weir_record_emit_fn emit, void *state)      \
    {                                                                                    \
        const struct weir_grant *grant = row;                                            \
                                                                                         \
        each_glob(grant->globs[restriction], emit, state);                               \
    }
GLOBS_OF(database, WEIR_RESTRICT_DATABASES)
GLOBS_OF(queue, WEIR_RESTRICT_QUEUES)
GLOBS_OF(lane, WEIR_RESTRICT_LANES)
GLOBS_OF(namespace, WEIR_RESTRICT_NAMESPACES)

static const char *restrictions_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_grant *grant = row;
    size_t used = 0;

    (void)now_us;
    (void)weir_text_format(out, WEIR_CELL_SIZE, "-");
    for (int i = 0; i < WEIR_RESTRICTION_COUNT; i++) {
        if (grant->globs[i][0] != '\0' && used + 4 < WEIR_CELL_SIZE)
            used += weir_text_format(
                out + used, WEIR_CELL_SIZE - used, "%s%s=%s", used > 0 ? " " : "",
                weir_restriction_name((enum weir_restriction)i), grant->globs[i]);
    }
    return out;
}

static const char *state_word(const void *row)
{
    const struct weir_grant *grant = row;

    if (grant->revoked_us != 0)
        return "revoked";
    return weir_grant_is_valid(grant, weir_clock_wall_us()) ? "valid" : "expired";
}

static enum weir_tone state_tone(const void *row)
{
    return strcmp(state_word(row), "valid") == 0 ? WEIR_TONE_PLAIN : WEIR_TONE_CAREFUL;
}

static const char *time_cell(int64_t time_us, char *out)
{
    if (time_us == 0)
        (void)weir_text_format(out, WEIR_CELL_SIZE, "-");
    else
        (void)weir_utc_format(time_us, out);
    return out;
}

static const char *expires_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_grant *grant = row;

    (void)now_us;
    return time_cell(grant->expires_us, out);
}

/* The day alone. */
static const char *used_cell(const void *row, int64_t now_us, char *out)
{
    const struct weir_grant *grant = row;

    (void)now_us;
    (void)time_cell(grant->used_us, out);
    out[strcspn(out, "T")] = '\0';
    return out;
}

#define TOKEN(...) WEIR_FIELD(struct weir_grant, __VA_ARGS__)
static const struct weir_record_field TOKEN_FIELDS[] = {
    TOKEN("id", id, CHARS, "Id of the token.", .title = "id", .line = "id"),
    TOKEN("name", name, CHARS, "Its name; several tokens may have one.", .title = "name",
          .cut_to = 16, .line = "name"),
    WEIR_FIELD_OF("state", WORD, "`valid`, `expired` or `revoked`.", .title = "state",
                  .word = state_word, .tone = state_tone),
    WEIR_FIELD_OF("scopes", WORDS, "What it allows.", .title = "scopes",
                  .cell = scopes_cell, .each = each_scope),
    WEIR_FIELD_OF("databases", WORDS, "Patterns of databases; none: all.",
                  .each = each_database),
    WEIR_FIELD_OF("queues", WORDS, "Patterns of queues; none: all.", .title = "only",
                  .cut_to = 24, .rank = 2, .cell = restrictions_cell, .each = each_queue),
    WEIR_FIELD_OF("lanes", WORDS, "Patterns of lanes; none: all.", .each = each_lane),
    WEIR_FIELD_OF("namespaces", WORDS, "Patterns of namespaces; none: all.",
                  .each = each_namespace),
    TOKEN("created_at", created_us, TIME, "When it was made.", .title = "made",
          .rank = 4),
    TOKEN("expires_at", expires_us, TIME, "When it expires; null: never.",
          .title = "expires", .rank = 1, .cell = expires_cell),
    TOKEN("used_on", used_us, TIME, "Day of its last use; null: not used yet.",
          .title = "used", .rank = 3, .cell = used_cell),
    TOKEN("revoked_at", revoked_us, TIME, "When it was revoked; null: not."),
};

const struct weir_record weir_token_record =
    WEIR_RECORD("token", TOKEN_FIELDS, "A token of a client: `weir token list`.");

#define MADE(...) WEIR_FIELD(struct weir_new_token, __VA_ARGS__)
static const struct weir_record_field MADE_FIELDS[] = {
    MADE("token", text, CHARS, "The token itself, which is shown this once."),
    WEIR_FIELD_IN(struct weir_new_token, NULL, grant, PART, &weir_token_record,
                  "What it allows."),
};

const struct weir_record weir_token_made_record =
    WEIR_RECORD("token made", MADE_FIELDS,
                "The answer of `weir token create` and `weir token rotate`.");

#define REVOKED(...) WEIR_FIELD(struct weir_tokens_revoked, __VA_ARGS__)
static const struct weir_record_field REVOKED_FIELDS[] = {
    REVOKED("token", token, TEXT, "Id or name, as it was given."),
    REVOKED("revoked", revoked, SIZE, "Tokens that were valid until now."),
};

const struct weir_record weir_tokens_revoked_record =
    WEIR_RECORD("tokens revoked", REVOKED_FIELDS, "The answer of `weir token revoke`.");
