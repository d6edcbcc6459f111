/*
 * notify_throttle.c - see notify_throttle.h.
 */
#include "execution/notify_throttle.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/text.h"
#include "db/clock.h"
#include "db/wake.h"

/* Said again well before it wears off. */
#define SAY_AGAIN_NS WEIR_SECONDS(10)

enum { ANNOUNCEMENT_SIZE = WEIR_COMMIT_BATCH_TEXT_SIZE };

static const struct weir_sql SQL_SAY = {
    .name = "note a waiter",
    .text = "SELECT setval('{q}_awaited', {now})",
};

/* A time that lies ahead (the server's clock was set back) counts too: it costs a
 * NOTIFY. */
static const struct weir_sql SQL_TELL = {
    .name = "notify waiters",
    .text = "SELECT pg_notify({1}, {2}) FROM {p}_awaited WHERE last_value > {now} - {3}"
            " AND " WEIR_PG_MAY_NOTIFY,
    .parameters = "tti",
};

static const struct weir_sql SQL_TELL_OF_TIMES = {
    .name = "notify due times",
    .text = "SELECT pg_notify({1}, {2}) WHERE " WEIR_PG_MAY_NOTIFY,
    .parameters = "tt",
};

/* Channels know no capitals; that two prefixes share one costs a look now and then. */
void weir_notify_throttle_init(struct weir_notify_throttle *self, const char *prefix,
                               bool mute)
{
    size_t size =
        weir_text_format(self->channel, sizeof self->channel, "%s_execution", prefix);

    for (size_t i = 0; i < size; i++)
        self->channel[i] = (char)tolower((unsigned char)self->channel[i]);
    self->mute = mute;
    self->teller = weir_clock_random() | 1;
    atomic_init(&self->spoke_ns, INT64_MIN);
    for (int i = 0; i < WEIR_DUE_KINDS; i++)
        atomic_init(&self->told_ns[i], INT64_MIN);
}

static bool is_within(int64_t then_ns, int64_t now_ns, int64_t duration_ns)
{
    return then_ns != INT64_MIN && now_ns - then_ns < duration_ns;
}

enum weir_status weir_notify_throttle_say_waiting(struct weir_notify_throttle *self,
                                                  struct weir_connection *connection,
                                                  bool *said, struct weir_error *error)
{
    int64_t now_ns = weir_clock_now_ns();
    enum weir_status status;

    *said = false;
    if (!weir_connection_traits(connection)->has_notify ||
        is_within(atomic_load(&self->spoke_ns), now_ns, SAY_AGAIN_NS))
        return WEIR_OK;
    status = weir_connection_execute(connection, &SQL_SAY, NO_VALUES, NULL, error);
    if (status == WEIR_OK) {
        atomic_store(&self->spoke_ns, now_ns);
        *said = true;
    }
    return status;
}

/* ---- telling ----------------------------------------------------------------------- */

uint32_t weir_notify_throttle_due(const struct weir_notify_throttle *self, uint32_t kinds,
                                  int64_t now_ns)
{
    for (int i = 0; i < WEIR_DUE_KINDS; i++) {
        if (is_within(atomic_load(&self->told_ns[i]), now_ns, WEIR_SILENCE_NS))
            kinds &= ~(1U << i);
    }
    return kinds;
}

void weir_notify_throttle_note_sent(struct weir_notify_throttle *self, uint32_t kinds,
                                    int64_t now_ns)
{
    for (int i = 0; i < WEIR_DUE_KINDS; i++) {
        if ((kinds & 1U << i) != 0)
            atomic_store(&self->told_ns[i], now_ns);
    }
}

/* "ready kinds teller", the last two in hexadecimal. */
static struct weir_str write_announcement(const struct weir_announcement *what,
                                          char text[ANNOUNCEMENT_SIZE])
{
    size_t size = weir_text_format(text, ANNOUNCEMENT_SIZE, "%d %" PRIx32 " %" PRIx64,
                                   (int)what->ready, what->kinds, what->teller);

    return (struct weir_str){text, size};
}

bool weir_announcement_read(const char *text, struct weir_announcement *out)
{
    unsigned ready = 0;
    int end = 0;

    *out = (struct weir_announcement){.ready = false};
    if (sscanf(text, "%1u %8" SCNx32 " %16" SCNx64 "%n", &ready, &out->kinds,
               &out->teller, &end) != 3 ||
        text[end] != '\0')
        return false;
    out->ready = ready != 0;
    return true;
}

void weir_notify_throttle_notify(struct weir_notify_throttle *self,
                                 struct weir_connection *connection,
                                 const struct weir_announcement *what,
                                 struct weir_commit_batch *commit_batch)
{
    struct weir_value channel = weir_text(weir_str(self->channel));
    struct weir_value said;

    if (self->mute || !weir_connection_traits(connection)->has_notify ||
        (!what->ready && what->kinds == 0))
        return;
    said = weir_text(write_announcement(what, commit_batch->text));
    if (what->kinds != 0)
        weir_commit_batch_add(commit_batch, &SQL_TELL_OF_TIMES, VALUES(channel, said));
    else
        weir_commit_batch_add(
            commit_batch, &SQL_TELL,
            VALUES(channel, said, weir_integer(WEIR_NOTIFY_THROTTLE_FRESH_US)));
}
