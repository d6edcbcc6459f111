/*
 * What a mistake in a configuration is answered with.
 */
#include "config_fixture.h"

/* ---- names ------------------------------------------------------------------------- */

WEIR_TEST(config, names_the_nearest_key)
{
    config_refuse_file("[http]\ntls_certficate_file = x\n",
                       "weir.ini:4: [http] tls_certficate_file: there is no such key; "
                       "tls_certificate_file?");
    config_refuse_file("[http]\nzzz = x\n",
                       "weir.ini:4: [http] zzz: there is no such key");
}

WEIR_TEST(config, names_the_section_that_has_the_key)
{
    config_refuse_file("[http]\nthreads = 2\n",
                       "weir.ini:4: [server] has \"threads\", [http] has not");
}

WEIR_TEST(config, names_the_nearest_section)
{
    config_refuse_file("[htpp]\nlisten = x\n",
                       "weir.ini:3: [htpp]: there is no such section; http?");
    config_refuse_file("[webhooks]\nkey_file = x\n",
                       "weir.ini:3: [webhooks]: there is no such section");
}

WEIR_TEST(config, refuses_a_key_of_a_feature_that_is_not_there)
{
    config_refuse_file("[audit]\nexport = queue\n",
                       "weir.ini:3: [audit]: there is no such section");
    config_refuse_file("[http]\ntls_proxies = 10.0.0.0/8\n",
                       "weir.ini:4: [http] tls_proxies: there is no such key");
}

WEIR_TEST(config, refuses_a_section_with_a_wrong_name)
{
    config_refuse_file("[http x]\nlisten = y\n",
                       "weir.ini:3: [http] has no name; write [http]");
    config_refuse_file("[relay]\nto = y\n",
                       "weir.ini:3: [relay] needs a name; write [relay NAME]");
    config_refuse_file("[relay -a]\nto = y\n",
                       "weir.ini:3: [relay] \"-a\" is no name; it has 1 to 64 of A-Z a-z "
                       "0-9 . _ -, the first and last a letter or digit");
    config_refuse_file("[relay a b]\nto = y\n",
                       "weir.ini:3: [relay] \"a b\" is no name; it has 1 to 64 of A-Z "
                       "a-z 0-9 . _ -, the first and last a letter or digit");
}

WEIR_TEST(config, takes_a_name_of_64_bytes_and_of_a_queue_of_1024)
{
    struct config_fixture f;
    char name[1100];
    char text[1400];

    config_setup(&f);
    for (size_t size = 64; size <= 65; size++) {
        memset(name, 'a', size);
        name[size] = '\0';
        snprintf(text, sizeof text, "[database %s]\nurl = sqlite:a.db\n", name);
        config_file(&f, text);
        check_status(config_try(&f), size == 64 ? WEIR_OK : WEIR_INVALID);
    }
    for (size_t size = 1024; size <= 1025; size++) {
        memset(name, 'a', size);
        name[size] = '\0';
        snprintf(text, sizeof text, CONFIG_DATABASE "[queue %s]\npartitions = 1\n", name);
        config_file(&f, text);
        check_status(config_try(&f), size == 1024 ? WEIR_OK : WEIR_INVALID);
    }
    config_teardown(&f);
}

/* ---- twice ------------------------------------------------------------------------- */

WEIR_TEST(config, names_both_lines_of_a_key_that_is_twice)
{
    config_refuse_file("[http]\nlisten = 127.0.0.1:1\n\nlisten = 127.0.0.1:2\n",
                       "weir.ini:6: [http] listen: is in line 4 already");
}

WEIR_TEST(config, names_both_lines_of_a_section_that_is_twice)
{
    config_refuse_file("[http]\n[server]\n[http]\n",
                       "weir.ini:5: [http]: begins in line 3 already");
    config_refuse_file("[relay a]\nqueue = q\nto = stdout:\n[relay a]\nas = b\n",
                       "weir.ini:6: [relay a]: begins in line 3 already");
}

WEIR_TEST(config, names_both_lines_of_a_key_in_a_section_that_is_twice)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE
                "[http]\nheader_timeout = 1s\n[http]\nheader_timeout = 2s\n");
    check_status(config_try(&f), WEIR_INVALID);
    check_int(f.mistakes.count, 2);
    check_str(f.mistakes.items[0].text, "weir.ini:5: [http]: begins in line 3 already");
    check_str(f.mistakes.items[1].text,
              "weir.ini:6: [http] header_timeout: is in line 4 already");
}

