/*
 * print.h - a configuration as a file: every key, its value, and where it comes from.
 *
 *   [http]
 *   # weir.ini:17
 *   idle_timeout = 75s
 *   # tls_key_file is not set
 *
 * Secrets are ***. Apart from them, and from what --db has said, the same configuration
 * can be read from it.
 */
#ifndef WEIR_SERVER_CONFIG_PRINT_H
#define WEIR_SERVER_CONFIG_PRINT_H

struct weir_buf;
struct weir_config;

void weir_config_print(const struct weir_config *self, struct weir_buf *out);

#endif
