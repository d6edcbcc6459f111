/*
 * Tests of server/config/load.c and its layers: which value counts.
 */
#include "config_fixture.h"
#include "kit/alloc_failures.h"
#include "server/config/key.h"
#include "weir/log.h"
#include "weir/time.h"

WEIR_TEST(config, has_the_defaults_of_the_page)
{
    struct config_fixture f;
    const struct weir_config *config;

    config_setup(&f);
    f.sources.db = "sqlite:shop.db";
    config_load(&f);
    config = f.config;

    check(config->server.name == NULL);
    check_int(config->server.roles,
              WEIR_SERVER_API | WEIR_SERVER_RELAY | WEIR_SERVER_SUPERVISE);
    check_int(config->server.threads, 1);
    check_int(config->server.grace_ns, WEIR_SECONDS(30));
    check_int(config->server.drain_delay_ns, 0);
    check_int(config->server.log_form, WEIR_LOG_FORM_AUTO);
    check_int(config->server.log_level, WEIR_LOG_INFO);
    check_int(config->http.listen.count, 1);
    check_str(config->http.listen.items[0].address, "127.0.0.1");
    check_int(config->http.listen.items[0].port, 9347);
    check(!config->http.listen.items[0].is_public);
    check(config->http.tls_certificate.path == NULL);
    check_int(config->http.unix_mode, 0660);
    check_int(config->http.connections_max, 12000);
    check_int(config->http.idle_timeout_ns, WEIR_SECONDS(75));
    check_int(config->http.header_max, 16 * 1024);
    check_int(config->http.body_max, 16 * 1024 * 1024);
    check_int(config->http.memory_max, 64 * 1024 * 1024);
    check_int(config->auth.mode, WEIR_AUTH_TOKENS);
    check(config->auth.unix_admin);
    check_int(config->supervisor.interval_ms[WEIR_RECONCILER_DELAYED_PROMOTER], 750);
    check_int(config->token_count + config->queue_count + config->relay_count, 0);
    check_int(config->database_count, 1);
    check_str(config->databases[0].name, "main");
    check_str(config->databases[0].url, "sqlite:shop.db");
    check_str(config->databases[0].prefix, "weir");
    check(config->databases[0].is_default);
    check_int(f.warnings.count, 0);
    config_teardown(&f);
}

WEIR_TEST(config, of_intervals_agrees_with_the_library)
{
    struct weir_execution_supervisor_options options;
    struct config_fixture f;

    weir_execution_supervisor_options_init(&options);
    config_setup(&f);
    f.sources.db = "sqlite:shop.db";
    config_load(&f);

    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++)
        check_int(f.config->supervisor.interval_ms[i], options.interval_ms[i]);
    check_int(f.config->databases[0].retention_ns / 1000000, options.retention_ms);
    config_teardown(&f);
}

WEIR_TEST(config, has_a_key_for_each_reconciler)
{
    const struct weir_config_section *section = weir_config_section_find("supervisor");
    char key[64];

    for (int i = 0; i < WEIR_RECONCILER_COUNT; i++) {
        snprintf(key, sizeof key, "interval_%s",
                 weir_reconciler_name((enum weir_reconciler)i));
        check(weir_config_section_find_key(section, key) != NULL);
    }
}

