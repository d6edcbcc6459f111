/*
 * reference.h - docs/configuration.md, made from the table of keys.
 */
#ifndef WEIR_SERVER_CONFIG_REFERENCE_H
#define WEIR_SERVER_CONFIG_REFERENCE_H

struct weir_buf;

void weir_config_reference(struct weir_buf *out);

#endif
