/*
 * metrics.c - every metric of an outbox that runs: name, kind, help and the names of
 * its labels.
 *
 *   metrics URL
 *
 * The database is new; values are left out.
 */
#include <stdio.h>

#include <weir/weir.h>

static enum weir_outcome take(struct weir_context *context, void *state,
                              const struct weir_message *message,
                              struct weir_reason *reason)
{
    (void)context, (void)state, (void)message, (void)reason;
    return WEIR_DONE;
}

static void print(void *state, const struct weir_metric *metric)
{
    (void)state;
    if (!metric->begins)
        return;
    printf("# HELP %s %s\n", metric->name, metric->help);
    printf("# TYPE %s %s\n", metric->name, weir_metric_kind_text(metric->kind));
    printf("%s{", metric->name);
    for (size_t i = 0; i < metric->label_count; i++)
        printf("%s%s", i > 0 ? "," : "", metric->labels[i].name);
    printf("}\n");
}

static enum weir_status run(struct weir_outbox *outbox, struct weir_error *error)
{
    struct weir_queue_options queue;
    struct weir_handler_options handler;
    enum weir_status status;

    weir_queue_options_init(&queue);
    queue.name = "orders";
    queue.partitions = 1;
    status = weir_outbox_add_queue(outbox, &queue, error);
    weir_handler_options_init(&handler);
    handler.queue = queue.name;
    handler.on_message = take;
    if (status == WEIR_OK)
        status = weir_outbox_add_handler(outbox, &handler, error);
    if (status == WEIR_OK)
        status = weir_outbox_start(outbox, error);
    if (status == WEIR_OK)
        status = weir_outbox_read_metrics(outbox, print, NULL, error);
    return status;
}

int main(int argc, char **argv)
{
    struct weir_db_options where;
    struct weir_outbox_options options;
    struct weir_outbox *outbox = NULL;
    struct weir_db *db = NULL;
    struct weir_error error = {0};
    enum weir_status status;

    if (argc != 2)
        return 2;
    weir_db_options_init(&where);
    where.url = argv[1];
    status = weir_db_create(&where, &db, &error);
    if (status == WEIR_OK)
        status = weir_outbox_migrate(db, &error);
    weir_outbox_options_init(&options);
    options.db = db;
    if (status == WEIR_OK)
        status = weir_outbox_create(&options, &outbox, &error);
    if (status == WEIR_OK)
        status = run(outbox, &error);
    if (status != WEIR_OK)
        fprintf(stderr, "metrics: %s\n", error.text);
    weir_outbox_stop(outbox, 1000000000);
    weir_outbox_destroy(outbox);
    weir_db_destroy(db);
    return status == WEIR_OK ? 0 : 1;
}
