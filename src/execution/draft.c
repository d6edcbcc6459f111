/*
 * draft.c - the rules for what is submitted, one function per rule, and the digest.
 */
#include "execution/draft.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/noun.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "execution/capabilities.h"
#include "outbox/names.h"
#include "weir/budget.h"

static const char NAMESPACE_DEFAULT[] = "default";

#define MULTIPLIER_MAX 1000.0

void weir_execution_policy_init(struct weir_execution_policy *self)
{
    *self = (struct weir_execution_policy){
        .backoff = WEIR_RETRY_EXPONENTIAL,
        .backoff_initial_ms = 1000,
        .backoff_multiplier = 2,
        .backoff_max_ms = 60000,
        .reclaims_max = 100,
        .replays_max = 10,
    };
}

struct weir_execution_policy
weir_execution_draft_policy(const struct weir_execution_draft *draft)
{
    struct weir_execution_policy policy;

    weir_execution_policy_init(&policy);
    return draft->policy != NULL ? *draft->policy : policy;
}

const char *weir_execution_draft_namespace(const struct weir_execution_draft *draft)
{
    return draft->name_space != NULL ? draft->name_space : NAMESPACE_DEFAULT;
}

int32_t weir_priority_clamp(int32_t priority)
{
    return priority < 0 ? 0 : priority > WEIR_PRIORITY_MAX ? WEIR_PRIORITY_MAX : priority;
}

/* ---- policy ------------------------------------------------------------------------ */

static enum weir_status check_count(const char *what, uint32_t value, uint32_t max,
                                    struct weir_error *error)
{
    if (value <= max)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "%s is %" PRIu32 ", must be at most %" PRIu32, what, value,
                          max);
}

static enum weir_status check_duration(const char *what, int64_t value_ms,
                                       struct weir_error *error)
{
    if (value_ms >= 0 && value_ms <= WEIR_EXECUTION_DURATION_MS_MAX)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID,
                          "%s is %" PRId64 ", must be from 0 to %" PRId64
                          ", a hundred years",
                          what, value_ms, WEIR_EXECUTION_DURATION_MS_MAX);
}

static enum weir_status check_backoff(const struct weir_execution_policy *policy,
                                      struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (policy->backoff != WEIR_RETRY_EXPONENTIAL && policy->backoff != WEIR_RETRY_FIXED)
        return weir_error_set(error, WEIR_INVALID,
                              "policy.backoff is %d, must be %d (exponential) or %d "
                              "(fixed)",
                              (int)policy->backoff, (int)WEIR_RETRY_EXPONENTIAL,
                              (int)WEIR_RETRY_FIXED);
    status =
        check_duration("policy.backoff_initial_ms", policy->backoff_initial_ms, error);
    if (status == WEIR_OK)
        status = check_duration("policy.backoff_max_ms", policy->backoff_max_ms, error);
    if (status != WEIR_OK)
        return status;

    /* Written so that "not a number" is refused too. */
    if (!(policy->backoff_multiplier >= 1 &&
          policy->backoff_multiplier <= MULTIPLIER_MAX))
        return weir_error_set(error, WEIR_INVALID,
                              "policy.backoff_multiplier is %g, must be from 1 to %g",
                              policy->backoff_multiplier, MULTIPLIER_MAX);
    if (policy->backoff == WEIR_RETRY_EXPONENTIAL &&
        policy->backoff_max_ms < policy->backoff_initial_ms)
        return weir_error_set(error, WEIR_INVALID,
                              "policy.backoff_max_ms is %" PRId64 ", must be at least "
                              "policy.backoff_initial_ms, which is %" PRId64,
                              policy->backoff_max_ms, policy->backoff_initial_ms);
    return WEIR_OK;
}

/* The three counts together keep the number of attempts within 32 bits: each life of an
 * execution has one attempt more than retries and reclaims, and it has one life more
 * than replays. */