/* ---- many -------------------------------------------------------------------------- */

WEIR_TEST(config, tells_twenty_mistakes_by_their_lines_and_counts_the_next)
{
    struct config_fixture f;
    char text[2048] = CONFIG_DATABASE "[http]\n";

    config_setup(&f);
    for (int i = 0; i < 21; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "zzz%d = 1\n", i);
    config_file(&f, text);
    check_status(config_try(&f), WEIR_INVALID);
    check_int(f.mistakes.count, 21);
    check_int(f.mistakes.kept, 20);
    for (int i = 0; i < 20; i++) {
        char begin[32];

        snprintf(begin, sizeof begin, "weir.ini:%d: ", i + 4);
        check(strncmp(f.mistakes.items[i].text, begin, strlen(begin)) == 0);
    }
}

WEIR_TEST(config,
          tells_mistakes_of_lines_values_and_variables_in_the_order_of_their_places)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, "[http]\nidle_timeout = 75\nnonsense\n[database a]\nprefix = 1\n");
    config_variable(&f, "WEIR_HTTP_THREADS=2");
    config_set(&f, "http.header_timeout=1");
    check_status(config_try(&f), WEIR_INVALID);
    check_int(f.mistakes.count, 6);
    check_str(f.mistakes.items[0].text,
              "weir.ini:2: [http] idle_timeout: \"75\" has no unit; write 75s");
    check_str(f.mistakes.items[1].text,
              "weir.ini:3: there is no \"=\" in the line; write key = value");
    check_str(f.mistakes.items[2].text,
              "weir.ini:4: [database a] url: is missing; write url or url_file");
    check(strncmp(f.mistakes.items[3].text, "weir.ini:5: [database a] prefix: ", 33) ==
          0);
    check_str(f.mistakes.items[4].text,
              "WEIR_HTTP_THREADS: [server] has \"threads\", [http] has not");
    check_str(
        f.mistakes.items[5].text,
        "--set http.header_timeout: [http] header_timeout: \"1\" has no unit; write 1s");
}

/* ---- the file ---------------------------------------------------------------------- */

WEIR_TEST(config, refuses_a_file_of_more_than_a_mebibyte)
{
    enum { SIZE = (1 << 20) + 1 };
    struct config_fixture f;
    char *text = malloc(SIZE);

    check(text != NULL);
    memset(text, '\n', SIZE);
    memcpy(text, CONFIG_DATABASE, strlen(CONFIG_DATABASE));
    config_setup(&f);
    f.sources.file = "weir.ini";
    config_write_bytes("weir.ini", text, SIZE - 1);
    config_load(&f);
    config_write_bytes("weir.ini", text, SIZE);
    free(text);
    f.sources.db_without_file = "sqlite:a.db";
    config_refuse(&f, "weir.ini: has more than 1048576 bytes");
}

WEIR_TEST(config, refuses_a_file_that_is_none)
{
    struct config_fixture f;

    config_setup(&f);
    check_int(mkdir("folder", 0700), 0);
    f.sources.file = "folder";
    f.sources.db = "sqlite:a.db";
    config_refuse(&f, "folder: is no regular file");
}

WEIR_TEST(config, shows_the_end_of_a_long_path_with_the_line)
{
    struct config_fixture f;
    char folder[201];
    char path[256];
    char line[256];

    config_setup(&f);
    memset(folder, 'a', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    check_int(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/weir.ini", folder);
    config_write(path, CONFIG_DATABASE "[http]\nx = 1\n");
    f.sources.file = path;
    snprintf(line, sizeof line, "...%s:4: [http] x: there is no such key",
             path + strlen(path) - 120);
    config_refuse(&f, line);
}

WEIR_TEST(config, reads_no_pipe)
{
    struct config_fixture f;

    config_setup(&f);
    check_int(mkfifo("weir.ini", 0600), 0);
    f.sources.file = "weir.ini";
    f.sources.db = "sqlite:a.db";
    config_refuse(&f, "weir.ini: is no regular file");
}

WEIR_TEST(config, reads_up_to_a_hundred_files_of_a_folder)
{
    struct config_fixture f;
    char path[64];

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    check_int(mkdir("weir.ini.d", 0700), 0);
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "weir.ini.d/%d.ini", i);
        config_write(path, "");
    }
    config_load(&f);
    config_write("weir.ini.d/100.ini", "");
    config_refuse(&f, "weir.ini.d: has more than 100 files *.ini");
}

