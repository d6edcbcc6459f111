/*
 * Tests of server/config/value.c: each type of value, at and beyond its limits.
 */
#include "config_fixture.h"
#include "server/config/key.h"
#include "weir/time.h"

static void refuse_line(const char *section, const char *line, const char *mistake)
{
    char text[512];
    char whole[512];

    snprintf(text, sizeof text, "[%s]\n%s\n", section, line);
    snprintf(whole, sizeof whole, "weir.ini:4: [%s] %s", section, mistake);
    config_refuse_file(text, whole);
}

static void take_line(struct config_fixture *f, const char *section, const char *line)
{
    char text[512];

    config_teardown(f);
    config_setup(f);
    snprintf(text, sizeof text, "%s[%s]\n%s\n", CONFIG_DATABASE, section, line);
    config_file(f, text);
    config_load(f);
}

WEIR_TEST(value, of_a_duration_has_a_unit)
{
    refuse_line("http", "idle_timeout = 75",
                "idle_timeout: \"75\" has no unit; write 75s");
    refuse_line(
        "http", "idle_timeout = 1.5s",
        "idle_timeout: \"1.5s\" is no duration, as in 500ms, 30s, 5min, 1h or 7d");
    refuse_line("http", "idle_timeout =",
                "idle_timeout: \"\" is no duration, as in 500ms, 30s, 5min, 1h or 7d");
    refuse_line("http", "idle_timeout = \"75s\"",
                "idle_timeout: \"\"75s\"\" is no duration, as in 500ms, 30s, 5min, 1h or "
                "7d");
}

WEIR_TEST(value, of_a_duration_is_within_its_limits)
{
    struct config_fixture f = {.config = NULL};

    take_line(&f, "http", "header_timeout = 10min");
    check_int(f.config->http.header_timeout_ns, WEIR_MINUTES(10));
    take_line(&f, "http", "header_timeout = 100ms");
    check_int(f.config->http.header_timeout_ns, WEIR_MILLISECONDS(100));
    config_teardown(&f);
    refuse_line("http", "header_timeout = 11min",
                "header_timeout: \"11min\" is too long; at most 10min");
    refuse_line("http", "header_timeout = 99ms",
                "header_timeout: \"99ms\" is too short; at least 100ms");
    refuse_line("supervisor", "interval_dependency = 99ms",
                "interval_dependency: \"99ms\" is too short; at least 100ms");
    refuse_line("auth", "cache = 61s", "cache: \"61s\" is too long; at most 1min");
}

WEIR_TEST(value, of_a_duration_may_be_zero_where_that_means_something)
{
    struct config_fixture f = {.config = NULL};

    take_line(&f, "database a", "url = sqlite:a.db\nretention = 0");
    check_int(f.config->databases[1].retention_ns, 0);
    take_line(&f, "server", "grace = 0s");
    check_int(f.config->server.grace_ns, 0);
    config_teardown(&f);
    refuse_line("http", "header_timeout = 0",
                "header_timeout: \"0\" is too short; at least 100ms");
}

WEIR_TEST(value, of_a_number_is_within_its_limits)
{
    struct config_fixture f = {.config = NULL};

    take_line(&f, "server", "threads = 16");
    check_int(f.config->server.threads, 16);
    config_teardown(&f);
    refuse_line("server", "threads = 17", "threads: \"17\" is too large; at most 16");
    refuse_line("server", "threads = 0", "threads: \"0\" is too small; at least 1");
    refuse_line("server", "threads = two", "threads: \"two\" is no whole number");
    refuse_line("server", "threads = -1", "threads: \"-1\" is no whole number");
    refuse_line("server", "threads = 1.0", "threads: \"1.0\" is no whole number");
    refuse_line("server", "threads = 99999999999999999999",
                "threads: \"99999999999999999999\" is too large; at most 16");
}

WEIR_TEST(value, of_a_number_may_have_64_bits)
{
    struct config_fixture f = {.config = NULL};

    take_line(&f, "queue q", "partitions = 1\nbacklog_max = 9223372036854775807");
    check_int(f.config->queues[0].backlog_max, INT64_MAX);
    config_teardown(&f);
}

WEIR_TEST(value, of_a_size_has_a_unit)
{
    refuse_line("http", "header_max = 16384",
                "header_max: \"16384\" has no unit; write 16KiB");
    refuse_line("http", "header_max = 16kB",
                "header_max: \"16kB\" is no size, as in 512B, 64KiB, 16MiB or 1GiB");
    refuse_line("http", "header_max = 1025KiB",
                "header_max: \"1025KiB\" is too large; at most 1MiB");
    refuse_line("http", "header_max = 1023B",
                "header_max: \"1023B\" is too small; at least 1KiB");
}