enum weir_status weir_execution_policy_check(const struct weir_execution_policy *policy,
                                             struct weir_error *error)
{
    enum weir_status status = check_count("policy.retries_max", policy->retries_max,
                                          WEIR_RETRIES_MAX_MAX, error);

    if (status == WEIR_OK)
        status = check_backoff(policy, error);
    if (status == WEIR_OK)
        status = check_duration("policy.attempt_timeout_ms", policy->attempt_timeout_ms,
                                error);
    if (status == WEIR_OK)
        status = check_count("policy.reclaims_max", policy->reclaims_max,
                             WEIR_RECLAIMS_MAX_MAX, error);
    if (status == WEIR_OK)
        status = check_count("policy.replays_max", policy->replays_max,
                             WEIR_REPLAYS_MAX_MAX, error);
    return status;
}

/* ---- tags -------------------------------------------------------------------------- */

static bool is_tag_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_tag_key(const char *key)
{
    const char *c = key;

    if (*c < 'a' || *c > 'z')
        return false;
    while (is_tag_character(*c))
        c++;
    if (*c++ != '.' || !is_tag_character(*c))
        return false;
    while (is_tag_character(*c) || *c == '.')
        c++;
    return *c == '\0';
}

enum weir_status weir_tag_key_check(const char *key, struct weir_error *error)
{
    struct weir_quote shown;

    if (key == NULL || key[0] == '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "tag key is %s, must have 1 to %d characters",
                              key == NULL ? "NULL" : "empty", WEIR_TAG_SIZE_MAX);
    if (strnlen(key, WEIR_TAG_SIZE_MAX + 1) > WEIR_TAG_SIZE_MAX)
        return weir_error_set(
            error, WEIR_INVALID,
            "tag key \"%s\" is too long, must have at most %d characters",
            weir_quote(&shown, key), WEIR_TAG_SIZE_MAX);
    if (!is_tag_key(key))
        return weir_error_set(error, WEIR_INVALID,
                              "tag key \"%s\" must be like \"tenant.plan\": lower-case "
                              "letters, digits and '_', a letter first, a dot inside",
                              weir_quote(&shown, key));
    return WEIR_OK;
}

/* A text of at most `size_max` bytes, called `what` and, in quotes, `name`. */
static enum weir_status check_text(const char *what, const char *name, const char *value,
                                   size_t size_max, struct weir_error *error)
{
    struct weir_quote shown;
    size_t size = strnlen(value, size_max + 1);

    if (size > size_max)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "%s \"%s\" is too long, must have at most %zu bytes", what,
                              weir_quote(&shown, name), size_max);
    if (!weir_utf8_valid((struct weir_str){value, size}))
        return weir_error_set(error, WEIR_INVALID, "%s \"%s\" must be UTF-8", what,
                              weir_quote(&shown, name));
    return WEIR_OK;
}

enum weir_status weir_tag_check(const char *key, const char *value,
                                struct weir_error *error)
{
    enum weir_status status = weir_tag_key_check(key, error);

    if (status == WEIR_OK)
        status = check_text("the value of tag", key, value, WEIR_TAG_SIZE_MAX, error);
    return status;
}

static enum weir_status check_tag(const struct weir_tag *tags, size_t index,
                                  struct weir_error *error)
{
    const struct weir_tag *tag = &tags[index];
    enum weir_status status = weir_tag_key_check(tag->key, error);
    struct weir_quote shown;

    if (status != WEIR_OK)
        return status;
    if (tag->value == NULL)
        return weir_error_set(error, WEIR_INVALID,
                              "tag \"%s\" is NULL, must have a value",
                              weir_quote(&shown, tag->key));
    for (size_t i = 0; i < index; i++) {
        if (strcmp(tags[i].key, tag->key) == 0)
            return weir_error_set(error, WEIR_INVALID,
                                  "tag \"%s\" is there twice, must be there once",
                                  weir_quote(&shown, tag->key));
    }
    return check_text("the value of tag", tag->key, tag->value, WEIR_TAG_SIZE_MAX, error);
}

