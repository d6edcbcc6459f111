/*
 * reference.c - see reference.h.
 */
#include "server/config/reference.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/duration.h"
#include "base/literal/size.h"
#include "base/text.h"
#include "server/config/key.h"
#include "weir/time.h"

static const char INTRODUCTION[] =
    "# Configuration of `weir serve`\n"
    "\n"
    "This page is generated from the table of keys; change `src/server/config/keys.c`, "
    "and print it\n"
    "with `weir help configuration`.\n"
    "\n"
    "## The file\n"
    "\n"
    "UTF-8, at most 1 MiB, lines of at most 8,192 bytes that end with LF or CRLF.\n"
    "\n"
    "```ini\n"
    "# a comment, as a line that begins with a semicolon\n"
    "[database shop]\n"
    "url_file = /etc/weir/shop.url\n"
    "\n"
    "[relay audit]\n"
    "queue = orders\n"
    "to = exec:./send --to 'audit; all'\n"
    "```\n"
    "\n"
    "- `[section]` or `[section NAME]`, then `key = value`. Blanks around both are cut. "
    "The value is the\n"
    "  rest of the line as it stands: without quotes, escapes or comments.\n"
    "- A section or a key that is twice in a file is a mistake.\n"
    "- Durations are `500ms`, `30s`, `5min`, `1h`, `7d`; sizes `512B`, `64KiB`, `16MiB`, "
    "`1GiB`; flags\n"
    "  `yes` and `no`. Lists have commas.\n"
    "- Paths are relative to the working directory of the process.\n"
    "\n"
    "## Where values come from\n"
    "\n"
    "The later one wins, key by key:\n"
    "\n"
    "1. the default;\n"
    "2. the file: of `-c`, else of `WEIR_CONFIG`, else `/etc/weir/weir.ini` if there is "
    "one;\n"
    "3. `FILE.d/*.ini`, sorted by name;\n"
    "4. the environment: `WEIR_SECTION_KEY` and `WEIR_SECTION_NAME_KEY`, in capitals, "
    "with `_` for\n"
    "   everything that is no letter or digit. A name that no file has makes a section, "
    "with its name in\n"
    "   small letters and `-` for `_`. An empty variable counts as not set. A variable "
    "`WEIR_...` that\n"
    "   names nothing is a mistake;\n"
    "5. `--set SECTION.KEY=VALUE` and `--set SECTION.NAME.KEY=VALUE`.\n"
    "\n"
    "If no database is configured, `--db` or `WEIR_DB` is `[database main]`.\n"
    "\n"
    "## Mistakes\n"
    "\n"
    "All mistakes are reported at once, up to 20 of them, one per line, and the process "
    "ends with 2\n"
    "before it has opened anything. A value that a later place overwrites is not "
    "checked.\n"
    "\n"
    "```\n"
    "weir.ini:17: [http] idle_timeout: \"75\" has no unit; write 75s\n"
    "weir.ini:23: [http] tls_certficate_file: there is no such key; "
    "tls_certificate_file?\n"
    "weir.ini:31: [relay audit] database: \"shpo\" is not configured; shop (line 8)?\n"
    "WEIR_HTTP_THREADS: [server] has \"threads\", [http] has not\n"
    "```\n"
    "\n"
    "## Secrets\n"
    "\n"
    "Keys that end in `_file` take a path, or `credential:NAME` for a credential of "
    "systemd\n"
    "(`$CREDENTIALS_DIRECTORY/NAME`). The last newline of the file is cut. A file with a "
    "secret that\n"
    "users other than its owner and group may read or write is a mistake; certificates "
    "are no secrets.\n"
    "A URL with a password may be in `url`, with a warning. No secret is printed or "
    "logged.\n"
    "\n"
    "## Reload\n"
    "\n"
    "SIGHUP reads everything again. If there is any mistake, or a key was changed that "
    "needs a restart,\n"
    "nothing changes and the log names each line. The column *Reload* says which keys "
    "take effect.\n";

/* ---- values ------------------------------------------------------------------------ */

static void append_words(struct weir_buf *out, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        weir_buf_append_format(out, "%s`%s`", i > 0 ? ", " : "", words[i]);
}

static const char *spell_duration(const struct weir_config_key *key, int64_t value,
                                  char *out)
{
    int64_t unit = key->type == WEIR_KEY_IS_MS ? WEIR_MILLISECONDS(1) : 1;

    return weir_duration_spell(value * unit, out, WEIR_DURATION_TEXT_SIZE);
}

