# The drivers of the three databases and what else is linked, by the names Debian's packages give them.
find_path(SQLITE_INCLUDE_DIR sqlite3.h REQUIRED)
find_library(SQLITE_LIBRARY sqlite3 REQUIRED)
find_path(PQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql REQUIRED)
find_library(PQ_LIBRARY pq REQUIRED)
find_path(MARIADB_INCLUDE_DIR mysql.h PATH_SUFFIXES mariadb mysql REQUIRED)
find_library(MARIADB_LIBRARY mariadb REQUIRED)

# HMAC for tokens, and TLS of the HTTP server. The drivers above bring both along anyway.
find_path(CRYPTO_INCLUDE_DIR openssl/hmac.h REQUIRED)
find_library(CRYPTO_LIBRARY crypto REQUIRED)
find_library(SSL_LIBRARY ssl REQUIRED)

set(weir_database_includes ${SQLITE_INCLUDE_DIR} ${PQ_INCLUDE_DIR} ${MARIADB_INCLUDE_DIR}
    ${CRYPTO_INCLUDE_DIR})
# By name: the installed package must not carry paths of the machine it was built on.
set(weir_database_libraries sqlite3 pq mariadb ssl crypto)
