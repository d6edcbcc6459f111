/*
 * check.c - see check.h.
 *
 * The structs of a section are in the order of its groups, so that a mistake finds its
 * place by the index.
 */
#include "server/config/check.h"

#include <string.h>

#include "base/nearest.h"
#include "base/permissions.h"
#include "base/quote.h"
#include "base/text.h"
#include "db/sql.h"
#include "db/url.h"
#include "server/config/config.h"
#include "server/config/state.h"

enum { TEXT_SIZE = 200, HINT_SIZE = 128 };

/* A section, and its groups. */
struct checked {
    struct weir_config_loading *loading;
    struct weir_config *config;
};

static struct weir_config_group *group_of(const struct checked *self, const char *section,
                                          size_t index)
{
    const struct weir_config_groups *groups =
        weir_config_state_groups(self->loading->state, weir_config_section_find(section));

    return groups->items[index];
}

static const struct weir_config_key *key_of(const struct weir_config_group *group,
                                            const char *key)
{
    return weir_config_section_find_key(group->section, key);
}

static struct weir_config_setting *setting_of(const struct weir_config_group *group,
                                              const char *key)
{
    return weir_config_group_setting(group, key_of(group, key));
}

static bool is_given(const struct weir_config_group *group, const char *key)
{
    return setting_of(group, key)->text != NULL;
}

static void report(const struct checked *self, const struct weir_config_group *group,
                   const char *key, const char *text)
{
    weir_config_report_key(self->loading, group, key_of(group, key), text);
}

/* ---- databases --------------------------------------------------------------------- */

/* A URL with a password in the file is taken, and hidden from here on. */
static void note_password(const struct checked *self, struct weir_config_group *group)
{
    struct weir_config_setting *setting = setting_of(group, "url");
    char text[WEIR_ORIGIN_TEXT_SIZE];
    char section[WEIR_ORIGIN_TEXT_SIZE];

    setting->hidden = true;
    weir_mistakes_add(
        self->loading->warnings, setting->origin.place,
        "%s: %s url: has a password; url_file keeps it in a file of its own",
        weir_config_origin_text(&setting->origin, text),
        weir_config_group_text(group->section, group->name, section));
}

static void check_url(const struct checked *self, struct weir_config_group *group,
                      struct weir_config_database *database)
{
    const struct weir_heap *heap = self->loading->state->heap;
    const char *key = is_given(group, "url_file") ? "url_file" : "url";
    struct weir_error error = {0};
    struct weir_url url;
    enum weir_status status = weir_url_parse(heap, database->url, &url, &error);

    if (status == WEIR_NO_MEMORY)
        self->loading->out_of_memory = true;
    else if (status != WEIR_OK)
        report(self, group, key, error.text);
    else if (strcmp(key, "url") == 0 && weir_url_has_password(&url))
        note_password(self, group);
    weir_url_fini(heap, &url);
}

/* *database->url, from one of the two keys. */
static void find_url(const struct checked *self, struct weir_config_group *group,
                     struct weir_config_database *database)
{
    if (is_given(group, "url") && is_given(group, "url_file"))
        report(self, group, "url", "is given, and url_file as well; keep one of them");
    else if (!is_given(group, "url") && !is_given(group, "url_file"))
        report(self, group, "url", "is missing; write url or url_file");
    else if (database->url_file.path != NULL)
        database->url = database->url_file.content.data;
    if (database->url != NULL)
        check_url(self, group, database);
}

static void check_same(const struct checked *self, size_t index)
{
    const struct weir_config_database *databases = self->config->databases;
    const struct weir_config_database *database = &databases[index];
    char text[TEXT_SIZE];

    for (size_t i = 0; i < index; i++) {
        const struct weir_config_database *other = &databases[i];

        if (database->url == NULL || other->url == NULL || database->prefix == NULL ||
            other->prefix == NULL || strcmp(database->url, other->url) != 0 ||
            strcmp(database->prefix, other->prefix) != 0)
            continue;
        weir_text_format(text, sizeof text, "is that of [database %s], with its prefix",
                         other->name);
        report(self, group_of(self, "database", index), "url", text);
        return;
    }
}