static enum weir_status check_tags(const struct weir_tag *tags, size_t count,
                                   struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (count > WEIR_TAGS_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "there are %zu tags, must be at most %d", count,
                              WEIR_TAGS_MAX);
    if (tags == NULL && count > 0)
        return weir_error_set(error, WEIR_INVALID, "tags is NULL, must be %zu tags",
                              count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = check_tag(tags, i, error);
    return status;
}

/* ---- the rest ---------------------------------------------------------------------- */

enum weir_status weir_instance_check(const char *instance, struct weir_error *error)
{
    enum weir_status status =
        weir_printable_check("instance", instance, WEIR_INSTANCE_SIZE_MAX, error);
    struct weir_quote shown;

    if (status == WEIR_OK && strchr(instance, ' ') != NULL)
        return weir_error_set(
            error, WEIR_INVALID, "instance \"%s\" has a blank at %zu, must have none",
            weir_quote(&shown, instance), (size_t)(strchr(instance, ' ') - instance));
    return status;
}

static enum weir_status check_id(const struct weir_execution_id *id, uint32_t partitions,
                                 struct weir_error *error)
{
    char text[WEIR_EXECUTION_ID_TEXT_SIZE];

    if (id == NULL || id->partition < partitions)
        return WEIR_OK;
    return weir_error_set(
        error, WEIR_INVALID, "id \"%s\" has partition %u, must be from 0 to %" PRIu32,
        weir_execution_id_format(id, text), (unsigned)id->partition, partitions - 1);
}

static enum weir_status check_names(const struct weir_execution_draft *draft,
                                    struct weir_error *error)
{
    enum weir_status status =
        weir_printable_check("namespace", weir_execution_draft_namespace(draft),
                             WEIR_NAMESPACE_SIZE_MAX, error);

    if (status == WEIR_OK)
        status = weir_printable_check("lane", draft->lane, WEIR_LANE_SIZE_MAX, error);
    if (status == WEIR_OK)
        status = weir_printable_check("kind", draft->kind, WEIR_KIND_SIZE_MAX, error);
    return status;
}

enum weir_status weir_member_name_check(const char *name, struct weir_error *error)
{
    struct weir_execution_id id;
    struct weir_quote shown;
    enum weir_status status =
        check_text("name", name, name, WEIR_MEMBER_NAME_SIZE_MAX, error);

    if (status != WEIR_OK)
        return status;
    if (name[0] == '\0' || name[0] == '{')
        return weir_error_set(
            error, WEIR_INVALID,
            "name is \"%s\", must have 1 to %d bytes and not begin with '{'",
            weir_quote(&shown, name), WEIR_MEMBER_NAME_SIZE_MAX);
    if (weir_execution_id_parse(name, &id, NULL) == WEIR_OK)
        return weir_error_set(error, WEIR_INVALID,
                              "name \"%s\" is an id of an execution, must be none",
                              weir_quote(&shown, name));
    for (const char *at = name; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == '\x7f' || *at == ',')
            return weir_error_set(error, WEIR_INVALID,
                                  "name \"%s\" has a comma or a control character, must "
                                  "have none",
                                  weir_quote(&shown, name));
    }
    return WEIR_OK;
}

static enum weir_status check_input(const struct weir_execution_draft *draft,
                                    struct weir_error *error)
{
    if (draft->input_size > WEIR_INPUT_SIZE_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "input has %zu bytes, must have at most %d",
                              draft->input_size, WEIR_INPUT_SIZE_MAX);
    if (draft->input == NULL && draft->input_size > 0)
        return weir_error_set(error, WEIR_INVALID, "input is NULL, must be %zu %s",
                              draft->input_size,
                              WEIR_NOUN(draft->input_size, "byte", "bytes"));
    return WEIR_OK;
}

