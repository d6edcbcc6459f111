/* Tests of db/server_key.c: which server a database is on. */
#include "db/server_key.h"

#include <string.h>

#include "kit/test.h"

WEIR_TEST(server_key, is_unknown_until_a_session_has_said_it)
{
    char text[WEIR_SERVER_KEY_SIZE];
    struct weir_server_key key;

    check_status(weir_server_key_init(&key), WEIR_OK);
    check(!weir_server_key_get(&key, text));
    check_str(text, "");

    weir_server_key_keep(&key, weir_str("db1/3306/var/lib/mysql/1"));

    check(weir_server_key_get(&key, text));
    check_int(strspn(text, "0123456789abcdef"), WEIR_SERVER_KEY_SIZE - 1);
    weir_server_key_fini(&key);
}

/* Behind a failover: processes that start now know only the new one. */
WEIR_TEST(server_key, is_that_of_the_newest_session)
{
    char first[WEIR_SERVER_KEY_SIZE];
    char text[WEIR_SERVER_KEY_SIZE];
    struct weir_server_key key;

    check_status(weir_server_key_init(&key), WEIR_OK);
    weir_server_key_keep(&key, weir_str("db1/3306/var/lib/mysql/1"));
    check(weir_server_key_get(&key, first));

    weir_server_key_keep(&key, weir_str("db2/3306/var/lib/mysql/2"));
    check(weir_server_key_get(&key, text));
    check(strcmp(text, first) != 0);
    weir_server_key_keep(&key, weir_str("db1/3306/var/lib/mysql/1"));

    check(weir_server_key_get(&key, text));
    check_str(text, first);
    weir_server_key_fini(&key);
}