/* One is the default: that which says so, or the only one. */
static void find_default(const struct checked *self)
{
    struct weir_config *config = self->config;
    const struct weir_config_group *first = NULL;
    char where[WEIR_ORIGIN_TEXT_SIZE];
    char text[TEXT_SIZE];

    if (config->database_count == 1)
        config->databases[0].is_default = true;
    for (size_t i = 0; i < config->database_count; i++) {
        const struct weir_config_group *group = group_of(self, "database", i);

        if (!config->databases[i].is_default)
            continue;
        if (first == NULL) {
            first = group;
            continue;
        }
        weir_text_format(
            text, sizeof text, "[database %s] is the default already (%s)", first->name,
            weir_config_origin_text(&setting_of(first, "default")->origin, where));
        report(self, group, "default", text);
    }
}

static void check_databases(const struct checked *self)
{
    struct weir_config *config = self->config;

    for (size_t i = 0; i < config->database_count; i++) {
        struct weir_config_group *group = group_of(self, "database", i);
        struct weir_config_database *database = &config->databases[i];
        struct weir_error error = {0};

        find_url(self, group, database);
        if (database->prefix != NULL &&
            weir_prefix_check(database->prefix, &error) != WEIR_OK)
            report(self, group, "prefix", error.text);
        check_same(self, i);
    }
    find_default(self);
}

/* ---- names of databases ------------------------------------------------------------ */

/* "; shop (line 8)?", of the file in which the mistake is. */
static void suggest_database(const struct checked *self,
                             const struct weir_config_setting *setting, char *out,
                             size_t size)
{
    const struct weir_config_group *nearest = NULL;
    char where[WEIR_ORIGIN_TEXT_SIZE];

    out[0] = '\0';
    for (size_t i = 0; i < self->config->database_count; i++) {
        const struct weir_config_group *group = group_of(self, "database", i);
        const char *names[] = {group->name, nearest != NULL ? nearest->name : ""};

        if (weir_nearest_find(setting->text, names, nearest != NULL ? 2 : 1) ==
            group->name)
            nearest = group;
    }
    if (nearest == NULL)
        return;
    if (nearest->origin.source == setting->origin.source && nearest->origin.line > 0)
        weir_text_format(out, size, "; %s (line %u)?", nearest->name,
                         nearest->origin.line);
    else
        weir_text_format(out, size, "; %s (%s)?", nearest->name,
                         weir_config_origin_text(&nearest->origin, where));
}

static void refuse_database(const struct checked *self,
                            const struct weir_config_group *group)
{
    const struct weir_config_setting *setting = setting_of(group, "database");
    struct weir_quote shown;
    char hint[HINT_SIZE];
    char text[TEXT_SIZE];

    suggest_database(self, setting, hint, sizeof hint);
    weir_text_format(text, sizeof text, "\"%s\" is not configured%s",
                     weir_quote(&shown, setting->text), hint);
    report(self, group, "database", text);
}

/* *name is that of a database that is configured. */
static void find_database(const struct checked *self,
                          const struct weir_config_group *group, const char **name)
{
    const struct weir_config_database *main = weir_config_default_database(self->config);

    if (*name != NULL) {
        if (weir_config_find_database(self->config, *name) == NULL)
            refuse_database(self, group);
    } else if (is_given(group, "database")) {
        return; /* refused before */
    } else if (main != NULL) {
        *name = main->name;
    } else if (self->config->database_count > 0) {
        report(self, group, "database",
               "is missing: there are several, and none is the default");
    }
}

/* ---- queues and relays ------------------------------------------------------------- */

static void check_queues(const struct checked *self)
{
    for (size_t i = 0; i < self->config->queue_count; i++) {
        struct weir_config_queue *queue = &self->config->queues[i];
        const struct weir_config_group *group = group_of(self, "queue", i);
        uint32_t partitions = queue->partitions;
        char text[TEXT_SIZE];

        find_database(self, group, &queue->database);
        if ((partitions & (partitions - 1)) == 0)
            continue;
        weir_text_format(text, sizeof text,
                         "\"%u\" is no power of two; 1, 2, 4, 8, 16, 32 or 64",
                         partitions);
        report(self, group, "partitions", text);
    }
}

