/*
 * Tests of server/config/print.c and reference.c.
 */
#include "base/buf.h"
#include "config_fixture.h"
#include "server/config/key.h"
#include "server/config/print.h"
#include "server/config/reference.h"

enum { TEXT_SIZE_MAX = 1 << 20 };

static char *print(const struct config_fixture *f)
{
    struct weir_buf text;
    char *copy;

    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_config_print(f->config, &text);
    check_status(weir_buf_status(&text), WEIR_OK);
    copy = strdup(weir_buf_text(&text));
    check(copy != NULL);
    weir_buf_fini(&text);
    return copy;
}

WEIR_TEST(print, says_where_each_value_comes_from)
{
    struct config_fixture f;
    char *text;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[relay a]\nqueue = q\nto = stdout:\n");
    config_variable(&f, "WEIR_SERVER_LOG=json");
    config_set(&f, "http.listen=127.0.0.1:0");
    config_load(&f);
    text = print(&f);

    check(strncmp(text,
                  "[server]\n# name is not set: host and process id, as in "
                  "web-1:4711\n# default\nroles = api, relay, supervise\n",
                  100) == 0);
    check(strstr(text, "# WEIR_SERVER_LOG\nlog = json\n") != NULL);
    check(strstr(text, "\n\n[database shop]\n# weir.ini:2\nurl = sqlite:shop.db\n") !=
          NULL);
    check(strstr(text, "# --set http.listen\nlisten = 127.0.0.1:0\n") != NULL);
    check(strstr(text, "\n\n[relay a]\n# weir.ini:4\nqueue = q\n") != NULL);
    check(strstr(text, "# tls_key_file is not set\n") != NULL);
    free(text);
    config_teardown(&f);
}

static void drop_change(void *state, const struct weir_config_change *change)
{
    int *count = state;

    (void)change;
    (*count)++;
}

WEIR_TEST(print, can_be_read_again)
{
    struct config_fixture f;
    struct config_fixture again;
    char *text;
    int count = 0;

    config_setup(&f);
    config_file(&f, CONFIG_DATABASE "[queue q]\npartitions = 4\nunread = keep\n"
                                    "[relay b]\nqueue = p\nto = stdout:\n"
                                    "[relay a]\nqueue = q\nto = file:a#b;c\n"
                                    "permissions = 0640\n");
    config_load(&f);
    text = print(&f);
    memset(&again, 0, sizeof again);
    config_file(&again, text);
    free(text);
    config_load(&again);
    weir_config_compare(f.config, again.config, drop_change, &count);
    check_int(count, 0);
    config_teardown(&f);
    config_teardown(&again);
}

WEIR_TEST(print, has_every_key_of_every_section)
{
    struct config_fixture f;
    char *text;

    config_setup(&f);
    f.sources.db = "sqlite:a.db";
    config_load(&f);
    text = print(&f);
    for (size_t i = 0; i < weir_config_section_count; i++) {
        const struct weir_config_section *section = &weir_config_sections[i];
        char word[64];

        for (size_t k = 0; k < section->key_count && !section->has_name; k++) {
            snprintf(word, sizeof word, "%s ", section->keys[k].name);
            check(strstr(text, word) != NULL);
        }
    }
    free(text);
    config_teardown(&f);
}

WEIR_TEST(reference, has_every_key_with_its_help)
{
    struct weir_buf text;

    weir_buf_init(&text, weir_heap_system(), TEXT_SIZE_MAX);
    weir_config_reference(&text);
    check_status(weir_buf_status(&text), WEIR_OK);
    for (size_t i = 0; i < weir_config_section_count; i++) {
        const struct weir_config_section *section = &weir_config_sections[i];
        char word[64];

        snprintf(word, sizeof word, "\n## `[%s%s]`: ", section->name,
                 section->has_name ? " NAME" : "");
        check(strstr(weir_buf_text(&text), word) != NULL);
        for (size_t k = 0; k < section->key_count; k++) {
            snprintf(word, sizeof word, "\n| `%s` | ", section->keys[k].name);
            check(strstr(weir_buf_text(&text), word) != NULL);
            check(strstr(weir_buf_text(&text), section->keys[k].help) != NULL);
        }
    }
    weir_buf_fini(&text);
}