WEIR_TEST(config, refuses_more_than_1024_sections_of_a_kind)
{
    struct config_fixture f;
    char *text = malloc(1 << 17);
    size_t used;

    check(text != NULL);
    used = (size_t)snprintf(text, 1 << 17, "%s", CONFIG_DATABASE);
    for (int i = 0; i < 1025; i++)
        used += (size_t)snprintf(text + used, (1 << 17) - used,
                                 "[queue q%d]\npartitions = 1\n", i);
    config_setup(&f);
    config_file(&f, text);
    free(text);
    config_refuse(&f, "weir.ini:2051: [queue q1024] is one too many; there may be 1024");
}

/* ---- variables and arguments ------------------------------------------------------- */

static void refuse_variable(const char *variable, const char *line)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    config_variable(&f, variable);
    config_refuse(&f, line);
}

WEIR_TEST(config, names_the_nearest_variable)
{
    refuse_variable("WEIR_HTTP_THREADS=2",
                    "WEIR_HTTP_THREADS: [server] has \"threads\", [http] has not");
    refuse_variable("WEIR_HTTP_LISTN=x",
                    "WEIR_HTTP_LISTN: there is no such variable; WEIR_HTTP_LISTEN?");
    refuse_variable("WEIR_HTPP_LISTEN=x",
                    "WEIR_HTPP_LISTEN: there is no such variable; WEIR_HTTP_LISTEN?");
    refuse_variable("WEIR_DATABASE_SHOP_CONECTIONS=9",
                    "WEIR_DATABASE_SHOP_CONECTIONS: there is no such variable; "
                    "WEIR_DATABASE_SHOP_CONNECTIONS?");
    refuse_variable("WEIR_NONSENSE=x", "WEIR_NONSENSE: there is no such variable");
    refuse_variable("WEIR_=x", "WEIR_: there is no such variable; WEIR_SERVER_NAME?");
    refuse_variable("WEIR_HTTP=x",
                    "WEIR_HTTP: there is no such variable; WEIR_HTTP_LISTEN?");
    refuse_variable("WEIR_http_listen=127.0.0.1:1",
                    "WEIR_http_listen: there is no such variable");
}

WEIR_TEST(config, names_the_nearest_variable_of_the_caller_too)
{
    static const char *const foreign[] = {"WEIR_PREFIX", NULL};
    struct config_fixture f;

    config_setup(&f);
    f.sources.foreign = foreign;
    config_file(&f, CONFIG_DATABASE);
    config_variable(&f, "WEIR_PREFFIX=x");
    config_refuse(&f, "WEIR_PREFFIX: there is no such variable; WEIR_PREFIX?");
}

WEIR_TEST(config, needs_a_name_in_a_variable)
{
    refuse_variable(
        "WEIR_RELAY_BATCH=2",
        "WEIR_RELAY_BATCH: [relay] needs a name; write WEIR_RELAY_NAME_BATCH");
}

WEIR_TEST(config, refuses_a_variable_that_may_be_of_two_sections)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[relay a-b]\nqueue = q\nto = stdout:\n"
                                    "[relay a.b]\nqueue = p\nto = stdout:\n");
    config_variable(&f, "WEIR_RELAY_A_B_BATCH=2");
    config_refuse(&f, "WEIR_RELAY_A_B_BATCH: may be [relay a-b] or [relay a.b]; use "
                      "--set");
}

WEIR_TEST(config, refuses_bytes_in_a_variable_that_no_file_may_have)
{
    refuse_variable("WEIR_SERVER_NAME=a\nb",
                    "WEIR_SERVER_NAME: its value has a control character");
    refuse_variable("WEIR_SERVER_NAME=a\xff", "WEIR_SERVER_NAME: its value is not UTF-8");
}

WEIR_TEST(config, survives_a_variable_of_any_length)
{
    struct config_fixture f;
    static char text[8192] = "WEIR_DATABASE_";

    memset(text + strlen(text), 'A', 6000);
    strcpy(text + 6014, "_URL=sqlite:a.db");
    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    config_variable(&f, text);
    check_status(config_try(&f), WEIR_INVALID);
    check_int(f.mistakes.count, 1);
    check(strstr(f.mistakes.items[0].text, "there is no such variable") != NULL);
}

static void refuse_set(const char *word, const char *line)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    config_set(&f, word);
    config_refuse(&f, line);
}

