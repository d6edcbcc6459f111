/*
 * tls.c - see mariadb/tls.h.
 *
 * The library reports all that can go wrong by one code, a handshake that was cut off
 * among it. So it is no reason to stop: what is refused today may be accepted once a
 * certificate was renewed.
 */
#include "db/mariadb/tls.h"

#include <errmsg.h>
#include <string.h>

#include "base/text.h"

void weir_maria_tls_prepare(MYSQL *mysql, const struct weir_url *url)
{
    const my_bool enforce = url->tls != WEIR_TLS_OFF;
    const my_bool verify = url->tls == WEIR_TLS_VERIFY;

    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &enforce);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (url->ca != NULL)
        mysql_options(mysql, MYSQL_OPT_SSL_CA, url->ca);
}

enum weir_status weir_maria_tls_check(MYSQL *mysql, const struct weir_url *url,
                                      struct weir_error *error)
{
    if (url->tls == WEIR_TLS_OFF || mysql_get_ssl_cipher(mysql) != NULL)
        return WEIR_OK;
    return weir_error_set(error, WEIR_LOST, "TLS/SSL error: the connection is in clear");
}

void weir_maria_tls_explain(const struct weir_url *url, struct weir_error *error)
{
    size_t size;

    if (error->native_code != CR_SSL_CONNECTION_ERROR || url->tls == WEIR_TLS_OFF)
        return;
    size = strlen(error->text);
    (void)weir_text_format(error->text + size, sizeof error->text - size,
                           "; ca=FILE in the URL names the authorities to trust, and "
                           "tls=off would send everything in clear");
}