static enum weir_status check_budgets(const char *const *budgets, size_t count,
                                      struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    if (count > WEIR_BUDGETS_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "there are %zu budgets, must be at most %d", count,
                              WEIR_BUDGETS_MAX);
    if (budgets == NULL && count > 0)
        return weir_error_set(error, WEIR_INVALID, "budgets is NULL, must be %zu %s",
                              count, WEIR_NOUN(count, "budget", "budgets"));
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status =
            weir_printable_check("budget", budgets[i], WEIR_BUDGET_NAME_SIZE_MAX, error);
        for (size_t j = 0; j < i && status == WEIR_OK; j++) {
            if (strcmp(budgets[i], budgets[j]) == 0)
                status = weir_error_set(error, WEIR_INVALID,
                                        "budget \"%s\" is named twice", budgets[i]);
        }
    }
    return status;
}

static enum weir_status check_key(const char *key, struct weir_error *error)
{
    if (key == NULL)
        return WEIR_OK;
    if (key[0] == '\0')
        return weir_error_set(error, WEIR_INVALID,
                              "idempotency key is empty, must have 1 to %d bytes",
                              WEIR_IDEMPOTENCY_KEY_SIZE_MAX);
    return check_text("idempotency key", key, key, WEIR_IDEMPOTENCY_KEY_SIZE_MAX, error);
}

enum weir_status weir_execution_draft_check(const struct weir_execution_draft *draft,
                                            uint32_t partitions, struct weir_error *error)
{
    enum weir_status status = check_id(draft->id, partitions, error);

    if (status == WEIR_OK)
        status = check_names(draft, error);
    if (status == WEIR_OK && draft->name != NULL)
        status = weir_member_name_check(draft->name, error);
    if (status == WEIR_OK)
        status = check_input(draft, error);
    if (status == WEIR_OK && draft->policy != NULL)
        status = weir_execution_policy_check(draft->policy, error);
    if (status == WEIR_OK)
        status = check_duration("delay_ms", draft->delay_ms, error);
    if (status == WEIR_OK)
        status = check_duration("deadline_ms", draft->deadline_ms, error);
    if (status == WEIR_OK)
        status =
            weir_capabilities_check(draft->capabilities, draft->capability_count, error);
    if (status == WEIR_OK)
        status = check_tags(draft->tags, draft->tag_count, error);
    if (status == WEIR_OK)
        status = check_budgets(draft->budgets, draft->budget_count, error);
    if (status == WEIR_OK)
        status = check_key(draft->idempotency_key, error);
    return status;
}

enum weir_status weir_execution_drafts_check(const struct weir_execution_draft *drafts,
                                             size_t count, uint32_t partitions,
                                             struct weir_error *error)
{
    for (size_t i = 0; i < count; i++) {
        enum weir_status status =
            weir_execution_draft_check(&drafts[i], partitions, error);

        if (status != WEIR_OK) {
            weir_error_prefix(error, "draft %zu of %zu", i + 1, count);
            return status;
        }
    }
    return WEIR_OK;
}

/* ---- the digest -------------------------------------------------------------------- */

/*
 * A digest of digests: every text is digested by itself, so that no two neighbours can
 * be cut differently and an input need not be copied. Numbers go in as eight bytes,
 * lowest first.
 */
enum { DIGEST_PARTS_SIZE = 1024 };

struct parts {
    uint8_t bytes[DIGEST_PARTS_SIZE];
    size_t size;
};

static void add_bytes(struct parts *self, const void *bytes, size_t size)
{
    weir_md5(bytes, size, self->bytes + self->size);
    self->size += WEIR_MD5_SIZE;
}

static void add_text(struct parts *self, const char *text)
{
    add_bytes(self, text, strlen(text));
}

static void add_number(struct parts *self, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        self->bytes[self->size++] = (uint8_t)(number >> (8 * i));
}

static void add_policy(struct parts *self, const struct weir_execution_policy *policy)
{
    uint64_t multiplier;

    memcpy(&multiplier, &policy->backoff_multiplier, sizeof multiplier);
    add_number(self, policy->retries_max);
    add_number(self, (uint64_t)policy->backoff);
    add_number(self, (uint64_t)policy->backoff_initial_ms);
    add_number(self, multiplier);
    add_number(self, (uint64_t)policy->backoff_max_ms);
    add_number(self, (uint64_t)policy->attempt_timeout_ms);
    add_number(self, policy->reclaims_max);
    add_number(self, policy->replays_max);
}