WEIR_TEST(config, refuses_an_argument_that_names_nothing)
{
    refuse_set("http.listn=x", "--set http.listn: there is no such key; listen?");
    refuse_set("htp.listen=x", "--set htp.listen: there is no such section; http?");
    refuse_set("http.threads=2",
               "--set http.threads: [server] has \"threads\", [http] has not");
    refuse_set("relay.batch=2",
               "--set relay.batch: [relay] needs a name; write [relay NAME]");
    refuse_set("http.x.listen=127.0.0.1:1",
               "--set http.x.listen: [http] has no name; write [http]");
}

WEIR_TEST(config, refuses_an_argument_without_key_or_value)
{
    const char *const words[] = {"", "http", "http.listen", "=", "http=1"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        refuse_set(words[i], "--set: must be SECTION.KEY=VALUE or "
                             "SECTION.NAME.KEY=VALUE");
}

WEIR_TEST(config, refuses_db_beside_a_database_of_the_file)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    f.sources.db = "sqlite:other.db";
    config_refuse(&f, "--db: [database shop] is configured (weir.ini:1); change it by "
                      "--set database.shop.url=URL");
}

/* ---- keys that belong together ----------------------------------------------------- */

WEIR_TEST(config, needs_a_database)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, "[http]\n");
    config_refuse(&f, "no database is configured; write [database NAME] with its url, "
                      "or give --db URL");
}

WEIR_TEST(config, names_the_nearest_database_and_its_line)
{
    config_refuse_file("[relay audit]\nqueue = q\nto = stdout:\ndatabase = shpo\n",
                       "weir.ini:6: [relay audit] database: \"shpo\" is not configured; "
                       "shop (line 1)?");
    config_refuse_file("[queue q]\npartitions = 1\ndatabase = zzz\n",
                       "weir.ini:5: [queue q] database: \"zzz\" is not configured");
}

WEIR_TEST(config, names_the_file_of_the_nearest_database_if_it_is_another)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE);
    check_int(mkdir("weir.ini.d", 0700), 0);
    config_write("weir.ini.d/a.ini", "[queue q]\npartitions = 1\ndatabase = sop\n");
    config_refuse(&f, "weir.ini.d/a.ini:3: [queue q] database: \"sop\" is not "
                      "configured; shop (weir.ini:1)?");
}

WEIR_TEST(config, needs_the_database_of_a_relay_if_none_is_the_default)
{
    config_refuse_file("[database b]\nurl = sqlite:b.db\n[relay a]\nqueue = q\n"
                       "to = stdout:\n",
                       "weir.ini:5: [relay a] database: is missing: there are several, "
                       "and none is the default");
}

WEIR_TEST(config, has_one_default_database)
{
    config_refuse_file(
        "default = yes\n[database b]\nurl = sqlite:b.db\ndefault = yes\n",
        "weir.ini:6: [database b] default: [database shop] is the default already "
        "(weir.ini:3)");
}

WEIR_TEST(config, needs_one_url_of_a_database)
{
    config_refuse_file("[database b]\n",
                       "weir.ini:3: [database b] url: is missing; write url or url_file");
}

WEIR_TEST(config, refuses_two_urls_of_a_database)
{
    struct config_fixture f;

    config_setup(&f);
    config_write("url", "sqlite:a.db");
    config_file(&f, CONFIG_DATABASE "url_file = url\n");
    config_refuse(&f, "weir.ini:2: [database shop] url: is given, and url_file as well; "
                      "keep one of them");
}

WEIR_TEST(config, refuses_a_database_that_is_another_one)
{
    config_refuse_file("[database b]\nurl = sqlite:shop.db\n",
                       "weir.ini:4: [database b] url: is that of [database shop], with "
                       "its prefix");
}

WEIR_TEST(config, takes_a_database_twice_with_another_prefix)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[database b]\nurl = sqlite:shop.db\n"
                                    "prefix = other\n");
    config_load(&f);
    check_int(f.config->database_count, 2);
    config_teardown(&f);
}

WEIR_TEST(config, needs_required_keys)
{
    config_refuse_file("[queue q]\n", "weir.ini:3: [queue q] partitions: is missing");
    config_refuse_file("[relay r]\nto = stdout:\n",
                       "weir.ini:3: [relay r] queue: is missing");
    config_refuse_file("[relay r]\nqueue = q\n", "weir.ini:3: [relay r] to: is missing");
    config_refuse_file("[token t]\nscopes = read\n",
                       "weir.ini:3: [token t] sha256: is missing");
}

WEIR_TEST(config, needs_a_power_of_two_of_partitions)
{
    config_refuse_file("[queue q]\npartitions = 6\n",
                       "weir.ini:4: [queue q] partitions: \"6\" is no power of two; 1, "
                       "2, 4, 8, 16, 32 or 64");
}

