/*
 * execution_words.c - see execution_words.h.
 */
#include "cli/execution/execution_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* "{fp:65535}:" and 36 characters, with the zero: ids that were written down earlier. */
enum { OLD_ID_TEXT_SIZE = 48 };

/* "/" and a number from 1 on. Returns what is behind it; NULL: it is none. */
static const char *take_part(const char *text, int64_t *out)
{
    size_t digits;

    if (*text++ != '/')
        return NULL;
    digits = strspn(text, "0123456789");
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return digits > 0 && errno == 0 && *out > 0 ? text + digits : NULL;
}

/* At most 5 digits, since a uuid has 8 before its first dash. What has a colon is not
 * repeated in an error: it may be the token of a waitpoint, "KEY:HEX", and KEY may
 * begin with such a number. */
bool weir_execution_is_id(const char *word)
{
    size_t digits = strspn(word, "0123456789");

    return word[0] == '{' || (digits >= 1 && digits <= 5 && word[digits] == '-' &&
                              strchr(word, ':') == NULL);
}

int weir_execution_take_token(const struct weir_command *command, const char *word,
                              struct weir_claim *out)
{
    char id[OLD_ID_TEXT_SIZE];
    size_t size = strcspn(word, "/");
    const char *rest = word + size;
    struct weir_error error = {0};

    rest = size < sizeof id ? take_part(rest, &out->no) : NULL;
    if (rest != NULL)
        rest = take_part(rest, &out->epoch);
    if (rest != NULL && *rest == '\0') {
        memcpy(id, word, size);
        id[size] = '\0';
        if (weir_execution_id_parse(id, &out->id, &error) == WEIR_OK)
            return WEIR_EXIT_DONE;
    }
    if (!weir_execution_is_id(word))
        return weir_command_misuse(command,
                                   "this is no token of a claim, as in "
                                   "151-0193.../42/3: 'weir execution claim' prints it");
    return weir_command_misuse(
        command, "'%s' is no token of a claim, as 'weir execution claim' prints it",
        word);
}

int weir_execution_take_id(const struct weir_command *command, const char *word,
                           struct weir_execution_id *out)
{
    struct weir_error error = {0};

    if (weir_execution_id_parse(word, out, &error) == WEIR_OK)
        return WEIR_EXIT_DONE;
    if (!weir_execution_is_id(word))
        return weir_command_misuse(command,
                                   "an id of an execution must be a partition and "
                                   "a uuid, as in 151-0193...; 'weir execution list' "
                                   "shows them");
    return weir_command_misuse(command, "%s", error.text);
}

int weir_execution_parse_id(const struct weir_command *command,
                            const struct weir_command_option *option, char *word,
                            void *out)
{
    struct weir_execution_id id;
    int code = weir_execution_take_id(command, word, &id);

    (void)option;
    if (code == WEIR_EXIT_DONE)
        *(struct weir_execution_id *)out = id;
    return code;
}

int weir_execution_parse_claim(const struct weir_command *command,
                               const struct weir_command_option *option, char *word,
                               void *out)
{
    struct weir_claim claim;
    int code = weir_execution_take_token(command, word, &claim);

    (void)option;
    if (code == WEIR_EXIT_DONE)
        *(struct weir_claim *)out = claim;
    return code;
}

int weir_execution_take_amount(const struct weir_command *command, const char *option,
                               char *word, const char **name, int64_t *out)
{
    char *equals = strrchr(word, '=');
    const char *digits = equals != NULL ? equals + 1 : "";
    size_t size = strspn(digits, "0123456789");

    errno = 0;
    *out = strtoll(digits, NULL, 10);
    if (equals == NULL || equals == word || size == 0 || digits[size] != '\0' ||
        errno != 0)
        return weir_command_misuse(
            command, "%s is '%s', must be NAME=N, a whole number from 0 to %" PRId64,
            option, word, INT64_MAX);
    *equals = '\0';
    *name = word;
    return WEIR_EXIT_DONE;
}