static void add_capabilities(struct parts *self, const struct weir_execution_draft *draft)
{
    char text[WEIR_CAPABILITY_SET_TEXT_SIZE];
    struct weir_str set =
        weir_capabilities_write(draft->capabilities, draft->capability_count, text);

    add_bytes(self, set.data, set.size);
}

/* In the order of their keys, which are there once each. */
static void add_tags(struct parts *self, const struct weir_execution_draft *draft)
{
    uint8_t digests[WEIR_TAGS_MAX * 2 * WEIR_MD5_SIZE];
    uint8_t *at = digests;
    const char *before = "";

    for (size_t n = 0; n < draft->tag_count; n++) {
        const struct weir_tag *next = NULL;

        for (size_t i = 0; i < draft->tag_count; i++) {
            const struct weir_tag *tag = &draft->tags[i];

            if (strcmp(tag->key, before) > 0 &&
                (next == NULL || strcmp(tag->key, next->key) < 0))
                next = tag;
        }
        weir_md5(next->key, strlen(next->key), at);
        weir_md5(next->value, strlen(next->value), at + WEIR_MD5_SIZE);
        at += 2 * WEIR_MD5_SIZE;
        before = next->key;
    }
    add_bytes(self, digests, (size_t)(at - digests));
}

/* In the order of their names, which are there once each. Without any there is nothing,
 * so that what was submitted before there were budgets is the same. */
static void add_budgets(struct parts *self, const struct weir_execution_draft *draft)
{
    const char *before = "";

    for (size_t n = 0; n < draft->budget_count; n++) {
        const char *next = NULL;

        for (size_t i = 0; i < draft->budget_count; i++) {
            const char *name = draft->budgets[i];

            if (strcmp(name, before) > 0 && (next == NULL || strcmp(name, next) < 0))
                next = name;
        }
        add_text(self, next);
        before = next;
    }
}

/* Of an id, which is found in every namespace. Of the default there is nothing, so that
 * what was submitted before this was added is the same. Its size tells it from
 * budgets. */
static void add_namespace(struct parts *self, const struct weir_execution_draft *draft)
{
    const char *name = weir_execution_draft_namespace(draft);

    if (draft->id == NULL || strcmp(name, NAMESPACE_DEFAULT) == 0)
        return;
    add_number(self, strlen(name));
    add_text(self, name);
}

/* Likewise; the number tells it from a namespace, whose size it cannot be. */
static void add_name(struct parts *self, const struct weir_execution_draft *draft)
{
    if (draft->name == NULL)
        return;
    add_number(self, UINT64_MAX);
    add_text(self, draft->name);
}

void weir_execution_draft_digest(const struct weir_execution_draft *draft,
                                 uint8_t out[WEIR_DRAFT_DIGEST_SIZE])
{
    struct weir_execution_policy policy = weir_execution_draft_policy(draft);
    struct parts parts = {.size = 0};

    add_bytes(&parts, draft->id != NULL ? draft->id->uuid : NULL,
              draft->id != NULL ? WEIR_UUID_SIZE : 0);
    add_text(&parts, draft->lane);
    add_text(&parts, draft->kind);
    add_bytes(&parts, draft->input, draft->input_size);
    add_number(&parts, (uint64_t)weir_priority_clamp(draft->priority));
    add_policy(&parts, &policy);
    add_number(&parts, (uint64_t)draft->delay_ms);
    add_number(&parts, (uint64_t)draft->deadline_ms);
    add_capabilities(&parts, draft);
    add_tags(&parts, draft);
    add_budgets(&parts, draft);
    add_namespace(&parts, draft);
    add_name(&parts, draft);
    weir_md5(parts.bytes, parts.size, out);
}