WEIR_TEST(config, is_read_from_a_file_in_types)
{
    struct config_fixture f;
    const struct weir_config_relay *relay;
    const struct weir_config_queue *queue;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[server]\nroles = api,relay\nlog = json\n"
                                    "log_level = error\n"
                                    "[queue shop.orders]\npartitions = 8\n"
                                    "unread = drop\nattempts_max = 0\nretain = 7d\n"
                                    "[relay audit]\nqueue = shop.orders\n"
                                    "to = file:audit.jsonl\nas = log\nfrom = now\n"
                                    "batch = 50\nhandlers = 2\nlease = 1min\n"
                                    "permissions = 0640\nenabled = no\n"
                                    "[supervisor]\ntag = region=eu=1\n"
                                    "interval_budget_reset = 1h\n");
    config_load(&f);
    relay = weir_config_find_relay(f.config, "audit");
    queue = &f.config->queues[0];

    check_int(f.config->server.roles, WEIR_SERVER_API | WEIR_SERVER_RELAY);
    check_int(f.config->server.log_form, WEIR_LOG_FORM_JSON);
    check_int(f.config->server.log_level, WEIR_LOG_ERROR);
    check_str(queue->name, "shop.orders");
    check_str(queue->database, "shop");
    check_int(queue->partitions, 8);
    check_int(queue->unread, WEIR_UNREAD_DROP);
    check_int(queue->retain_ns, WEIR_HOURS(7 * 24));
    check_int(queue->named,
              WEIR_POLICY_UNREAD | WEIR_POLICY_ATTEMPTS_MAX | WEIR_POLICY_RETAIN);
    check_str(relay->name, "audit");
    check_str(relay->database, "shop");
    check_str(relay->queue, "shop.orders");
    check_str(relay->to, "file:audit.jsonl");
    check_str(relay->as, "log");
    check_int(relay->from, WEIR_START_NOW);
    check_int(relay->batch, 50);
    check_int(relay->handlers, 2);
    check_int(relay->lease_ns, WEIR_MINUTES(1));
    check_int(relay->permissions, 0640);
    check(!relay->enabled);
    check_str(f.config->supervisor.tag_key, "region");
    check_str(f.config->supervisor.tag_value, "eu=1");
    check_int(f.config->supervisor.interval_ms[WEIR_RECONCILER_BUDGET_RESET], 3600000);
    check(weir_config_find_relay(f.config, "other") == NULL);
    config_teardown(&f);
}

WEIR_TEST(config, keeps_a_value_with_signs_of_comments_whole)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[relay a]\nqueue = q\n"
                                    "to = exec:./send 'a;b' # \"c\" = d\n");
    config_load(&f);
    check_str(f.config->relays[0].to, "exec:./send 'a;b' # \"c\" = d");
    config_teardown(&f);
}

WEIR_TEST(config, of_a_token_has_its_hash_scopes_and_patterns)
{
    struct config_fixture f;
    const struct weir_config_token *token;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE
                "[token ci]\n"
                "sha256 = "
                "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F\n"
                "scopes = producer, read\nqueues = orders.*, mail\n"
                "expires = 2027-01-01T00:00:00Z\n");
    config_load(&f);
    token = &f.config->tokens[0];

    check_str(token->name, "ci");
    for (int i = 0; i < 32; i++)
        check_int(token->sha256[i], i);
    check_int(token->scopes, WEIR_CONFIG_SCOPE_PRODUCER | WEIR_CONFIG_SCOPE_READ);
    check_int(token->queues.count, 2);
    check_str(token->queues.items[0], "orders.*");
    check_str(token->queues.items[1], "mail");
    check_int(token->lanes.count, 0);
    check_int(token->expires_us, INT64_C(1798761600000000));
    config_teardown(&f);
}

/* ---- layers ------------------------------------------------------------------------ */

static const char *origin_wanted;
static char origin_found[64];
static char value_found[128];

static void find_entry(void *state, const struct weir_config_entry *entry)
{
    (void)state;
    if (strcmp(entry->key->name, origin_wanted) != 0)
        return;
    snprintf(origin_found, sizeof origin_found, "%s", entry->origin);
    snprintf(value_found, sizeof value_found, "%s",
             entry->value != NULL ? entry->value : "not set");
}

/* "VALUE from ORIGIN" of the last key with this name. */
static const char *entry_of(const struct config_fixture *f, const char *key)
{
    static char text[256];

    origin_wanted = key;
    value_found[0] = '\0';
    weir_config_each(f->config, find_entry, NULL);
    snprintf(text, sizeof text, "%s from %s", value_found, origin_found);
    return text;
}

