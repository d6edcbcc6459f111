/*
 * restored.c - see restored.h.
 */
#include "cli/migrate/restored.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/noun.h"
#include "cli/confirm.h"
#include "cli/migrate/migrate_engine.h"
#include "cli/output.h"
#include "cli/reply.h"
#include "db/db.h"
#include "outbox/delivery/mark.h"
#include "outbox/mariadb/restore.h"
#include "outbox/postgres/restore.h"
#include "view/migration_records.h"

/* What became of it. */
enum outcome { NOTHING_TO_DO, MENDED, WOULD_BE_DONE, DONE };

/* `survey` is NULL where there is nothing to survey. */
static int tell_json(const struct weir_session *session,
                     const struct weir_pg_survey *survey, enum outcome outcome)
{
    struct weir_restored row = {
        .database = session->name,
        .needed = outcome != NOTHING_TO_DO,
        .restored = outcome == DONE || outcome == MENDED,
        .surveyed = outcome == DONE || outcome == WOULD_BE_DONE,
    };

    if (row.surveyed) {
        row.made_in = survey->made_in;
        row.found_in = survey->found_in;
        row.messages = survey->messages + survey->aside;
        row.cuts = survey->cuts;
        row.queues = survey->queues;
        row.subscriptions = survey->subscriptions;
        row.hole = weir_pg_hole_is_there(&survey->hole);
        row.positions_missing = survey->unplaced;
    }
    return weir_reply_json(session, &weir_restored_record, &row);
}

/* What is not known of a dump with a hole. */
static void say_hole(const struct weir_pg_survey *survey)
{
    printf(
        "the dump has a hole: messages may be missing, and which is not known; positions "
        "may be older than they were, so that messages come again under other numbers; "
        "%" PRId64 " positions are missing and begin behind what was removed, with "
        "number 1\n",
        survey->unplaced);
}

static void say(const struct weir_session *session, const struct weir_pg_survey *survey,
                enum outcome outcome)
{
    switch (outcome) {
    case NOTHING_TO_DO:
        printf("%s: %s, nothing to do\n", session->name,
               survey != NULL ? "the tables were made in this database"
                              : "nothing is bound to a server");
        break;
    case MENDED:
        printf("%s: a sequence was ahead of its table, mended\n", session->name);
        break;
    case WOULD_BE_DONE:
    case DONE:
        printf("%s, restored from %s, %s: %" PRId64 " %s of %" PRId64
               " %s in their order, %" PRId64 " %s replaced by one, positions of "
               "%" PRId64 " %s as they are\n",
               session->name, survey->made_in,
               outcome == DONE ? "delivers" : "would deliver",
               survey->messages + survey->aside,
               WEIR_NOUN(survey->messages + survey->aside, "message", "messages"),
               survey->queues, WEIR_NOUN(survey->queues, "queue", "queues"), survey->cuts,
               WEIR_NOUN(survey->cuts, "cut", "cuts"), survey->subscriptions,
               WEIR_NOUN(survey->subscriptions, "subscription", "subscriptions"));
        if (weir_pg_hole_is_there(&survey->hole))
            say_hole(survey);
        break;
    }
}

static int tell(const struct weir_session *session, const struct weir_pg_survey *survey,
                enum outcome outcome)
{
    if (session->shared.json)
        return tell_json(session, survey, outcome);
    if (!session->shared.quiet || outcome == WOULD_BE_DONE)
        say(session, survey, outcome);
    return WEIR_EXIT_DONE;
}

static int confirm(const struct weir_session *session,
                   const struct weir_pg_survey *survey)
{
    return weir_confirm(
        session->command,
        "%s was restored from %s. Let it deliver: %" PRId64 " %s of %" PRId64
        " %s that %" PRId64 " %s may not have had (the original may have delivered "
        "them since)",
        session->name, survey->made_in, survey->messages + survey->aside,
        WEIR_NOUN(survey->messages + survey->aside, "message", "messages"),
        survey->queues, WEIR_NOUN(survey->queues, "queue", "queues"),
        survey->subscriptions,
        WEIR_NOUN(survey->subscriptions, "subscription", "subscriptions"));
}

int weir_restored_postgres(const struct weir_session *session,
                           struct weir_connection *connection,
                           const struct weir_restored_wishes *wishes)
{
    struct weir_pg_survey survey;
    struct weir_error error = {0};
    int code = WEIR_EXIT_DONE;

    if (weir_pg_restore_survey(connection, &survey, &error) != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    if (!survey.needed && !weir_pg_hole_is_there(&survey.hole))
        return tell(session, &survey, NOTHING_TO_DO);
    if (weir_pg_hole_is_there(&survey.hole) && !wishes->with_holes &&
        weir_pg_restore_refuse(&survey.hole, &error) != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    if (wishes->dry_run)
        return tell(session, &survey, WOULD_BE_DONE);
    if (!wishes->yes)
        code = confirm(session, &survey);
    if (code != WEIR_EXIT_DONE)
        return code;
    if (weir_pg_restore(connection,
                        wishes->with_holes ? WEIR_PG_HOLES_ACCEPTED
                                           : WEIR_PG_HOLES_REFUSED,
                        &survey, &error) != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    return tell(session, &survey,
                survey.needed || weir_pg_hole_is_there(&survey.hole) ? DONE
                                                                     : NOTHING_TO_DO);
}

/* Adds what is missing and changes nothing else: there is nothing to ask. */
int weir_restored_maria(const struct weir_session *session,
                        struct weir_connection *connection,
                        const struct weir_restored_wishes *wishes)
{
    struct weir_error error = {0};
    bool mended = false;

    if (!wishes->dry_run && weir_maria_restore(connection, &mended, &error) != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    return tell(session, NULL, mended ? MENDED : NOTHING_TO_DO);
}

int weir_restored_nothing(const struct weir_session *session,
                          struct weir_connection *connection,
                          const struct weir_restored_wishes *wishes)
{
    (void)connection;
    (void)wishes;
    return tell(session, NULL, NOTHING_TO_DO);
}

int weir_restored_run(const struct weir_session *session,
                      const struct weir_restored_wishes *wishes)
{
    struct weir_connection *connection = NULL;
    struct weir_error error = {0};
    int code;

    if (weir_db_acquire(session->db, &connection, &error) != WEIR_OK)
        return weir_session_fail(session, &error, NULL);
    code = weir_migrate_engine(session)->restore(session, connection, wishes);
    if (code == WEIR_EXIT_DONE && !wishes->dry_run &&
        weir_mark_forget_all(connection, &error) != WEIR_OK)
        code = weir_session_fail(session, &error, NULL);
    weir_db_release(session->db, connection);
    return code;
}
