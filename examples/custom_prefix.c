/*
 * custom_prefix.c - an outbox whose tables have a prefix of their own.
 *
 * Two applications, or two outboxes of one, share a database without knowing of each
 * other: the prefix belongs to the struct weir_db, and every table has it.
 */
#include <semaphore.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

static enum weir_outcome show_message(struct weir_context *context, void *shown,
                                      const struct weir_message *message,
                                      struct weir_reason *reason)
{
    (void)context;
    (void)reason;
    printf("chat: %s\n", (const char *)message->payload);
    sem_post(shown);
    return WEIR_DONE;
}

static int print_row(void *state, int count, char **values, char **names)
{
    (void)state;
    (void)count;
    return printf("%s: %s\n", names[0], values[0]) < 0;
}

/* Whose the tables of this database are. */
static enum weir_status look_at_tables(struct weir_outbox *outbox,
                                       struct weir_connection *connection, void *argument,
                                       struct weir_error *error)
{
    (void)outbox;
    (void)argument;
    if (sqlite3_exec(weir_connection_native(connection),
                     "SELECT name AS log FROM sqlite_schema"
                     " WHERE name = 'mini_chat_outbox_log';"
                     "SELECT count(*) AS others FROM sqlite_schema"
                     " WHERE type = 'table' AND name NOT GLOB 'mini_chat_outbox_*'"
                     " AND name NOT GLOB 'sqlite_*'",
                     print_row, NULL, NULL) != SQLITE_OK)
        return weir_error_set(error, WEIR_FAILED, "no tables to be seen");
    return WEIR_OK;
}

int main(void)
{
    struct weir_draft hello = {
        .type = "message", .payload = "hello", .payload_size = strlen("hello")};
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_queue_options room;
    struct weir_handler_options screen;
    struct weir_db *db = NULL;
    struct weir_outbox *outbox = NULL;
    struct weir_error error = {0};
    size_t unfinished = 1;
    sem_t shown;

    sem_init(&shown, 0, 0);
    weir_db_options_init(&where);
    where.url = "sqlite::memory:";
    where.prefix = "mini_chat_outbox"; /* here, and nowhere else */
    weir_outbox_options_init(&options);
    weir_queue_options_init(&room);
    room.name = "room";
    weir_handler_options_init(&screen);
    screen.queue = "room";
    screen.on_message = show_message;
    screen.state = &shown;
    if (weir_db_create(&where, &db, &error) != WEIR_OK ||
        weir_outbox_migrate(db, &error) != WEIR_OK)
        goto out;
    options.db = db;
    if (weir_outbox_create(&options, &outbox, &error) != WEIR_OK ||
        weir_outbox_add_queue(outbox, &room, &error) != WEIR_OK ||
        weir_outbox_add_handler(outbox, &screen, &error) != WEIR_OK ||
        weir_outbox_start(outbox, &error) != WEIR_OK ||
        weir_enqueue(outbox, NULL, "room", &hello, NULL, &error) != WEIR_OK)
        goto out;

    sem_wait(&shown);
    unfinished = weir_outbox_stop(outbox, WEIR_SECONDS(5));
    if (weir_outbox_transact(outbox, look_at_tables, NULL, &error) != WEIR_OK)
        unfinished = 1;
out:
    if (unfinished != 0)
        fprintf(stderr, "%s\n", error.text);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    sem_destroy(&shown);
    return unfinished == 0 ? 0 : 1;
}
