/*
 * Secrets of a configuration: where they may be, and where they must not appear.
 */
#include "base/buf.h"
#include "config_fixture.h"
#include "server/config/print.h"

static const char SECRET[] = "hunter2";
static const char URL[] = "postgresql://shop:hunter2@db.example/shop";

/* Nothing that is said or printed has the secret in it. */
static void check_silence(const struct config_fixture *f)
{
    struct weir_buf text;

    for (size_t i = 0; i < f->mistakes.kept; i++)
        check(strstr(f->mistakes.items[i].text, SECRET) == NULL);
    for (size_t i = 0; i < f->warnings.kept; i++)
        check(strstr(f->warnings.items[i].text, SECRET) == NULL);
    check(strstr(f->error.text, SECRET) == NULL);
    if (f->config == NULL)
        return;
    weir_buf_init(&text, weir_heap_system(), 1 << 20);
    weir_config_print(f->config, &text);
    check_status(weir_buf_status(&text), WEIR_OK);
    check(strstr(weir_buf_text(&text), SECRET) == NULL);
    weir_buf_fini(&text);
}

WEIR_TEST(secret, is_read_from_its_file_without_the_last_newline)
{
    struct config_fixture f;

    config_setup(&f);
    config_write("url", "postgresql://shop:hunter2@db.example/shop\n");
    config_file(&f, "[database shop]\nurl_file = url\n");
    config_load(&f);
    check_str(f.config->databases[0].url, URL);
    check_str(f.config->databases[0].url_file.path, "url");
    check_int(f.warnings.count, 0);
    check_silence(&f);
    config_teardown(&f);
}

WEIR_TEST(secret, loses_one_newline_and_no_more)
{
    struct config_fixture f;

    config_setup(&f);
    config_write("pem", "key\n\n");
    config_file(&f, CONFIG_DATABASE "[http]\ntls_certificate_file = pem\n"
                                    "tls_key_file = pem\n");
    config_load(&f);
    check_str(f.config->http.tls_key.content.data, "key\n");
    check_int(f.config->http.tls_key.content.size, 4);
    config_teardown(&f);
}

WEIR_TEST(secret, in_a_file_that_others_may_read_or_write_is_refused)
{
    static const struct {
        mode_t mode;
        bool good;
    } CASES[] = {{0600, true},  {0640, true},  {0400, true},
                 {0604, false}, {0602, false}, {0644, false}};
    struct config_fixture f;
    char line[256];

    config_setup(&f);
    config_write("url", URL);
    config_file(&f, "[database shop]\nurl_file = url\n");
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        check_int(chmod("url", CASES[i].mode), 0);
        if (CASES[i].good) {
            config_load(&f);
            continue;
        }
        snprintf(line, sizeof line,
                 "weir.ini:2: [database shop] url_file: \"url\" has permissions %#o: "
                 "other users may read or write it; chmod o-rw",
                 (unsigned)CASES[i].mode);
        config_refuse(&f, line);
        check_silence(&f);
    }
    config_teardown(&f);
}

WEIR_TEST(secret, is_not_what_a_certificate_is)
{
    struct config_fixture f;

    config_setup(&f);
    config_write("key", "k");
    config_write("certificate", "c");
    check_int(chmod("certificate", 0644), 0);
    config_file(&f, CONFIG_DATABASE "[http]\ntls_certificate_file = certificate\n"
                                    "tls_key_file = key\n");
    config_load(&f);
    check_str(f.config->http.tls_certificate.content.data, "c");

    check_int(chmod("key", 0644), 0);
    check_status(config_try(&f), WEIR_INVALID);
}

WEIR_TEST(secret, may_be_a_credential)
{
    struct config_fixture f;

    config_setup(&f);
    check_int(mkdir("credentials", 0700), 0);
    config_write("credentials/shop", URL);
    config_file(&f, "[database shop]\nurl_file = credential:shop\n");
    config_variable(&f, "CREDENTIALS_DIRECTORY=credentials");
    config_load(&f);
    check_str(f.config->databases[0].url, URL);
    check_str(f.config->databases[0].url_file.path, "credentials/shop");
    check_silence(&f);
    config_teardown(&f);
}

WEIR_TEST(secret, of_a_credential_that_is_none_is_refused)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, "[database shop]\nurl_file = credential:shop\n");
    config_refuse(&f, "weir.ini:2: [database shop] url_file: \"credential:shop\" cannot "
                      "be found: CREDENTIALS_DIRECTORY is not set; see "
                      "LoadCredential= of systemd");

    config_variable(&f, "CREDENTIALS_DIRECTORY=.");
    config_refuse(&f, "weir.ini:2: [database shop] url_file: \"credential:shop\" cannot "
                      "be read: No such file or directory");
    config_file(&f, "[database shop]\nurl_file = credential:../shop\n");
    config_refuse(&f, "weir.ini:2: [database shop] url_file: \"credential:../shop\" "
                      "names no credential");
}

WEIR_TEST(secret, that_is_not_there_or_empty_is_refused)
{
    struct config_fixture f;

    config_setup(&f);
    config_file(&f, "[database shop]\nurl_file = url\n");
    config_refuse(&f, "weir.ini:2: [database shop] url_file: \"url\" cannot be read: No "
                      "such file or directory");
    config_write("url", "\n");
    config_refuse(&f, "weir.ini:2: [database shop] url_file: \"url\" is empty");
    config_file(&f, "[database shop]\nurl_file =\n");
    config_refuse(&f, "weir.ini:2: [database shop] url_file: has no value");
}

