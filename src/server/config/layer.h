/*
 * layer.h - the places that have a say in a configuration, each of which overwrites the
 * settings of those before it.
 *
 * What is wrong is noted in the loading; the next value is read all the same.
 */
#ifndef WEIR_SERVER_CONFIG_LAYER_H
#define WEIR_SERVER_CONFIG_LAYER_H

struct weir_config_loading;

/* FILE and FILE.d: a key may be in each of them once. */
void weir_config_read_files(struct weir_config_loading *loading);

/* WEIR_SECTION_KEY and WEIR_SECTION_NAME_KEY, in capitals, with _ for all that is no
 * letter or digit. A name that no file has makes a section with the name in small
 * letters, and - for _. An empty variable is none. */
void weir_config_read_environment(struct weir_config_loading *loading);

/* The value of a variable of the environment; NULL: it is not set, or empty. */
const char *weir_config_variable(const struct weir_config_loading *loading,
                                 const char *name);

/* --set SECTION.KEY=VALUE and SECTION.NAME.KEY=VALUE, and --db. */
void weir_config_read_arguments(struct weir_config_loading *loading);

#endif