WEIR_TEST(config, counts_file_folder_environment_and_arguments_in_this_order)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[http]\nheader_timeout = 1s\nbody_timeout = 1s\n"
                                    "write_timeout = 1s\nidle_timeout = 1s\n");
    check_int(mkdir("weir.ini.d", 0700), 0);
    config_write("weir.ini.d/20.ini", "[http]\nidle_timeout = 3s\nwrite_timeout = 3s\n");
    config_write("weir.ini.d/10.ini", "[http]\nidle_timeout = 2s\nbody_timeout = 2s\n"
                                      "write_timeout = 2s\n");
    config_write("weir.ini.d/30.conf", "nonsense");
    config_write("weir.ini.d/.ini", "nonsense");
    config_write("weir.ini.d/.40.ini", "nonsense");
    config_variable(&f, "WEIR_HTTP_IDLE_TIMEOUT=4s");
    config_load(&f);

    check_str(entry_of(&f, "header_timeout"), "1s from weir.ini:4");
    check_str(entry_of(&f, "body_timeout"), "2s from weir.ini.d/10.ini:3");
    check_str(entry_of(&f, "write_timeout"), "3s from weir.ini.d/20.ini:3");
    check_str(entry_of(&f, "idle_timeout"), "4s from WEIR_HTTP_IDLE_TIMEOUT");
    check_str(entry_of(&f, "header_max"), "16KiB from default");

    config_set(&f, "http.idle_timeout=5s");
    config_set(&f, "http.header_max=5KiB");
    config_set(&f, "http.header_max=6KiB");
    config_load(&f);
    check_str(entry_of(&f, "idle_timeout"), "5s from --set http.idle_timeout");
    check_str(entry_of(&f, "header_max"), "6KiB from --set http.header_max");
    check_int(f.config->http.header_max, 6 * 1024);
    config_teardown(&f);
}

WEIR_TEST(config, counts_the_files_of_a_folder_by_their_names)
{
    static const int ORDER[] = {4, 9, 1, 7, 3, 8, 2, 6, 5};
    static const char *const KEYS[] = {"header", "body", "write", "idle"};
    struct config_fixture f;
    char path[32];
    char text[256];
    char key[32];

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    check_int(mkdir("weir.ini.d", 0700), 0);
    for (int i = 0; i < 9; i++) {
        /* The first key is in all files, the next one in all but the last ... */
        snprintf(path, sizeof path, "weir.ini.d/%d.ini", ORDER[i]);
        snprintf(text, sizeof text, "[http]\n");
        for (int k = 0; k < 4 && ORDER[i] <= 9 - k; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "%s_timeout = %ds\n", KEYS[k], ORDER[i]);
        config_write(path, text);
    }
    config_load(&f);
    for (int k = 0; k < 4; k++) {
        snprintf(key, sizeof key, "%s_timeout", KEYS[k]);
        snprintf(text, sizeof text, "%ds from weir.ini.d/%d.ini:%d", 9 - k, 9 - k, k + 2);
        check_str(entry_of(&f, key), text);
    }
    config_teardown(&f);
}

WEIR_TEST(config, checks_no_value_that_is_overwritten)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[http]\nidle_timeout = nonsense\n");
    config_set(&f, "http.idle_timeout=5s");
    config_load(&f);
    check_int(f.config->http.idle_timeout_ns, WEIR_SECONDS(5));
    config_teardown(&f);
}

WEIR_TEST(config, of_a_variable_finds_the_section_of_a_file)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[relay Mail.out-1]\nqueue = q\nto = stdout:\n");
    config_variable(&f, "WEIR_RELAY_MAIL_OUT_1_BATCH=7");
    config_load(&f);
    check_int(f.config->relay_count, 1);
    check_int(f.config->relays[0].batch, 7);
    config_teardown(&f);
}

WEIR_TEST(config, of_variables_alone_makes_a_section)
{
    struct config_fixture f;

    config_setup(&f);
    config_variable(&f, "WEIR_DATABASE_SHOP_EU_URL=sqlite:eu.db");
    config_variable(&f, "WEIR_DATABASE_SHOP_EU_STATEMENT_TIMEOUT=2s");
    config_load(&f);
    check_int(f.config->database_count, 1);
    check_str(f.config->databases[0].name, "shop-eu");
    check_str(f.config->databases[0].url, "sqlite:eu.db");
    check_int(f.config->databases[0].statement_timeout_ns, WEIR_SECONDS(2));
    config_teardown(&f);
}

WEIR_TEST(config, takes_an_empty_variable_for_none)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    config_variable(&f, "WEIR_HTTP_IDLE_TIMEOUT=");
    config_variable(&f, "WEIR_NONSENSE=");
    config_load(&f);
    check_str(entry_of(&f, "idle_timeout"), "75s from default");
    config_teardown(&f);
}