WEIR_TEST(secret, in_a_url_is_taken_with_a_warning_and_hidden)
{
    struct config_fixture f;
    struct weir_buf text;

    config_setup(&f);
    config_file(&f, "[database shop]\nurl = postgresql://shop:hunter2@db.example/shop\n"
                    "[database maria]\nurl = mariadb://shop:hunter2@db.example/shop\n"
                    "[database words]\nurl = host=db.example password=hunter2\n"
                    "[database key]\nurl = host=db.example sslpassword=hunter2\n");
    config_load(&f);
    check_int(f.warnings.count, 4);
    check_str(f.warnings.items[0].text,
              "weir.ini:2: [database shop] url: has a password; url_file keeps it in a "
              "file of its own");
    check_silence(&f);
    weir_buf_init(&text, weir_heap_system(), 1 << 20);
    weir_config_print(f.config, &text);
    check(strstr(weir_buf_text(&text), "# weir.ini:2\nurl = ***\n") != NULL);
    weir_buf_fini(&text);
    config_teardown(&f);
}

WEIR_TEST(secret, is_not_what_a_url_without_password_is)
{
    struct config_fixture f;
    struct weir_buf text;

    config_setup(&f);
    config_file(&f, "[database shop]\nurl = postgresql://shop@db.example/shop\n");
    config_load(&f);
    check_int(f.warnings.count, 0);
    weir_buf_init(&text, weir_heap_system(), 1 << 20);
    weir_config_print(f.config, &text);
    check(strstr(weir_buf_text(&text), "url = postgresql://shop@db.example/shop\n") !=
          NULL);
    weir_buf_fini(&text);
    config_teardown(&f);
}

WEIR_TEST(secret, is_in_no_mistake_about_it)
{
    static const char *const FILES[] = {
        "[database a]\nurl = postgresql://shop:hunter2@db.example:99999/shop\n",
        "[database a]\nurl = mysql://shop:hunter2@db.example/shop\n",
        "[database a]\nurl = mariadb://shop:hunter2%zz@db.example/shop\n",
        "[database a]\nurl = hunter2\n",
        "[database a]\npostgresql://shop:hunter2@db.example/shop\n",
        "[database a]\nurl = sqlite:a.db\n[token t]\nsha256 = hunter2\nscopes = read\n",
        "[database a]\nurl = sqlite:a.db\n[token t]\nsha256 = weir_hunter2\n"
        "scopes = read\n",
        "[database a]\nurl = sqlite:a.db\n[relay r]\nqueue = q\nto = exce:hunter2\n",
        "[database a]\nurl = postgresql://u:hunter2@h/d\n"
        "[database b]\nurl = postgresql://u:hunter2@h/d\n",
    };
    struct config_fixture f;

    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        config_setup(&f);
        config_file(&f, FILES[i]);
        check_status(config_try(&f), WEIR_INVALID);
        check_silence(&f);
    }
}

WEIR_TEST(secret, is_in_no_mistake_about_a_variable_or_argument)
{
    static const char *const SETS[] = {"database.main.url postgresql://u:hunter2@h/d",
                                       "database.main.ulr=postgresql://u:hunter2@h/d",
                                       "hunter2", "database.main.url=hunter2"};
    struct config_fixture f;

    for (size_t i = 0; i < sizeof SETS / sizeof SETS[0]; i++) {
        config_setup(&f);
        config_set(&f, SETS[i]);
        config_variable(&f, "WEIR_PASSWORD=hunter2");
        config_variable(&f, "WEIR_DATABASE_A_URL=postgres:/hunter2");
        check_status(config_try(&f), WEIR_INVALID);
        check_silence(&f);
    }
}

WEIR_TEST(secret, of_db_is_hidden_too)
{
    struct config_fixture f;

    config_setup(&f);
    f.sources.db = URL;
    config_load(&f);
    check_int(f.warnings.count, 1);
    check_silence(&f);
    config_teardown(&f);
}

/* ---- memory ------------------------------------------------------------------------ */

static bool seen; /* the secret, in a block that was given back */

static void *resize(void *state, void *memory, size_t size)
{
    size_t *block = memory != NULL ? (size_t *)memory - 2 : NULL;

    (void)state;
    if (size == 0) {
        if (block == NULL)
            return NULL;
        for (size_t i = 0; i + sizeof SECRET - 1 <= *block; i++)
            seen = seen || memcmp((char *)memory + i, SECRET, sizeof SECRET - 1) == 0;
        free(block);
        return NULL;
    }
    check(block == NULL); /* the configuration resizes nothing */
    block = calloc(1, size + 2 * sizeof *block);
    check(block != NULL);
    *block = size;
    return block + 2;
}

WEIR_TEST(secret, is_overwritten_before_its_memory_is_given_back)
{
    const struct weir_heap heap = {.resize = resize};
    struct config_fixture f;

    seen = false;
    config_setup(&f);
    config_write("key", SECRET);
    config_file(&f, "[database a]\nurl_file = key2\n[http]\n"
                    "tls_certificate_file = key\ntls_key_file = key\n"
                    "[relay r]\nqueue = q\nto = exec:send\ndatabase = a\n");
    config_write("key2", "mariadb://u:hunter2@h/a");
    f.sources.heap = &heap;
    config_set(&f, "database.b.url=mariadb://u:hunter2@h/b");
    config_load(&f);
    config_teardown(&f);
    check(seen); /* the certificate is no secret */

    seen = false;
    config_write("certificate", "c");
    config_set(&f, "http.tls_certificate_file=certificate");
    config_load(&f);
    config_teardown(&f);
    check(!seen);
}
