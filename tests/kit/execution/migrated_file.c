/*
 * migrated_file.c - see migrated_file.h.
 */
#include "kit/execution/migrated_file.h"

#include <stdio.h>

#include "kit/temp_dir.h"
#include "kit/test.h"
#include "weir/db.h"
#include "weir/executions.h"
#include "weir/outbox.h"

void migrated_file_make(const char *path, bool with_executions)
{
    struct weir_db_options options;
    struct weir_db *db = NULL;
    char url[TEMP_DIR_SIZE + 32];

    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    weir_db_options_init(&options);
    options.url = url;
    check_status(weir_db_create(&options, &db, NULL), WEIR_OK);
    check_status(weir_outbox_migrate(db, NULL), WEIR_OK);
    if (with_executions)
        check_status(weir_executions_migrate(db, NULL), WEIR_OK);
    weir_db_destroy(db);
}