WEIR_TEST(config, leaves_variables_alone_that_are_not_its_own)
{
    static const char *const foreign[] = {"WEIR_PREFIX", NULL};
    struct config_fixture f;

    config_setup(&f);
    f.sources.foreign = foreign;
    config_file(&f, CONFIG_DATABASE);
    config_variable(&f, "WEIR_PREFIX=other");
    config_variable(&f, "WEIRD_HTTP_LISTEN=x");
    config_variable(&f, "HTTP_LISTEN=x");
    config_variable(&f, "WEIR_WITHOUT_A_SIGN");
    config_load(&f);
    config_teardown(&f);
}

WEIR_TEST(config, of_an_argument_takes_a_name_with_dots)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    config_set(&f, "queue.shop.orders.partitions=4");
    config_load(&f);
    check_str(f.config->queues[0].name, "shop.orders");
    check_int(f.config->queues[0].partitions, 4);
    config_teardown(&f);
}

WEIR_TEST(config, of_an_argument_keeps_the_signs_of_its_value)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[relay a]\nqueue = q\n");
    config_set(&f, "relay.a.to=exec:./send --key=a.b");
    config_load(&f);
    check_str(f.config->relays[0].to, "exec:./send --key=a.b");
    config_teardown(&f);
}

WEIR_TEST(config, takes_the_database_of_the_environment_only_if_there_is_none)
{
    struct config_fixture f;

    config_setup(&f);
    f.sources.db_without_file = "sqlite:other.db";
    f.sources.prefix = "w2";
    config_load(&f);
    check_str(f.config->databases[0].url, "sqlite:other.db");
    check_str(f.config->databases[0].prefix, "w2");

    config_file(&f, CONFIG_DATABASE);
    config_load(&f);
    check_int(f.config->database_count, 1);
    check_str(f.config->databases[0].url, "sqlite:shop.db");
    check_str(f.config->databases[0].prefix, "weir");
    config_teardown(&f);
}

WEIR_TEST(config, has_the_default_database_that_says_so)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[database b]\nurl = sqlite:b.db\ndefault = yes\n"
                                    "[queue q]\npartitions = 1\n");
    config_load(&f);
    check_str(weir_config_default_database(f.config)->name, "b");
    check_str(f.config->queues[0].database, "b");
    check_str(weir_config_find_database(f.config, "shop")->url, "sqlite:shop.db");
    check(weir_config_find_database(f.config, "c") == NULL);
    config_teardown(&f);
}

WEIR_TEST(config, may_have_no_default_database)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[database b]\nurl = sqlite:b.db\n");
    config_load(&f);
    check(weir_config_default_database(f.config) == NULL);
    config_teardown(&f);
}

WEIR_TEST(config, may_be_without_a_file_that_may_be_absent)
{
    struct config_fixture f;

    config_setup(&f);
    f.sources.file = "weir.ini";
    f.sources.file_may_be_absent = true;
    f.sources.db = "sqlite:shop.db";
    config_load(&f);

    f.sources.file_may_be_absent = false;
    config_refuse(&f, "weir.ini: cannot be read: No such file or directory");
}

WEIR_TEST(config, takes_a_folder_without_a_file)
{
    struct config_fixture f;

    config_setup(&f);
    f.sources.file = "weir.ini";
    f.sources.file_may_be_absent = true;
    check_int(mkdir("weir.ini.d", 0700), 0);
    config_write("weir.ini.d/a.ini", CONFIG_DATABASE);
    config_load(&f);
    check_str(f.config->databases[0].name, "shop");
    config_teardown(&f);
}

static enum weir_status load_with(const struct weir_heap *heap)
{
    struct config_fixture f;
    enum weir_status status;

    memset(&f, 0, sizeof f);
    f.sources.heap = heap;
    f.sources.file = "weir.ini";
    f.sources.environment = f.environment;
    f.sources.sets = f.sets;
    config_variable(&f, "WEIR_RELAY_B_TO=stdout:");
    config_set(&f, "relay.b.queue=mail");
    status = config_try(&f);
    config_teardown(&f);
    return status;
}

WEIR_TEST(config, survives_any_failing_allocation)
{
    struct config_fixture f;

    config_setup(&f);
    config_write("url", "postgresql://u:secret@h/shop\n");
    config_file(&f, "[database shop]\nurl_file = url\n[queue orders]\npartitions = 4\n"
                    "[relay a]\nqueue = orders\nto = stdout:\n"
                    "[http]\nlisten = 127.0.0.1:0, unix:/run/weir.sock\n"
                    "[supervisor]\ntag = a=b\n");
    check_alloc_failures(load_with);
}
