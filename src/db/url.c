/*
 * url.c - see url.h.
 *
 * Only what is ours is taken apart: a PostgreSQL URL goes to libpq as it was written,
 * less our own options, since libpq knows its many parameters best.
 */
#include "db/url.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/codec/hex.h"
#include "base/count.h"
#include "base/heap.h"
#include "base/no_memory.h"
#include "base/permissions.h"
#include "base/str.h"
#include "db/postgres/conninfo.h"

/* Every piece that fails says which part of the URL it was. */
struct parser {
    const struct weir_heap *heap;
    struct weir_url *out;
    struct weir_error *error;
    bool has_tls; /* the URL says which */
};

static enum weir_status parse_sqlite(struct parser *parser, struct weir_str rest);
static enum weir_status parse_postgresql(struct parser *parser, const char *text);
static enum weir_status parse_mariadb(struct parser *parser, struct weir_str rest);

static enum weir_status refuse(struct parser *parser, const char *part, const char *why)
{
    return weir_error_set(parser->error, WEIR_INVALID, "database URL: %s %s", part, why);
}

static bool begins_with(const char *text, const char *beginning, struct weir_str *rest)
{
    size_t size = strlen(beginning);

    if (strncmp(text, beginning, size) != 0)
        return false;
    *rest = weir_str(text + size);
    return true;
}

/* key=value ...: an equals sign that no scheme precedes. */
static bool looks_like_conninfo(const char *text)
{
    const char *equals = strchr(text, '=');
    const char *scheme = strstr(text, "://");

    return equals != NULL && equals != text && (scheme == NULL || equals < scheme);
}

enum weir_status weir_url_parse(const struct weir_heap *heap, const char *text,
                                struct weir_url *out, struct weir_error *error)
{
    struct parser parser = {.heap = heap, .out = out, .error = error};
    struct weir_str rest;
    enum weir_status status;

    *out = (struct weir_url){.engine = WEIR_SQLITE};
    if (text == NULL || *text == '\0')
        status = refuse(&parser, "it", "is empty; try sqlite:app.db");
    else if (begins_with(text, "sqlite:", &rest))
        status = parse_sqlite(&parser, rest);
    else if (begins_with(text, "mariadb://", &rest))
        status = parse_mariadb(&parser, rest);
    else if (begins_with(text, "mysql://", &rest))
        status = refuse(&parser, "scheme",
                        "is mysql, which is not supported; MariaDB is, as mariadb://");
    else if (begins_with(text, "postgresql://", &rest) ||
             begins_with(text, "postgres://", &rest) || looks_like_conninfo(text))
        status = parse_postgresql(&parser, text);
    else
        status = refuse(&parser, "scheme",
                        "is unknown, must be sqlite:, postgresql:// or mariadb://");
    if (status != WEIR_OK)
        weir_url_fini(heap, out);
    return status;
}

/* Nothing of a password stays in memory that is given back. */
static void free_secret(const struct weir_heap *heap, char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    weir_heap_free(heap, text);
}

void weir_url_fini(const struct weir_heap *heap, struct weir_url *self)
{
    weir_heap_free(heap, self->path);
    free_secret(heap, self->conninfo);
    weir_heap_free(heap, self->host);
    weir_heap_free(heap, self->user);
    free_secret(heap, self->password);
    weir_heap_free(heap, self->database);
    weir_heap_free(heap, self->socket);
    weir_heap_free(heap, self->signal);
    weir_heap_free(heap, self->ca);
    *self = (struct weir_url){.engine = WEIR_SQLITE};
}

/* ---- pieces ------------------------------------------------------------------------ */

/* Cut `*rest` at the first `mark`: returns what is before it, and whether there was
 * one. */
static struct weir_str cut_at(struct weir_str *rest, char mark, bool *found)
{
    const char *at = rest->size > 0 ? memchr(rest->data, mark, rest->size) : NULL;
    struct weir_str before = *rest;

    *found = at != NULL;
    if (at == NULL) {
        *rest = (struct weir_str){rest->data + rest->size, 0};
        return before;
    }
    before.size = (size_t)(at - rest->data);
    *rest = (struct weir_str){at + 1, rest->size - before.size - 1};
    return before;
}

/* Copy a part with its percent escapes resolved. The part itself is never in the error:
 * it may be a password. */
static enum weir_status decode(struct parser *parser, const char *part,
                               struct weir_str text, char **out)
{
    char *decoded = weir_heap_alloc(parser->heap, text.size + 1);
    size_t size = 0;

