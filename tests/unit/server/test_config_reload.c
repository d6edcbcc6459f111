/*
 * Tests of server/config/compare.c.
 */
#include "config_fixture.h"
#include "server/config/key.h"

enum { TEXT_SIZE = 4096 };

static char changes[TEXT_SIZE];

static void keep_change(void *state, const struct weir_config_change *change)
{
    size_t used = strlen(changes);

    (void)state;
    if (change->kind == WEIR_CONFIG_CHANGED)
        snprintf(changes + used, sizeof changes - used, "%s %s.%s: %s -> %s;",
                 change->section->name, change->name != NULL ? change->name : "",
                 change->key->name, change->before != NULL ? change->before : "-",
                 change->after != NULL ? change->after : "-");
    else
        snprintf(changes + used, sizeof changes - used, "%s%s %s;",
                 change->kind == WEIR_CONFIG_ADDED ? "+" : "-", change->section->name,
                 change->name);
}

struct pair {
    struct config_fixture before;
    struct config_fixture after;
};

/* Both files in one folder, the second over the first. */
static void load_pair(struct pair *self, const char *before, const char *after)
{
    char text[TEXT_SIZE];

    config_setup(&self->before);
    snprintf(text, sizeof text, "%s%s", CONFIG_DATABASE, before);
    config_file(&self->before, text);
    config_load(&self->before);
    memset(&self->after, 0, sizeof self->after);
    snprintf(text, sizeof text, "%s%s", CONFIG_DATABASE, after);
    config_file(&self->after, text);
    config_load(&self->after);
}

static void end_pair(struct pair *self)
{
    config_teardown(&self->before);
    config_teardown(&self->after);
}

static const char *changes_of(const char *before, const char *after)
{
    struct pair pair;

    load_pair(&pair, before, after);
    changes[0] = '\0';
    weir_config_compare(pair.before.config, pair.after.config, keep_change, NULL);
    end_pair(&pair);
    return changes;
}

static bool reloads(const char *before, const char *after, struct weir_mistakes *mistakes)
{
    struct pair pair;
    bool answer;

    load_pair(&pair, before, after);
    answer = weir_config_check_reload(pair.before.config, pair.after.config, mistakes);
    end_pair(&pair);
    return answer;
}

#define RELAY "[relay a]\nqueue = q\nto = stdout:\n"

WEIR_TEST(reload, of_the_same_changes_nothing)
{
    check_str(changes_of("[http]\nidle_timeout = 75s\n" RELAY,
                         RELAY "# moved\n[http]\nidle_timeout=75s"),
              "");
}

WEIR_TEST(reload, compares_values_and_not_texts)
{
    check_str(changes_of("[server]\nroles = relay,api\ngrace = 60s\n"
                         "[http]\nbody_max = 1MiB\nlisten = 127.0.0.1:1\n",
                         "[server]\nroles = api, relay\ngrace = 1min\n"
                         "[http]\nbody_max = 1024KiB\nlisten =  127.0.0.1:1\n"),
              "");
    check_str(changes_of("", "[http]\nidle_timeout = 75000ms\n"), "");
}

WEIR_TEST(reload, names_a_key_with_both_values)
{
    check_str(changes_of("[server]\nlog = json\n", "[server]\nlog_level = debug\n"),
              "server .log: json -> auto;server .log_level: info -> debug;");
    check_str(changes_of("", "[server]\nname = a\n"), "server .name: - -> a;");
}

WEIR_TEST(reload, names_relays_that_come_change_and_go)
{
    check_str(changes_of(RELAY "[relay b]\nqueue = q\nto = stdout:\nas = b\n",
                         RELAY "batch = 7\n[relay c]\nqueue = q\nto = stdout:\nas = c\n"),
              "-relay b;relay a.batch: 0 -> 7;+relay c;");
}

WEIR_TEST(reload, compares_every_type_of_value)
{
    static const char TOKEN[] = "[token t]\nsha256 = "
                                "%064d\nscopes = read\nqueues = %s\nexpires = %s\n";
    char before[512];
    char after[512];

    snprintf(before, sizeof before, TOKEN, 0, "a, b", "2027-01-01");
    snprintf(after, sizeof after, TOKEN, 1, "a", "2027-01-01T00:00:01Z");
    check_str(changes_of(before, after),
              "token t.sha256: "
              "0000000000000000000000000000000000000000000000000000000000000000 -> "
              "0000000000000000000000000000000000000000000000000000000000000001;"
              "token t.queues: a, b -> a;"
              "token t.expires: 2027-01-01 -> 2027-01-01T00:00:01Z;");
    snprintf(after, sizeof after, TOKEN, 0, "a, c", "2027-01-01T00:00:00Z");
    check_str(changes_of(before, after), "token t.queues: a, b -> a, c;");
    check_str(changes_of("[http]\nunix_mode = 0600\n[auth]\nunix_admin = yes\n"
                         "[supervisor]\ntag = a=b\ninterval_dependency = 1s\n",
                         "[http]\nunix_mode = 0660\n[auth]\nunix_admin = no\n"
                         "[supervisor]\ntag = a=c\ninterval_dependency = 2s\n"),
              "http .unix_mode: 0600 -> 0660;auth .unix_admin: yes -> no;"
              "supervisor .tag: a=b -> a=c;"
              "supervisor .interval_dependency: 1s -> 2s;");
    check_str(changes_of("[http]\nlisten = 127.0.0.1:1\n",
                         "[http]\nlisten = 127.0.0.1:1, 127.0.0.1:2\n"),
              "http .listen: 127.0.0.1:1 -> 127.0.0.1:1, 127.0.0.1:2;");
}

