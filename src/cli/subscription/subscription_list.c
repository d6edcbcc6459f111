/*
 * subscription_list.c - `weir subscription list`.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/count.h"
#include "cli/output.h"
#include "cli/session.h"
#include "weir/heap.h"
#include "weir/subscription.h"

enum { JSON_SIZE_MAX = 64 << 20 };

static int run(const struct weir_command *self, int argc, char **argv);

const struct weir_command weir_cli_subscription_list = {
    .name = "subscription list",
    .summary = "list subscriptions and what waits for them",
    .usage = "[QUEUE]",
    .details =
        "Waiting is what the subscription has not acknowledged yet; '~' is an\n"
        "estimate. Oldest is the age of the oldest message of these. Processes are\n"
        "those that serve it and are alive. Dead letters wait for a decision. With\n"
        "--quiet only queue and name are printed, a line for each.\n",
    .uses_db = true,
    .run = run,
};

static const struct weir_table_column COLUMNS[] = {
    {.title = "queue", .cut_to = 12},
    {.title = "subscription", .cut_to = 12},
    {.title = "served by", .rank = 3},
    {.title = "processes", .align = WEIR_TABLE_RIGHT, .rank = 2},
    {.title = "paused", .rank = 1},
    {.title = "waiting", .align = WEIR_TABLE_RIGHT},
    {.title = "oldest", .align = WEIR_TABLE_RIGHT},
    {.title = "dead letters", .align = WEIR_TABLE_RIGHT},
    {.title = "made", .rank = 4},
};

struct view {
    bool quiet;
    struct weir_table table;
    struct weir_buf json;
};

static const char *serving_word(enum weir_serving serving)
{
    return serving == WEIR_SERVED_BY_SINK ? "sink" : "handler";
}

static const char *paused_word(const struct weir_subscription_info *info)
{
    if (info->paused)
        return "yes";
    return info->queue_paused ? "queue" : "no";
}

static void add_row(struct weir_table *table, const struct weir_subscription_info *info)
{
    bool paused = info->paused || info->queue_paused;
    char count[WEIR_COUNT_SIZE];
    char age[WEIR_AGE_SIZE];
    char made[WEIR_OUTPUT_TIME_SIZE];

    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->queue);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", info->name);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s", serving_word(info->serving));
    weir_table_add(table, WEIR_TONE_PLAIN, "%" PRIu32, info->processes);
    weir_table_add(table, paused ? WEIR_TONE_CAREFUL : WEIR_TONE_PLAIN, "%s",
                   paused_word(info));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_count(info->waiting, info->waiting_is_estimate, count));
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_age(info->oldest_age_us, age));
    weir_table_add(table, info->dead_letters > 0 ? WEIR_TONE_BAD : WEIR_TONE_PLAIN,
                   "%" PRId64, info->dead_letters);
    weir_table_add(table, WEIR_TONE_PLAIN, "%s",
                   weir_output_time(info->created_us, made));
}

static void add(void *state, const struct weir_subscription_info *info)
{
    struct view *self = state;
    struct weir_buf *json = &self->json;

    if (self->quiet) {
        printf("%s %s\n", info->queue, info->name);
        return;
    }
    add_row(&self->table, info);
    weir_output_open(json, NULL, "{");
    weir_output_add_text(json, "queue", info->queue);
    weir_output_add_text(json, "name", info->name);
    weir_output_add_text(json, "served_by", serving_word(info->serving));
    weir_output_add_number(json, "processes", info->processes);
    weir_output_add_flag(json, "paused", info->paused);
    weir_output_add_flag(json, "queue_paused", info->queue_paused);
    weir_output_add_number(json, "waiting", info->waiting);
    weir_output_add_flag(json, "waiting_is_estimate", info->waiting_is_estimate);
    weir_output_add_seconds(json, "oldest_age_seconds", info->oldest_age_us);
    weir_output_add_number(json, "dead_letters", info->dead_letters);
    weir_output_add_time(json, "created_at", info->created_us);
    weir_buf_append_text(json, "}");
}

static int list(const struct weir_session *session, const char *queue)
{
    struct view view = {.quiet = session->shared.quiet && !session->shared.json};
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;

    weir_table_init(&view.table, weir_heap_system(), COLUMNS, COUNT_OF(COLUMNS));
    weir_buf_init(&view.json, weir_heap_system(), JSON_SIZE_MAX);
    weir_output_open(&view.json, NULL, "{");
    weir_output_open(&view.json, "subscriptions", "[");
    if (weir_outbox_read_subscriptions(session->outbox, queue, add, &view, &error) !=
        WEIR_OK) {
        code = weir_session_fail(session, &error, queue);
    } else if (session->shared.json) {
        weir_buf_append_text(&view.json, "]}");
        code = weir_output_text(session->command, &view.json);
    } else if (!view.quiet) {
        code = weir_output_table(session->command, &view.table);
    }
    weir_buf_fini(&view.json);
    weir_table_fini(&view.table);
    return code;
}

static int run(const struct weir_command *self, int argc, char **argv)
{
    struct weir_session session;
    const char *queue = NULL;
    int code;

    switch (weir_command_next_option(self, argc, argv)) {
    case WEIR_OPTIONS_END:
        break;
    case WEIR_OPTIONS_HELPED:
        return WEIR_EXIT_DONE;
    default:
        return WEIR_EXIT_MISUSE;
    }
    if (optind < argc)
        queue = argv[optind++];
    code = weir_command_no_operands(self, argc, argv);
    if (code != WEIR_EXIT_DONE)
        return code;
    code = weir_session_open(&session, self, WEIR_SESSION_OUTBOX, NULL);
    if (code == WEIR_EXIT_DONE)
        code = list(&session, queue);
    weir_session_close(&session);
    return code;
}