static void append_durations(struct weir_buf *out, const struct weir_config_key *key)
{
    char min[WEIR_DURATION_TEXT_SIZE];
    char max[WEIR_DURATION_TEXT_SIZE];

    weir_buf_append_format(out, "%s to %s%s", spell_duration(key, key->min, min),
                           spell_duration(key, key->max, max),
                           key->or_zero ? ", or 0" : "");
}

static void append_sizes(struct weir_buf *out, const struct weir_config_key *key)
{
    char min[WEIR_SIZE_TEXT_SIZE];
    char max[WEIR_SIZE_TEXT_SIZE];

    weir_buf_append_format(out, "%s to %s", weir_size_spell(key->min, min),
                           weir_size_spell(key->max, max));
}

static void append_numbers(struct weir_buf *out, const struct weir_config_key *key)
{
    if (key->max == INT64_MAX)
        weir_buf_append_format(out, "from %" PRId64, key->min);
    else
        weir_buf_append_format(out, "%" PRId64 " to %" PRId64, key->min, key->max);
}

static const char *type_text(enum weir_key_type type)
{
    switch (type) {
    case WEIR_KEY_IS_TEXT:
        return "text";
    case WEIR_KEY_IS_NAME:
        return "name";
    case WEIR_KEY_IS_URL:
        return "URL";
    case WEIR_KEY_IS_SINK:
        return "sink";
    case WEIR_KEY_IS_FLAG:
        return "`yes`, `no`";
    case WEIR_KEY_IS_TEXTS:
        return "list";
    case WEIR_KEY_IS_LISTENERS:
        return "list of addresses";
    case WEIR_KEY_IS_FILE:
        return "file";
    case WEIR_KEY_IS_PERMISSIONS:
        return "octal";
    case WEIR_KEY_IS_SHA256:
        return "SHA-256";
    case WEIR_KEY_IS_MOMENT:
        return "time";
    case WEIR_KEY_IS_TAG:
        return "KEY=VALUE";
    case WEIR_KEY_IS_NUMBER:
    case WEIR_KEY_IS_NS:
    case WEIR_KEY_IS_MS:
    case WEIR_KEY_IS_SIZE:
    case WEIR_KEY_IS_CHOICE:
    case WEIR_KEY_IS_CHOICES:
        break;
    }
    return "";
}

static void append_type(struct weir_buf *out, const struct weir_config_key *key)
{
    switch (key->type) {
    case WEIR_KEY_IS_NUMBER:
        append_numbers(out, key);
        break;
    case WEIR_KEY_IS_NS:
    case WEIR_KEY_IS_MS:
        append_durations(out, key);
        break;
    case WEIR_KEY_IS_SIZE:
        append_sizes(out, key);
        break;
    case WEIR_KEY_IS_CHOICES:
        weir_buf_append_text(out, "list of ");
        append_words(out, key->words);
        break;
    case WEIR_KEY_IS_CHOICE:
        append_words(out, key->words);
        break;
    default:
        weir_buf_append_text(out, type_text(key->type));
    }
}

static void append_default(struct weir_buf *out, const struct weir_config_key *key)
{
    if (key->required)
        weir_buf_append_text(out, "required");
    else if (key->fallback_note != NULL)
        weir_buf_append_text(out, key->fallback_note);
    else if (key->fallback != NULL && key->fallback[0] != '\0')
        weir_buf_append_format(out, "`%s`", key->fallback);
    else
        weir_buf_append_text(out, "none");
}

/* ---- the page ---------------------------------------------------------------------- */

static const char *reload_text(enum weir_key_reload reload)
{
    return reload == WEIR_KEY_RELOADS ? "yes" : "restart";
}

static void append_key(struct weir_buf *out, const struct weir_config_key *key)
{
    weir_buf_append_format(out, "| `%s` | ", key->name);
    append_type(out, key);
    weir_buf_append_text(out, " | ");
    append_default(out, key);
    weir_buf_append_format(out, " | %s | %s |\n", reload_text(key->reload), key->help);
}

static void append_section(struct weir_buf *out,
                           const struct weir_config_section *section)
{
    weir_buf_append_format(out, "\n## `[%s%s]`: %s\n\n", section->name,
                           section->has_name ? " NAME" : "", section->help);
    if (section->has_name)
        weir_buf_append_format(out, "Sections that are added or removed: %s.\n\n",
                               section->reload == WEIR_KEY_RELOADS ? "by a reload"
                                                                   : "by a restart");
    weir_buf_append_text(out, "| Key | Value | Default | Reload | |\n"
                              "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < section->key_count; i++)
        append_key(out, &section->keys[i]);
}

void weir_config_reference(struct weir_buf *out)
{
    weir_buf_append_text(out, INTRODUCTION);
    for (size_t i = 0; i < weir_config_section_count; i++)
        append_section(out, &weir_config_sections[i]);
}