WEIR_TEST(reload, sees_a_policy_that_is_named_now)
{
    check_str(changes_of("[queue q]\npartitions = 1\n",
                         "[queue q]\npartitions = 1\nattempts_max = 0\n"),
              "queue q.attempts_max: 0 -> 0;");
}

WEIR_TEST(reload, sees_a_file_that_has_another_content)
{
    struct pair pair;

    config_setup(&pair.before);
    memset(&pair.after, 0, sizeof pair.after);
    config_write("pem", "one");
    config_file(&pair.before, CONFIG_DATABASE "[http]\ntls_certificate_file = pem\n"
                                              "tls_key_file = pem\n");
    config_load(&pair.before);
    config_write("pem", "two");
    pair.after.sources.file = "weir.ini";
    config_load(&pair.after);
    changes[0] = '\0';
    weir_config_compare(pair.before.config, pair.after.config, keep_change, NULL);
    check_str(changes, "http .tls_certificate_file: pem -> pem;"
                       "http .tls_key_file: pem -> pem;");
    check(weir_config_check_reload(pair.before.config, pair.after.config,
                                   &pair.after.mistakes));
    end_pair(&pair);
}

WEIR_TEST(reload, names_the_file_of_a_url_and_not_the_url)
{
    struct pair pair;

    config_setup(&pair.before);
    memset(&pair.after, 0, sizeof pair.after);
    config_write("url", "sqlite:a.db");
    config_file(&pair.before, "[database shop]\nurl_file = url\n");
    config_load(&pair.before);
    config_write("url", "sqlite:b.db");
    pair.after.sources.file = "weir.ini";
    config_load(&pair.after);
    changes[0] = '\0';
    weir_config_compare(pair.before.config, pair.after.config, keep_change, NULL);
    check_str(changes, "database shop.url_file: url -> url;");
    end_pair(&pair);
}

WEIR_TEST(reload, takes_keys_that_need_no_restart)
{
    struct weir_mistakes mistakes;

    check(reloads("", "[auth]\ncache = 1s\nunix_admin = no\n" RELAY, &mistakes));
    check_int(mistakes.count, 0);
    check(reloads(RELAY, "", &mistakes));
}

WEIR_TEST(reload, refuses_keys_that_need_a_restart_and_names_each)
{
    struct weir_mistakes mistakes;

    check(!reloads("[auth]\ncache = 1s\n",
                   "[server]\nname = a\nthreads = 2\n"
                   "[http]\nlisten = 127.0.0.1:1\n" RELAY,
                   &mistakes));
    check_int(mistakes.count, 3);
    check_str(mistakes.items[0].text,
              "weir.ini:4: [server] name: was not set, is \"a\"; needs a restart");
    check_str(mistakes.items[1].text,
              "weir.ini:5: [server] threads: was \"1\", is \"2\"; needs a restart");
    check_str(mistakes.items[2].text,
              "weir.ini:7: [http] listen: was \"127.0.0.1:9347\", is \"127.0.0.1:1\"; "
              "needs a restart");
}

WEIR_TEST(reload, refuses_databases_that_come_or_go)
{
    struct weir_mistakes mistakes;

    check(!reloads("default = yes\n[database b]\nurl = sqlite:b.db\n",
                   "default = yes\n[database c]\nurl = sqlite:c.db\n", &mistakes));
    check_int(mistakes.count, 2);
    check_str(mistakes.items[0].text, "[database b]: is gone; needs a restart");
    check_str(mistakes.items[1].text,
              "weir.ini:4: [database c]: is new; needs a restart");
}

WEIR_TEST(reload, hides_secrets)
{
    struct weir_mistakes mistakes;

    check(!reloads("[database b]\nurl = postgresql://u:one@h/b\n",
                   "[database b]\nurl = postgresql://u:two@h/b\n", &mistakes));
    check_int(mistakes.count, 1);
    check_str(mistakes.items[0].text,
              "weir.ini:4: [database b] url: was \"***\", is \"***\"; needs a restart");
}
