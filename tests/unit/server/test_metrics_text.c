/*
 * test_metrics_text.c - figures as Prometheus and OpenMetrics have them.
 */
#include "server/api/metrics_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kit/test.h"
#include "weir/heap.h"

enum { TEXT_SIZE_MAX = 1 << 20 };

static struct weir_metrics_text text;
static struct weir_buf out;

static void begin(void)
{
    weir_metrics_text_init(&text, weir_heap_system());
    weir_buf_init(&out, weir_heap_system(), TEXT_SIZE_MAX);
}

static const char *printed(enum weir_metrics_format format)
{
    weir_metrics_text_append(&text, format, &out);
    check_status(weir_buf_status(&out), WEIR_OK);
    return weir_buf_text(&out);
}

static void end(void)
{
    weir_metrics_text_fini(&text);
    weir_buf_fini(&out);
}

WEIR_TEST(metrics_text, prints_help_type_and_samples_of_a_name)
{
    struct weir_metric_label label = {"database", "shop"};

    begin();
    weir_metrics_text_family(&text, "weir_db_up", "It is up.", WEIR_FAMILY_GAUGE);
    weir_metrics_text_add(&text, "", &label, 1, 1);
    weir_metrics_text_add(&text, "", NULL, 0, 0.25);

    check_str(printed(WEIR_METRICS_PROMETHEUS), "# HELP weir_db_up It is up.\n"
                                                "# TYPE weir_db_up gauge\n"
                                                "weir_db_up{database=\"shop\"} 1\n"
                                                "weir_db_up 0.25\n");
    end();
}

/* Its family is named without the suffix there, its samples with it. */
WEIR_TEST(metrics_text, names_counters_as_open_metrics_does)
{
    begin();
    weir_metrics_text_family(&text, "weir_calls_total", "Calls.", WEIR_FAMILY_COUNTER);
    weir_metrics_text_add(&text, "", NULL, 0, 3);

    check_str(printed(WEIR_METRICS_OPEN), "# HELP weir_calls Calls.\n"
                                          "# TYPE weir_calls counter\n"
                                          "weir_calls_total 3\n"
                                          "# EOF\n");
    end();
}

WEIR_TEST(metrics_text, keeps_samples_of_a_name_together)
{
    begin();
    for (int i = 0; i < 2; i++) {
        weir_metrics_text_family(&text, "weir_a", "A.", WEIR_FAMILY_GAUGE);
        weir_metrics_text_add(&text, "", NULL, 0, i);
        weir_metrics_text_family(&text, "weir_b", "B.", WEIR_FAMILY_GAUGE);
        weir_metrics_text_add(&text, "", NULL, 0, i);
    }

    check_str(printed(WEIR_METRICS_PROMETHEUS),
              "# HELP weir_a A.\n# TYPE weir_a gauge\nweir_a 0\nweir_a 1\n"
              "# HELP weir_b B.\n# TYPE weir_b gauge\nweir_b 0\nweir_b 1\n");
    end();
}

WEIR_TEST(metrics_text, escapes_what_a_label_may_not_have)
{
    struct weir_metric_label label = {"queue", "a\"b\\c\nd"};

    begin();
    weir_metrics_text_family(&text, "weir_a", "A.", WEIR_FAMILY_GAUGE);
    weir_metrics_text_add(&text, "", &label, 1, 1);

    check(strstr(printed(WEIR_METRICS_PROMETHEUS),
                 "weir_a{queue=\"a\\\"b\\\\c\\nd\"} 1\n") != NULL);
    end();
}

WEIR_TEST(metrics_text, prints_numbers_that_are_none)
{
    begin();
    weir_metrics_text_family(&text, "weir_a", "A.", WEIR_FAMILY_GAUGE);
    weir_metrics_text_add(&text, "", NULL, 0, (double)INFINITY);
    weir_metrics_text_add(&text, "", NULL, 0, -(double)INFINITY);
    weir_metrics_text_add(&text, "", NULL, 0, (double)NAN);
    weir_metrics_text_add(&text, "", NULL, 0, 1e300);

    check(strstr(printed(WEIR_METRICS_PROMETHEUS),
                 "weir_a +Inf\nweir_a -Inf\nweir_a NaN\nweir_a 1e+300\n") != NULL);
    end();
}

/* Those of the library, with labels of the server in front. */
WEIR_TEST(metrics_text, visits_metrics_of_an_outbox)
{
    struct weir_metric_label server = {"database", "shop"};
    struct weir_metric_label queue = {"queue", "orders"};
    struct weir_metric metric = {.name = "weir_outbox_calls_total",
                                 .help = "Calls.",
                                 .kind = WEIR_METRIC_COUNTER,
                                 .begins = true,
                                 .labels = &queue,
                                 .label_count = 1,
                                 .value = 7};

    begin();
    weir_metrics_text_set_labels(&text, &server, 1);
    weir_metrics_text_visit(&text, &metric);

    check_str(printed(WEIR_METRICS_PROMETHEUS),
              "# HELP weir_outbox_calls_total Calls.\n"
              "# TYPE weir_outbox_calls_total counter\n"
              "weir_outbox_calls_total{database=\"shop\",queue=\"orders\"} 7\n");
    end();
}

WEIR_TEST(metrics_text, counts_series_beyond_its_limit)
{
    begin();
    weir_metrics_text_family(&text, "weir_a", "A.", WEIR_FAMILY_GAUGE);
    for (int i = 0; i < WEIR_METRICS_SERIES_MAX + 3; i++)
        weir_metrics_text_add(&text, "", NULL, 0, 1);

    check_int(text.limited, 3);
    check_int(text.families[0].count, WEIR_METRICS_SERIES_MAX);
    end();
}