    if (decoded == NULL)
        return weir_no_memory(parser->error, "database URL");
    for (size_t i = 0; i < text.size; i++) {
        int high;
        int low;

        if (text.data[i] != '%') {
            decoded[size++] = text.data[i];
            continue;
        }
        high = i + 1 < text.size ? weir_hex_digit(text.data[i + 1]) : -1;
        low = i + 2 < text.size ? weir_hex_digit(text.data[i + 2]) : -1;
        if (high < 0 || low < 0 || high + low == 0) {
            weir_heap_free(parser->heap, decoded);
            return refuse(parser, part, "has a bad percent escape");
        }
        decoded[size++] = (char)(high * 16 + low);
        i += 2;
    }
    decoded[size] = '\0';
    weir_heap_free(parser->heap, *out);
    *out = decoded;
    return WEIR_OK;
}

static enum weir_status parse_port(struct parser *parser, struct weir_str text)
{
    uint32_t port = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || port > 65535)
            return refuse(parser, "port", "must be a number from 1 to 65535");
        port = port * 10 + (uint32_t)(text.data[i] - '0');
    }
    if (port < 1 || port > 65535)
        return refuse(parser, "port", "must be a number from 1 to 65535");
    parser->out->port = (uint16_t)port;
    return WEIR_OK;
}

/* ---- SQLite ------------------------------------------------------------------------ */

static enum weir_status parse_sqlite_option(struct parser *parser, struct weir_str option,
                                            bool in_memory)
{
    bool has_value;
    struct weir_str name = cut_at(&option, '=', &has_value);

    if (in_memory || !weir_str_equal(name, weir_str("permissions")))
        return refuse(parser, "option",
                      "is unknown: sqlite: takes permissions of a new file");
    if (!weir_permissions_parse(option, &parser->out->permissions))
        return refuse(parser, "option permissions", WEIR_PERMISSIONS_RULE);
    return WEIR_OK;
}

static enum weir_status parse_sqlite(struct parser *parser, struct weir_str rest)
{
    bool has_options;
    struct weir_str path;
    enum weir_status status = WEIR_OK;

    parser->out->engine = WEIR_SQLITE;
    parser->out->permissions = WEIR_PERMISSIONS_OWNER;
    if (rest.size >= 2 && rest.data[0] == '/' &&
        rest.data[1] == '/') { /* sqlite:///abs */
        rest.data += 2;
        rest.size -= 2;
    }
    path = cut_at(&rest, '?', &has_options);
    if (has_options)
        status =
            parse_sqlite_option(parser, rest, weir_str_equal(path, weir_str(":memory:")));
    if (status != WEIR_OK)
        return status;
    if (path.size == 0)
        return refuse(parser, "path", "is empty, must be a file or :memory:");
    return decode(parser, "path", path, &parser->out->path);
}

/* ---- PostgreSQL -------------------------------------------------------------------- */

/* What follows the "://" of a URL; NULL: it is none. */
static const char *after_scheme(const char *text)
{
    struct weir_str rest;

    if (begins_with(text, "postgresql://", &rest) ||
        begins_with(text, "postgres://", &rest))
        return rest.data;
    return NULL;
}

/* Where the host begins. As libpq reads it, user and password end at the first @ that
 * no slash precedes, whatever else is in them. */
static const char *after_user(const char *authority)
{
    const char *at = authority + strcspn(authority, "@/");

    return *at == '@' ? at + 1 : authority;
}

static enum weir_status set_pooler(struct parser *parser, struct weir_str value)
{
    if (weir_str_equal(value, weir_str("transaction")))
        parser->out->transaction_pooler = true;
    else if (!weir_str_equal(value, weir_str("session")))
        return refuse(parser, "option pooler", "must be transaction or session");
    return WEIR_OK;
}

/* Our option out of the query of a URL; `text` is changed. */
static enum weir_status take_from_query(struct parser *parser, char *query)
{
    static const char NAME[] = "pooler=";
    enum weir_status status = WEIR_OK;
    char *option = query + 1; /* behind the question mark */