WEIR_TEST(config, refuses_two_relays_of_one_subscription)
{
    config_refuse_file("[relay a]\nqueue = q\nto = stdout:\n"
                       "[relay b]\nqueue = q\nto = stdout:\nas = default\n",
                       "weir.ini:9: [relay b] as: \"default\" of queue q is served by "
                       "[relay a] (weir.ini:3)");
}

WEIR_TEST(config, has_permissions_of_files_only)
{
    config_refuse_file("[relay a]\nqueue = q\nto = stdout:\npermissions = 0640\n",
                       "weir.ini:6: [relay a] permissions: is for file: only");
}

WEIR_TEST(config, needs_certificate_and_key_together)
{
    struct config_fixture f;

    config_setup(&f);
    config_write("pem", "x");
    config_file(&f, CONFIG_DATABASE "[http]\ntls_certificate_file = pem\n");
    config_refuse(&f, "weir.ini:4: [http] tls_certificate_file: needs tls_key_file");
    config_file(&f, CONFIG_DATABASE "[http]\ntls_key_file = pem\n");
    config_refuse(&f, "weir.ini:4: [http] tls_key_file: needs tls_certificate_file");
    config_file(&f, CONFIG_DATABASE "[http]\ntls_client = required\n");
    config_refuse(&f, "weir.ini:4: [http] tls_client: needs tls_certificate_file");
    config_file(&f, CONFIG_DATABASE "[http]\ntls_client = required\n"
                                    "tls_certificate_file = pem\ntls_key_file = pem\n");
    config_refuse(&f, "weir.ini:4: [http] tls_client: needs tls_client_ca_file");
    config_file(&f, CONFIG_DATABASE "[http]\ntls_client_ca_file = pem\n"
                                    "tls_certificate_file = pem\ntls_key_file = pem\n");
    config_refuse(&f, "weir.ini:4: [http] tls_client_ca_file: needs tls_client");
}

WEIR_TEST(config, refuses_a_public_address_without_tls)
{
    config_refuse_file("[http]\nlisten = 0.0.0.0:80\n",
                       "weir.ini:4: [http] listen: 0.0.0.0:80 is public, and there is no "
                       "TLS; see tls_certificate_file and insecure_public");
}

WEIR_TEST(config, refuses_a_public_address_without_tokens)
{
    struct config_fixture f;

    config_setup(&f);
    config_write("pem", "x");
    config_file(&f, CONFIG_DATABASE "[http]\nlisten = 0.0.0.0:80\n"
                                    "tls_certificate_file = pem\ntls_key_file = pem\n"
                                    "[auth]\nmode = none\n");
    config_refuse(&f, "weir.ini:4: [http] listen: 0.0.0.0:80 is public, and there are no "
                      "tokens; see [auth] mode and insecure_public");
}

WEIR_TEST(config, takes_a_public_address_with_tls_and_tokens)
{
    struct config_fixture f;

    config_setup(&f);
    config_write("pem", "x");
    config_file(&f, CONFIG_DATABASE "[http]\nlisten = 0.0.0.0:80\n"
                                    "tls_certificate_file = pem\ntls_key_file = pem\n");
    config_load(&f);
    check_int(f.warnings.count, 0);
    config_teardown(&f);
}

WEIR_TEST(config, takes_an_insecure_public_address_with_a_warning)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[http]\nlisten = 0.0.0.0:80\n"
                                    "insecure_public = yes\n[auth]\nmode = none\n");
    config_load(&f);
    check(f.config->http.listen.items[0].is_public);
    check_int(f.warnings.count, 1);
    check_str(f.warnings.items[0].text,
              "weir.ini:5: [http] insecure_public: a public address needs no TLS and no "
              "tokens");
    config_teardown(&f);
}

WEIR_TEST(config, needs_no_tokens_on_loopback_and_unix_sockets)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[http]\nlisten = [::1]:80, localhost:81, "
                                    "127.9.9.9:1, unix:/run/w\n[auth]\nmode = none\n");
    config_load(&f);
    check_int(f.config->http.listen.count, 4);
    config_teardown(&f);
}

WEIR_TEST(config, refuses_limits_that_exclude_each_other)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[http]\nbody_max = 64MiB\n");
    config_load(&f);
    config_teardown(&f);
    config_refuse_file("[http]\nbody_max = 65MiB\n",
                       "weir.ini:4: [http] body_max: is larger than memory_max");
}