static bool equal(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Two relays of one subscription in one process would share its partitions. */
static void check_subscription(const struct checked *self, size_t index)
{
    const struct weir_config_relay *relays = self->config->relays;
    const struct weir_config_relay *relay = &relays[index];
    char where[WEIR_ORIGIN_TEXT_SIZE];
    char text[TEXT_SIZE];

    for (size_t i = 0; i < index; i++) {
        if (!equal(relay->database, relays[i].database) ||
            !equal(relay->queue, relays[i].queue) || !equal(relay->as, relays[i].as))
            continue;
        weir_text_format(
            text, sizeof text, "\"%s\" of queue %.64s is served by [relay %s] (%s)",
            relay->as, relay->queue, relays[i].name,
            weir_config_origin_text(&group_of(self, "relay", i)->origin, where));
        report(self, group_of(self, "relay", index), "as", text);
        return;
    }
}

static void check_relays(const struct checked *self)
{
    static const char FILE_SINK[] = "file:";

    for (size_t i = 0; i < self->config->relay_count; i++) {
        struct weir_config_relay *relay = &self->config->relays[i];
        const struct weir_config_group *group = group_of(self, "relay", i);

        find_database(self, group, &relay->database);
        check_subscription(self, i);
        if (relay->to != NULL && relay->permissions != WEIR_PERMISSIONS_OWNER &&
            relay->permissions != 0 &&
            strncmp(relay->to, FILE_SINK, strlen(FILE_SINK)) != 0)
            report(self, group, "permissions", "is for file: only");
    }
}

/* ---- addresses --------------------------------------------------------------------- */

static void check_tls(const struct checked *self, const struct weir_config_group *http)
{
    const struct weir_config_http *values = &self->config->http;
    bool certificate = is_given(http, "tls_certificate_file");

    if (certificate && !is_given(http, "tls_key_file"))
        report(self, http, "tls_certificate_file", "needs tls_key_file");
    if (!certificate && is_given(http, "tls_key_file"))
        report(self, http, "tls_key_file", "needs tls_certificate_file");
    if (values->tls_client != WEIR_TLS_CLIENT_NO && !certificate)
        report(self, http, "tls_client", "needs tls_certificate_file");
    else if (values->tls_client != WEIR_TLS_CLIENT_NO &&
             !is_given(http, "tls_client_ca_file"))
        report(self, http, "tls_client", "needs tls_client_ca_file");
    if (values->tls_client == WEIR_TLS_CLIENT_NO &&
        is_given(http, "tls_client_ca_file") && !is_given(http, "tls_client"))
        report(self, http, "tls_client_ca_file", "needs tls_client");
}

/* Without TLS a token can be read on the way, without tokens every client is admitted. */
static void check_public(const struct checked *self, const struct weir_config_group *http)
{
    const struct weir_config *config = self->config;
    const struct weir_config_listeners *listeners = &config->http.listen;
    bool tls = is_given(http, "tls_certificate_file");
    char text[TEXT_SIZE];

    for (size_t i = 0; i < listeners->count && !config->http.insecure_public; i++) {
        const struct weir_config_listener *listener = &listeners->items[i];
        const char *missing = !tls ? "TLS" : "tokens";

        if (!listener->is_public || (tls && config->auth.mode == WEIR_AUTH_TOKENS))
            continue;
        weir_text_format(
            text, sizeof text,
            "%.64s is public, and there %s no %s; see %s and insecure_public",
            listener->text, tls ? "are" : "is", missing,
            tls ? "[auth] mode" : "tls_certificate_file");
        report(self, http, "listen", text);
    }
}

static void warn_insecure(const struct checked *self,
                          const struct weir_config_group *http)
{
    const struct weir_config_setting *setting = setting_of(http, "insecure_public");
    char text[WEIR_ORIGIN_TEXT_SIZE];

    if (self->config->http.insecure_public)
        weir_mistakes_add(self->loading->warnings, setting->origin.place,
                          "%s: [http] insecure_public: a public address needs no TLS and "
                          "no tokens",
                          weir_config_origin_text(&setting->origin, text));
}

static void check_limits(const struct checked *self)
{
    const struct weir_config *config = self->config;

    if (config->http.body_max > config->http.memory_max && config->http.memory_max > 0)
        report(self, group_of(self, "http", 0), "body_max", "is larger than memory_max");
}

void weir_config_check(struct weir_config_loading *loading, struct weir_config *config)
{
    const struct checked checked = {loading, config};
    const struct weir_config_group *http = group_of(&checked, "http", 0);

    check_databases(&checked);
    check_queues(&checked);
    check_relays(&checked);
    check_tls(&checked, http);
    check_public(&checked, http);
    warn_insecure(&checked, http);
    check_limits(&checked);
}
