/*
 * check.h - what one key cannot say alone: names that must exist, keys that need or
 * exclude each other, addresses that must not be public.
 */
#ifndef WEIR_SERVER_CONFIG_CHECK_H
#define WEIR_SERVER_CONFIG_CHECK_H

struct weir_config;
struct weir_config_loading;

/* Fill in what follows from other keys (the default database, URLs from files), and note
 * what does not fit. Values that were refused before are not set, and cause no second
 * mistake. */
void weir_config_check(struct weir_config_loading *loading, struct weir_config *config);

#endif
