/*
 * capabilities.c - sets of tokens as sorted texts.
 */
#include "execution/capabilities.h"

#include <string.h>

#include "base/quote.h"
#include "base/utf8.h"

static bool is_allowed(char c)
{
    return (unsigned char)c > 0x20 && c != 0x7f && c != ',';
}

/* One token that is not empty, of `size` bytes. */
static enum weir_status check_token(const char *token, size_t size,
                                    struct weir_error *error)
{
    struct weir_quote shown;

    for (size_t i = 0; i < size; i++) {
        if (!is_allowed(token[i]))
            return weir_error_set(
                error, WEIR_INVALID,
                "capability \"%s\" has byte 0x%02x at %zu, must have no "
                "comma, blank or control character",
                weir_quote(&shown, token), (unsigned)(unsigned char)token[i], i);
    }
    if (!weir_utf8_valid((struct weir_str){token, size}))
        return weir_error_set(error, WEIR_INVALID, "capability \"%s\" must be UTF-8",
                              weir_quote(&shown, token));
    return WEIR_OK;
}

enum weir_status weir_capabilities_check(const char *const *tokens, size_t count,
                                         struct weir_error *error)
{
    size_t left = WEIR_CAPABILITIES_SIZE_MAX + 1; /* the first has no comma before it */
    enum weir_status status = WEIR_OK;

    if (count > WEIR_CAPABILITIES_MAX)
        return weir_error_set(error, WEIR_TOO_LARGE,
                              "there are %zu capabilities, must be at most %d", count,
                              WEIR_CAPABILITIES_MAX);
    if (tokens == NULL && count > 0)
        return weir_error_set(error, WEIR_INVALID,
                              "capabilities is NULL, must be %zu texts", count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        size_t size;

        if (tokens[i] == NULL)
            return weir_error_set(error, WEIR_INVALID,
                                  "capability %zu of %zu is NULL, must be a text", i + 1,
                                  count);
        size = strnlen(tokens[i], left);
        if (size == 0 && tokens[i][0] == '\0')
            continue;
        if (size >= left)
            return weir_error_set(
                error, WEIR_TOO_LARGE,
                "capabilities up to number %zu are too large, must have at most %d bytes "
                "as a list with commas",
                i + 1, WEIR_CAPABILITIES_SIZE_MAX);
        left -= size + 1;
        status = check_token(tokens[i], size, error);
    }
    return status;
}

/* Those that are not empty, sorted, each once. There are few: by insertion, which asks
 * for no memory. */
static size_t sort(const char *const *tokens, size_t count, const char **out)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        size_t place = used;

        while (place > 0 && strcmp(out[place - 1], tokens[i]) > 0)
            place--;
        if (tokens[i][0] == '\0' || (place > 0 && strcmp(out[place - 1], tokens[i]) == 0))
            continue;
        memmove(out + place + 1, out + place, (used - place) * sizeof *out);
        out[place] = tokens[i];
        used++;
    }
    return used;
}

struct weir_str weir_capabilities_write(const char *const *tokens, size_t count,
                                        char *out)
{
    const char *sorted[WEIR_CAPABILITIES_MAX];
    size_t used = sort(tokens, count, sorted);
    size_t size = 0;

    for (size_t i = 0; i < used; i++) {
        size_t length = strlen(sorted[i]);

        out[size++] = ',';
        memcpy(out + size, sorted[i], length);
        size += length;
    }
    if (used > 0)
        out[size++] = ',';
    out[size] = '\0';
    return (struct weir_str){out, size};
}

/* The token at `at`, which is behind a comma of `set`. */
static struct weir_str token_at(struct weir_str set, size_t at)
{
    const char *comma = memchr(set.data + at, ',', set.size - at);

    return (struct weir_str){set.data + at, (size_t)(comma - (set.data + at))};
}

static int compare(struct weir_str a, struct weir_str b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = memcmp(a.data, b.data, shorter);

    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* Both are sorted: one walk through each. */
bool weir_capabilities_suffice(struct weir_str offered, struct weir_str required)
{
    size_t have = 1;

    for (size_t want = 1; want < required.size;) {
        struct weir_str wanted = token_at(required, want);
        int order = 1;

        while (have < offered.size && order > 0) {
            struct weir_str token = token_at(offered, have);

            order = compare(wanted, token);
            if (order >= 0)
                have += token.size + 1;
        }
        if (order != 0)
            return false;
        want += wanted.size + 1;
    }
    return true;
}