    while (*option != '\0' && status == WEIR_OK) {
        size_t size = strcspn(option, "&");
        char *next = option + size + (option[size] == '&' ? 1 : 0);

        if (strncmp(option, NAME, strlen(NAME)) == 0) {
            struct weir_str value = {option + strlen(NAME), size - strlen(NAME)};

            status = set_pooler(parser, value);
            memmove(option, next, strlen(next) + 1);
        } else {
            option = next;
        }
    }
    option = query + strlen(query) - 1;
    if (*option == '&' || *option == '?') /* what stood in front of the last one */
        *option = '\0';
    return status;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char *skip_blanks(char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

/* The end of a value as libpq reads it: quoted or not, a backslash escapes the next
 * byte. */
static char *value_end(char *at)
{
    bool quoted = *at == '\'';

    for (at += quoted ? 1 : 0; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        else if (quoted && *at == '\'')
            return at + 1;
        else if (!quoted && is_blank(*at))
            break;
    }
    return at;
}

/* Our option out of key=value pairs; `text` is changed. What is malformed is left to
 * libpq. */
static enum weir_status take_from_pairs(struct parser *parser, char *text)
{
    enum weir_status status = WEIR_OK;
    char *name = skip_blanks(text);

    while (*name != '\0' && status == WEIR_OK) {
        size_t name_size = strcspn(name, "= \t\r\n");
        char *equals = skip_blanks(name + name_size);
        char *value;
        char *end;
        char *next;

        if (*equals != '=')
            return WEIR_OK;
        value = skip_blanks(equals + 1);
        end = value_end(value);
        next = skip_blanks(end);
        if (!weir_str_equal((struct weir_str){name, name_size}, weir_str("pooler"))) {
            name = next;
            continue;
        }
        if (*value == '\'' && end > value + 1) {
            value++;
            end--;
        }
        status = set_pooler(parser, (struct weir_str){value, (size_t)(end - value)});
        while (*next == '\0' && name > text && is_blank(name[-1]))
            name--; /* it was the last: the blanks in front go with it */
        memmove(name, next, strlen(next) + 1);
    }
    return status;
}

static enum weir_status take_pooler(struct parser *parser, char *text)
{
    const char *authority = after_scheme(text);
    const char *query;

    if (authority == NULL)
        return take_from_pairs(parser, text);
    query = strchr(after_user(authority), '?');
    return query == NULL ? WEIR_OK : take_from_query(parser, text + (query - text));
}

static enum weir_status parse_postgresql(struct parser *parser, const char *text)
{
    enum weir_status status;

    parser->out->engine = WEIR_POSTGRESQL;
    parser->out->conninfo = weir_heap_copy(parser->heap, text, strlen(text));
    if (parser->out->conninfo == NULL)
        return weir_no_memory(parser->error, "database URL");
    status = take_pooler(parser, parser->out->conninfo);
    if (status == WEIR_OK)
        status = weir_pg_conninfo_check(parser->out->conninfo, parser->error);
    return status;
}

/* ---- MariaDB ----------------------------------------------------------------------- */

static enum weir_status parse_user(struct parser *parser, struct weir_str text)
{
    bool has_password;
    struct weir_str user = cut_at(&text, ':', &has_password);
    enum weir_status status = decode(parser, "user", user, &parser->out->user);

    if (status == WEIR_OK && has_password)
        status = decode(parser, "password", text, &parser->out->password);
    return status;
}

static enum weir_status parse_host(struct parser *parser, struct weir_str text)
{
    enum weir_status status = WEIR_OK;
    struct weir_str host = text;
    bool has_port = false;

    if (text.size > 0 && text.data[0] == '[') { /* [::1]:3306 */
        bool closed;

        text.data++;
        text.size--;
        host = cut_at(&text, ']', &closed);
        if (!closed || (text.size > 0 && text.data[0] != ':'))
            return refuse(parser, "host", "has a bracket that is not closed");
        has_port = text.size > 0;
        if (has_port) {
            text.data++;
            text.size--;
        }
    } else {
        host = cut_at(&text, ':', &has_port);
    }
    if (host.size > 0)
        status = decode(parser, "host", host, &parser->out->host);
    if (status == WEIR_OK && has_port)
        status = parse_port(parser, text);
    return status;
}

static enum weir_status set_socket(struct parser *parser, struct weir_str value)
{
    if (value.size == 0)
        return refuse(parser, "option socket", "is empty, must be a path");
    return decode(parser, "option socket", value, &parser->out->socket);
}

static enum weir_status set_signal(struct parser *parser, struct weir_str value)
{
    enum weir_status status;

    if (weir_str_equal(value, weir_str("off"))) {
        parser->out->signal_off = true;
        return WEIR_OK;
    }
    status = decode(parser, "option signal", value, &parser->out->signal);
    if (status == WEIR_OK && parser->out->signal[0] != '/')
        status = refuse(parser, "option signal",
                        "must be an absolute path of a folder, or off");
    return status;
}

static enum weir_status set_tls(struct parser *parser, struct weir_str value)
{
    static const char *const MODES[] = {[WEIR_TLS_OFF] = "off",
                                        [WEIR_TLS_REQUIRE] = "require",
                                        [WEIR_TLS_VERIFY] = "verify"};

    for (size_t i = 0; i < COUNT_OF(MODES); i++) {
        if (!weir_str_equal(value, weir_str(MODES[i])))
            continue;
        parser->out->tls = (enum weir_tls)i;
        parser->has_tls = true;
        return WEIR_OK;
    }
    return refuse(parser, "option tls", "must be off, require or verify");
}

static enum weir_status set_ca(struct parser *parser, struct weir_str value)
{
    if (value.size == 0)
        return refuse(parser, "option ca", "is empty, must be a file of certificates");
    return decode(parser, "option ca", value, &parser->out->ca);
}

/* A name that only leads to this machine is not known for that. */
static bool is_this_machine(const struct weir_url *url)
{
    return url->socket != NULL || url->host == NULL ||
           strcmp(url->host, "localhost") == 0 || strcmp(url->host, "::1") == 0 ||
           (strncmp(url->host, "127.", 4) == 0 &&
            strspn(url->host, "0123456789.") == strlen(url->host));
}

/* What the options say together, once host and socket are known. */
static enum weir_status settle_tls(struct parser *parser)
{
    struct weir_url *url = parser->out;

    if (!parser->has_tls)
        url->tls =
            url->ca != NULL || !is_this_machine(url) ? WEIR_TLS_VERIFY : WEIR_TLS_OFF;
    if (url->ca != NULL && url->tls != WEIR_TLS_VERIFY)
        return refuse(parser, "option ca", "is only for tls=verify");
    if (url->socket != NULL && url->tls != WEIR_TLS_OFF)
        return refuse(parser, "option tls",
                      "is not for a socket, which is on this machine");
    return WEIR_OK;
}

static enum weir_status parse_options(struct parser *parser, struct weir_str rest)
{
    enum weir_status status = WEIR_OK;

    while (rest.size > 0 && status == WEIR_OK) {
        bool more;
        bool has_value;
        struct weir_str value = cut_at(&rest, '&', &more);
        struct weir_str name = cut_at(&value, '=', &has_value);

        if (weir_str_equal(name, weir_str("socket")))
            status = set_socket(parser, value);
        else if (weir_str_equal(name, weir_str("signal")))
            status = set_signal(parser, value);
        else if (weir_str_equal(name, weir_str("tls")))
            status = set_tls(parser, value);
        else if (weir_str_equal(name, weir_str("ca")))
            status = set_ca(parser, value);
        else
            status =
                refuse(parser, "option",
                       "is unknown: mariadb:// takes socket, signal, tls and ca; in a "
                       "password / is written %2F, ? %3F and @ %40");
    }
    return status;
}

static enum weir_status parse_mariadb(struct parser *parser, struct weir_str rest)
{
    enum weir_status status = WEIR_OK;
    bool has_path;
    bool has_user;
    bool has_options;
    struct weir_str authority = cut_at(&rest, '/', &has_path);
    struct weir_str database = cut_at(&rest, '?', &has_options);
    struct weir_str user = cut_at(&authority, '@', &has_user);

    parser->out->engine = WEIR_MARIADB;
    if (authority.size > 0 && memchr(authority.data, '@', authority.size) != NULL)
        return refuse(parser, "host", "has a second @; in a password it is written %40");
    if (!has_path || database.size == 0)
        return refuse(parser, "database name",
                      "is missing, as in mariadb://user@host/app");
    if (has_user)
        status = parse_user(parser, user);
    else
        authority = user;
    if (status == WEIR_OK)
        status = parse_host(parser, authority);
    if (status == WEIR_OK && (memchr(database.data, '/', database.size) != NULL ||
                              memchr(database.data, '@', database.size) != NULL))
        status = refuse(parser, "database name",
                        "has a / or @; in a password they are written %2F and %40");
    if (status == WEIR_OK)
        status = decode(parser, "database name", database, &parser->out->database);
    if (status == WEIR_OK && has_options)
        status = parse_options(parser, rest);
    if (status == WEIR_OK)
        status = settle_tls(parser);
    return status;
}

/* ---- for people -------------------------------------------------------------------- */

/* What libpq was given may hold a password, also one that was not escaped: only what is
 * certainly the host and the database is shown. */
static void describe_postgresql(const struct weir_url *self, char *out, size_t size)
{
    const char *authority = after_scheme(self->conninfo);
    const char *host = NULL;
    int shown = 0;

    if (authority != NULL) {
        host = after_user(authority);
        for (const char *at = host; *at != '\0' && *at != '/'; at++) {
            if (*at == '@' && host != authority)
                host = at + 1;
        }
        shown = (int)strcspn(host, "?");
    }
    if (host == NULL || strchr(host, '@') != NULL)
        (void)snprintf(out, size, "postgresql");
    else
        (void)snprintf(out, size, "postgresql://%.*s", shown, host);
}

bool weir_url_is_memory(const struct weir_url *self)
{
    return self->path != NULL && strcmp(self->path, ":memory:") == 0;
}

bool weir_url_has_password(const struct weir_url *self)
{
    return self->password != NULL ||
           (self->conninfo != NULL && weir_pg_conninfo_has_password(self->conninfo));
}

void weir_url_describe(const struct weir_url *self, char *out, size_t size)
{
    if (self->path != NULL)
        (void)snprintf(out, size, "sqlite:%s", self->path);
    else if (self->conninfo != NULL)
        describe_postgresql(self, out, size);
    else
        (void)snprintf(out, size, "mariadb://%s/%s",
                       self->host != NULL ? self->host : "localhost", self->database);
}
