/*
 * serve_token.c - see serve_token.h.
 */
#include "cli/serve/serve_token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "outbox/token/token_text.h"

enum { PATH_SIZE = 4096 };

static enum weir_status write_file(const char *folder, const char *text,
                                   struct weir_error *error)
{
    char path[PATH_SIZE];
    bool written;
    int file;

    weir_text_format(path, sizeof path, "%s/token", folder);
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return weir_error_set(error, WEIR_SYSTEM, "cannot write '%s': %s", path,
                              strerror(errno));
    written = fchmod(file, 0600) == 0 && dprintf(file, "%s\n", text) > 0;
    close(file);
    return written ? WEIR_OK
                   : weir_error_set(error, WEIR_SYSTEM, "cannot write '%s'", path);
}

static enum weir_status show(const char *text, struct weir_error *error)
{
    const char *folder = getenv("RUNTIME_DIRECTORY");

    if (!isatty(STDERR_FILENO) && folder != NULL && folder[0] != '\0')
        return write_file(folder, text, error);
    fprintf(stderr, "weir serve: token for the life of this process: %s\n", text);
    return WEIR_OK;
}

enum weir_status weir_serve_token_make(struct weir_api_token *out,
                                       struct weir_error *error)
{
    char text[WEIR_API_TOKEN_SIZE + 1];
    enum weir_status status;

    *out = (struct weir_api_token){.grant = {.scopes = WEIR_SCOPE_ALL}};
    weir_text_format(out->grant.name, sizeof out->grant.name, "temporary");
    status = weir_token_draw(text, out->grant.id, error);
    if (status == WEIR_OK)
        status = weir_token_hash(text, WEIR_API_TOKEN_SIZE, out->hash, error);
    if (status == WEIR_OK)
        status = show(text, error);
    weir_token_wipe(text, sizeof text);
    return status;
}
