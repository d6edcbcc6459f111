/*
 * table.c - see table.h.
 */
#include "lib/table.h"

#include <stdbool.h>
#include <stdio.h>

enum { FIGURE_SIZE = 32, NAME_WIDTH = 44 };

static size_t targets_total;
static size_t missed_total;

static const char *scaled(char *text, double value, const char *const *units,
                          const double *sizes, size_t count)
{
    size_t i = count - 1;

    while (i > 0 && value < sizes[i])
        i--;
    (void)snprintf(text, FIGURE_SIZE, "%.*f %s", i == 0 ? 0 : 2, value / sizes[i],
                   units[i]);
    return text;
}

static const char *spell(char *text, enum bench_unit unit, double value)
{
    static const char *const rates[] = {"/s", "k/s", "M/s"};
    static const char *const times[] = {"ns", "us", "ms", "s"};
    static const char *const sizes[] = {"B", "kB", "MB"};
    static const double thousands[] = {1, 1e3, 1e6, 1e9};

    switch (unit) {
    case BENCH_PER_SECOND:
        return scaled(text, value, rates, thousands, 3);
    case BENCH_NANOSECONDS:
        return scaled(text, value, times, thousands, 4);
    case BENCH_BYTES:
        return scaled(text, value, sizes, thousands, 3);
    case BENCH_DECIMAL:
        (void)snprintf(text, FIGURE_SIZE, "%.2f", value);
        return text;
    case BENCH_PERCENT:
        (void)snprintf(text, FIGURE_SIZE, "%.2f %%", value);
        return text;
    case BENCH_COUNT:
        break;
    }
    (void)snprintf(text, FIGURE_SIZE, "%.0f", value);
    return text;
}

static bool met(struct bench_target target, double value)
{
    switch (target.kind) {
    case TARGET_AT_LEAST:
        return value >= target.limit;
    case TARGET_AT_MOST:
        return value <= target.limit;
    case TARGET_BELOW:
        return value < target.limit;
    case TARGET_NONE:
        break;
    }
    return true;
}

/* What is printed must not look met when it is missed: nothing is rounded before
 * met(). */
static void print_verdict(struct bench_target target, double value, const char *limit)
{
    static const char *const signs[] = {
        [TARGET_AT_LEAST] = ">=",
        [TARGET_AT_MOST] = "<=",
        [TARGET_BELOW] = "<",
    };
    bool fine = met(target, value);

    if (target.kind == TARGET_NONE) {
        (void)printf("\n");
        return;
    }
    targets_total++;
    missed_total += !fine;
    (void)printf("  %2s %-8s %s\n", signs[target.kind], limit, fine ? "ok" : "MISSED");
}

void bench_section(const char *title, const char *ours, const char *baseline)
{
    (void)printf("\n%s\n   %-*s %12s %12s %7s  %-11s %s\n", title, NAME_WIDTH, "", ours,
                 baseline, baseline[0] != '\0' ? "ratio" : "", "target", "verdict");
}

void bench_row_pair(const char *name, enum bench_unit unit, const struct bench_pair *pair,
                    struct bench_target target)
{
    double ratio = bench_sample_median(&pair->ratios);
    char ours[FIGURE_SIZE];
    char baseline[FIGURE_SIZE];
    char limit[FIGURE_SIZE];

    (void)snprintf(limit, sizeof limit, "%g", target.limit);
    (void)printf("   %-*s %12s %12s %7.2f", NAME_WIDTH, name,
                 spell(ours, unit, bench_sample_median(&pair->ours)),
                 spell(baseline, unit, bench_sample_median(&pair->baseline)), ratio);
    print_verdict(target, ratio, limit);
    (void)fflush(stdout);
}

void bench_row_sample(const char *name, enum bench_unit unit,
                      const struct bench_sample *sample, struct bench_target target)
{
    bench_row_value(name, unit, bench_sample_median(sample), target);
}

void bench_row_value(const char *name, enum bench_unit unit, double value,
                     struct bench_target target)
{
    char figure[FIGURE_SIZE];
    char limit[FIGURE_SIZE];

    (void)printf("   %-*s %12s", NAME_WIDTH, name, spell(figure, unit, value));
    if (target.kind != TARGET_NONE)
        (void)printf(" %12s %7s", "", "");
    print_verdict(target, value, spell(limit, unit, target.limit));
    (void)fflush(stdout);
}

void bench_note(const char *text)
{
    (void)printf("   . %s\n", text);
    (void)fflush(stdout);
}

void bench_summary(void)
{
    (void)printf("\n%zu targets, %zu missed\n", targets_total, missed_total);
    (void)fflush(stdout);
}