WEIR_TEST(value, of_a_flag_is_yes_or_no)
{
    struct config_fixture f = {.config = NULL};

    take_line(&f, "auth", "unix_admin = no");
    check(!f.config->auth.unix_admin);
    config_teardown(&f);
    refuse_line("auth", "unix_admin = true",
                "unix_admin: \"true\" is neither yes nor no; yes?");
    refuse_line("auth", "unix_admin = 0", "unix_admin: \"0\" is neither yes nor no; no?");
    refuse_line("auth", "unix_admin = maybe",
                "unix_admin: \"maybe\" is neither yes nor no");
}

WEIR_TEST(value, of_a_choice_is_one_of_its_words)
{
    refuse_line("server", "log = jsn",
                "log: \"jsn\" is none of auto, plain, logfmt and json; json?");
    refuse_line("server", "log_level = verbose",
                "log_level: \"verbose\" is none of debug, info, warn and error");
    refuse_line("http", "tls_min = 1.1", "tls_min: \"1.1\" is none of 1.2 and 1.3; 1.2?");
}

WEIR_TEST(value, of_a_list_of_words_has_some_of_them)
{
    refuse_line("server", "roles = api, relais",
                "roles: \"relais\" is none of api, relay and supervise; relay?");
    refuse_line("server", "roles =", "roles: has no value");
    refuse_line("server", "roles = api,,relay", "roles: item 2 of the list is empty");
    refuse_line("server", "roles = api,", "roles: item 2 of the list is empty");
}

WEIR_TEST(value, of_permissions_is_octal)
{
    refuse_line("http", "unix_mode = 0777",
                "unix_mode: \"0777\" must be octal from 0600 to 0666, as in 0640");
}

WEIR_TEST(value, of_a_name_has_the_rule_of_names)
{
    refuse_line("relay r", "queue = a b\nto = stdout:",
                "queue: name \"a b\" has byte 0x20 at 1, must be ASCII letters, digits, "
                "'.', '_' and '-'");
}

WEIR_TEST(value, of_a_text_is_not_empty)
{
    refuse_line("server", "name =", "name: has no value");
}

WEIR_TEST(value, of_a_sink_has_a_kind_and_a_target)
{
    refuse_line("relay r", "to = exce:./send\nqueue = q",
                "to: begins with no kind of sink; exec:?");
    refuse_line("relay r", "to = kafka:x\nqueue = q",
                "to: begins with no kind of sink; stdout:, file:, exec: and exec-stream: "
                "are");
    refuse_line("relay r", "to = file\nqueue = q",
                "to: begins with no kind of sink; file:?");
    refuse_line("relay r", "to = file:\nqueue = q", "to: is empty; write file:PATH");
}

WEIR_TEST(value, of_a_tag_is_a_pair)
{
    refuse_line("supervisor", "tag = eu", "tag: \"eu\" is no KEY=VALUE");
    refuse_line("supervisor", "tag = =eu", "tag: \"=eu\" is no KEY=VALUE");
}

WEIR_TEST(value, of_a_moment_is_one)
{
    char line[200];

    snprintf(line, sizeof line, "expires = tomorrow\nscopes = read\nsha256 = %064d", 0);
    refuse_line("token t", line,
                "expires: \"tomorrow\" is no time, as in 2027-01-31T12:00:00Z");
}

WEIR_TEST(value, of_a_listener_is_in_its_list_once)
{
    refuse_line("http", "listen = 127.0.0.1:1, 127.0.0.1:1",
                "listen: \"127.0.0.1:1\" is in the list twice");
    refuse_line("http", "listen =", "listen: has no value");
}

WEIR_TEST(value, of_a_list_has_at_most_a_thousand_items)
{
    struct config_fixture f;
    char text[4096] = CONFIG_DATABASE "[http]\nlisten = 127.0.0.1:1";

    for (int i = 0; i < 1000; i++)
        strcat(text, ",a");
    strcat(text, "\n");
    config_setup(&f);
    config_file(&f, text);
    config_refuse(&f, "weir.ini:4: [http] listen: has 1001 items, at most 1000");
}

/* Every default is what its own key would take. */
WEIR_TEST(value, of_every_default_is_valid)
{
    for (size_t i = 0; i < weir_config_section_count; i++) {
        const struct weir_config_section *section = &weir_config_sections[i];

        for (size_t k = 0; k < section->key_count; k++) {
            const struct weir_config_key *key = &section->keys[k];

            check(key->owner_size == section->struct_size);
            check(key->help != NULL && key->help[strlen(key->help) - 1] != '.');
            check(!(key->required && key->fallback != NULL));
            check(weir_config_section_find_key(section, key->name) == key);
        }
    }
}
