/*
 * audit_fixture.h - an actor, and audit rows as a test looks at them.
 */
#ifndef WEIR_TEST_AUDIT_FIXTURE_H
#define WEIR_TEST_AUDIT_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "kit/outbox/outbox_engines.h"
#include "weir/audit.h"

static const struct weir_audit_actor ANNA = {.name = "anna", .origin = WEIR_FROM_CLI};

struct audit_view {
    int64_t id;
    int64_t at_us;
    enum weir_audit_origin origin;
    int64_t count;
    char who[320];
    char request[320];
    char address[320];
    char action[64];
    char target[1100];
    char before[400];
    char after[400];
    char reason[1100];
    char outcome[32];
};

struct audit_views {
    struct audit_view rows[64];
    size_t count;
};

static inline void audit_copy(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%s", text != NULL ? text : "-");
}

static inline void audit_keep(void *state, const struct weir_audit_row *row)
{
    struct audit_views *self = state;
    struct audit_view *view = &self->rows[self->count];

    check(self->count < 64);
    self->count++;
    view->id = row->id;
    view->at_us = row->at_us;
    view->origin = row->origin;
    view->count = row->count;
    audit_copy(view->who, sizeof view->who, row->actor);
    audit_copy(view->request, sizeof view->request, row->request);
    audit_copy(view->address, sizeof view->address, row->address);
    audit_copy(view->action, sizeof view->action, row->action);
    audit_copy(view->target, sizeof view->target, row->target);
    audit_copy(view->before, sizeof view->before, row->before);
    audit_copy(view->after, sizeof view->after, row->after);
    audit_copy(view->reason, sizeof view->reason, row->reason);
    audit_copy(view->outcome, sizeof view->outcome, row->outcome);
}

/* A page of them, and where it ended. In memory of the program, until the next call. */
static inline struct audit_views *audit_page(struct fixture *fixture,
                                             const struct weir_audit_filter *filter,
                                             int64_t *after)
{
    static struct audit_views views;

    memset(&views, 0, sizeof views);
    check_db(
        weir_audit_list(fixture->db, filter, after, audit_keep, &views, &fixture->error),
        WEIR_OK);
    return &views;
}

static inline struct audit_views *audit_filtered(struct fixture *fixture,
                                                 const struct weir_audit_filter *filter)
{
    int64_t after = 0;

    return audit_page(fixture, filter, &after);
}

/* The newest row. */
static inline struct audit_view audit_last(struct fixture *fixture)
{
    const struct weir_audit_filter filter = {.limit = 1};
    struct audit_views *views = audit_filtered(fixture, &filter);

    check_int(views->count, 1);
    return views->rows[0];
}

static inline int64_t audit_count(struct fixture *fixture)
{
    return fixture_ask(fixture, "SELECT count(*) FROM weir_audit");
}

#endif
