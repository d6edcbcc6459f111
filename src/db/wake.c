/*
 * wake.c - one thread that waits for hints, and for the time to poll.
 *
 *   interval_ns   how long until the next poll: poll_ns with a watch that is ready and
 *                 hears all; else it is adaptive, from poll_min_ns doubling to poll_ns,
 *                 and back to poll_min_ns when a signal was worth it
 *
 * The notifier stores one permit, so signalling too often is harmless; too rarely is
 * the only mistake to make here. Whenever a watch becomes ready, anew or for the first
 * time, the notifier is signalled: a commit may have happened while no watch was
 * listening.
 *
 * A watch that fails is opened again with backoff. The backoff ends only when one has
 * been ready for a while: a server that accepts and then throws out is not to be asked
 * in a tight loop.
 */
#include "db/wake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/duration.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/no_memory.h"
#include "db/db.h"
#include "db/watch.h"
#include "ward/bulkhead.h"
#include "ward/system.h"

enum { CHANNEL_SIZE_MAX = 48 };

static const struct weir_backoff REOPEN = {
    .initial_ns = WEIR_MILLISECONDS(50),
    .max_ns = WEIR_SECONDS(5),
    .multiplier = 2.0,
    .jitter = 0.5,
};

struct weir_wake {
    struct weir_db *db;
    struct weir_notifier *notifier; /* or */
    weir_wake_fn heard;
    void *heard_state;
    const struct weir_watch_ops *ops; /* NULL: adaptive polling only */
    char channel[CHANNEL_SIZE_MAX + 1];
    int64_t poll_ns;
    int64_t poll_min_ns;
    pthread_t thread;
    int event_fd; /* written to stop, and when a reward shortens the interval */
    _Atomic bool stopping;
    _Atomic bool rewarded;
    _Atomic uint64_t hints;
    _Atomic uint64_t polls;
    _Atomic uint64_t reconnects;
    _Atomic bool listening;
    _Atomic bool adaptive; /* polling: rewards are of use */

    /* the thread's own */
    struct weir_watch *watch; /* NULL: not open */
    struct weir_bulkhead reopen;
    int64_t reopen_ns;   /* when to try */
    int64_t ready_ns;    /* since when the watch is ready; 0: none ever was */
    int64_t interval_ns; /* between polls */
    int64_t poll_due_ns;
};

static void *watch_loop(void *argument);

void weir_wake_options_init(struct weir_wake_options *self)
{
    *self = (struct weir_wake_options){
        .channel = "weir",
        .poll_ns = WEIR_SECONDS(1),
        .poll_min_ns = WEIR_MILLISECONDS(2),
    };
}

static enum weir_status check_channel(const char *channel, struct weir_error *error)
{
    size_t size = channel == NULL ? 0 : strnlen(channel, CHANNEL_SIZE_MAX + 1);

    if (size < 1 || size > CHANNEL_SIZE_MAX ||
        strspn(channel, "abcdefghijklmnopqrstuvwxyz0123456789_") != size)
        return weir_error_set(error, WEIR_INVALID,
                              "channel \"%.48s\" must have 1 to %d of a-z, 0-9 and _",
                              channel != NULL ? channel : "", CHANNEL_SIZE_MAX);
    return WEIR_OK;
}

static enum weir_status check_options(const struct weir_wake_options *options,
                                      struct weir_error *error)
{
    enum weir_status status = check_channel(options->channel, error);

    if (status == WEIR_OK)
        status = weir_duration_check("poll_ns", options->poll_ns, WEIR_MILLISECONDS(1),
                                     WEIR_HOURS(1), error);
    if (status == WEIR_OK)
        status = weir_duration_check("poll_min_ns", options->poll_min_ns,
                                     WEIR_MICROSECONDS(100), options->poll_ns, error);
    return status;
}

static const struct weir_watch_ops *ops_for(const struct weir_db *db)
{
    const struct weir_url *url = &weir_db_config(db)->url;
    const struct weir_engine_traits *traits = weir_engine_traits(url->engine);

    if (traits->in_process)
        return weir_url_is_memory(url) ? NULL : &weir_watch_sqlite;
    if (traits->has_notify)
        return url->transaction_pooler ? NULL : &weir_watch_postgresql;
    return weir_db_config(db)->signal_folder == NULL ? NULL : &weir_watch_signal;
}

enum weir_status weir_wake_start(const struct weir_wake_options *options,
                                 struct weir_wake **out, struct weir_error *error)
{
    const struct weir_heap *heap = weir_db_heap(options->db);
    enum weir_status status = check_options(options, error);
    struct weir_wake *self;

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    self = weir_heap_zalloc(heap, sizeof *self);
    if (self == NULL)
        return weir_no_memory(error, "start wake");
    self->db = options->db;
    self->notifier = options->notifier;
    self->heard = options->heard;
    self->heard_state = options->heard_state;
    self->ops = ops_for(options->db);
    memcpy(self->channel, options->channel, strlen(options->channel) + 1);
    self->poll_ns = options->poll_ns;
    self->poll_min_ns = options->poll_min_ns;
    self->interval_ns = self->poll_min_ns;
    atomic_init(&self->adaptive, true);
    weir_bulkhead_init(&self->reopen, &REOPEN, weir_system_random());
    self->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->event_fd < 0 ||
        pthread_create(&self->thread, NULL, watch_loop, self) != 0) {
        if (self->event_fd >= 0)
            (void)close(self->event_fd);
        weir_heap_free(heap, self);
        return weir_error_set(error, WEIR_SYSTEM,
                              "start wake: no thread could be started");
    }
    *out = self;
    return WEIR_OK;
}

static void prod(struct weir_wake *self)
{
    uint64_t one = 1;

    /* The counter cannot overflow: the thread empties it each time it wakes. */
    (void)!write(self->event_fd, &one, sizeof one);
}

void weir_wake_stop(struct weir_wake *self)
{
    int code;

    if (self == NULL)
        return;
    atomic_store(&self->stopping, true);
    prod(self);
    code = pthread_join(self->thread, NULL);
    WEIR_ASSERT(code == 0);
    (void)close(self->event_fd);
    weir_heap_free(weir_db_heap(self->db), self);
}

static void tell(struct weir_wake *self, const struct weir_wake_news *news)
{
    if (self->notifier != NULL)
        weir_notifier_notify_one(self->notifier);
    else
        self->heard(self->heard_state, news);
}

static const struct weir_wake_news ANYTHING = {.blind = false};
static const struct weir_wake_news NOTHING = {.blind = true};

void weir_wake_hint(struct weir_wake *self)
{
    atomic_fetch_add(&self->hints, 1);
    tell(self, &ANYTHING);
}

/* What a watch heard. */
static void pass_on(void *state, const char *text)
{
    struct weir_wake *self = state;

    atomic_fetch_add(&self->hints, 1);
    tell(self, &(struct weir_wake_news){.text = text});
}

/* The first reward after a pause gets the thread out of a long wait; later ones only
 * set the flag, so rewarding each message costs nothing. */
void weir_wake_reward(struct weir_wake *self)
{
    if (!atomic_load(&self->adaptive) || atomic_load(&self->rewarded) ||
        atomic_exchange(&self->rewarded, true))
        return;
    prod(self);
}

void weir_wake_read(struct weir_wake *self, struct weir_wake_info *out)
{
    out->hints = atomic_load(&self->hints);
    out->polls = atomic_load(&self->polls);
    out->reconnects = atomic_load(&self->reconnects);
    out->listening = atomic_load(&self->listening);
}

enum weir_status weir_wake_send(struct weir_connection *connection, const char *channel,
                                struct weir_error *error)
{
    static const struct weir_sql SQL_NOTIFY = {
        .name = "notify",
        .text = "SELECT pg_notify({1}, '')",
        .parameters = "t",
    };
    enum weir_status status = check_channel(channel, error);

    if (status != WEIR_OK || !weir_connection_traits(connection)->has_notify)
        return status;
    return weir_connection_execute(connection, &SQL_NOTIFY,
                                   VALUES(weir_text(weir_str(channel))), NULL, error);
}

void weir_wake_signal(struct weir_db *db, const char *channel)
{
    const struct weir_watch_ops *ops = ops_for(db);
    struct weir_error error;
    enum weir_status status;
    bool sent;

    if (ops == NULL || ops->signal == NULL)
        return;
    weir_error_clear(&error);
    status = ops->signal(db, channel, &error);
    if (status == WEIR_NO_ROW)
        return;
    sent = status == WEIR_OK;
    if (weir_db_note_signal(db, sent) && !sent)
        weir_log_event(weir_db_log(db), WEIR_LOG_WARNING, "wake.not_signalled",
                       "channel=%s text=\"%s\"", channel, error.text);
}

/* ---- the thread -------------------------------------------------------------------- */

static void signal_poll(struct weir_wake *self, const struct weir_wake_news *news)
{
    atomic_fetch_add(&self->polls, 1);
    tell(self, news);
}

static bool is_listening(const struct weir_wake *self)
{
    return self->watch != NULL && self->watch->ready;
}

static void poll_again_after(struct weir_wake *self, int64_t now_ns, int64_t interval_ns)
{
    self->interval_ns = interval_ns;
    self->poll_due_ns = weir_sat_add_i64(now_ns, interval_ns);
}

static void close_watch(struct weir_wake *self)
{
    if (self->watch != NULL)
        self->ops->close(self->watch);
    self->watch = NULL;
    atomic_store(&self->adaptive, true);
    atomic_store(&self->listening, false);
}

/* From now on hints arrive. */
static void begin_to_listen(struct weir_wake *self, int64_t now_ns)
{
    if (self->ready_ns != 0)
        atomic_fetch_add(&self->reconnects, 1);
    self->ready_ns = now_ns;
    signal_poll(self, &ANYTHING);
    if (self->ops->hears_all)
        poll_again_after(self, now_ns, self->poll_ns);
    atomic_store(&self->adaptive, !self->ops->hears_all);
    atomic_store(&self->listening, true); /* and everything before is signalled */
}

/* No watch, or none any more: poll adaptively and try again. */
static void give_up_watch(struct weir_wake *self, int64_t now_ns,
                          const struct weir_error *error)
{
    bool listened = is_listening(self);
    bool steady = listened && weir_sat_sub_i64(now_ns, self->ready_ns) >= REOPEN.max_ns;

    if (steady)
        weir_bulkhead_reset(&self->reopen);
    weir_log_event(weir_db_log(self->db),
                   self->reopen.failures == 0 ? WEIR_LOG_WARNING : WEIR_LOG_DEBUG,
                   listened ? "wake.lost" : "wake.not_listening",
                   "channel=%s text=\"%s\"", self->channel, error->text);
    close_watch(self);
    weir_bulkhead_escalate(&self->reopen);
    self->reopen_ns = steady ? now_ns : weir_sat_add_i64(now_ns, self->reopen.floor_ns);
    if (listened) {
        signal_poll(self, &ANYTHING);
        poll_again_after(self, now_ns, self->poll_min_ns);
    }
}

static void open_watch(struct weir_wake *self, int64_t now_ns)
{
    struct weir_error error;

    weir_error_clear(&error);
    if (self->ops->open(self->db, self->channel, &self->watch, &error) != WEIR_OK) {
        give_up_watch(self, now_ns, &error);
        return;
    }
    self->watch->heard = self->heard != NULL ? pass_on : NULL;
    self->watch->heard_state = self;
    if (self->watch->ready)
        begin_to_listen(self, now_ns);
}

static void look(struct weir_wake *self, int64_t now_ns)
{
    bool listened = is_listening(self);
    struct weir_error error;
    bool hinted = false;

    weir_error_clear(&error);
    if (self->ops->look(self->watch, now_ns, &hinted, &error) != WEIR_OK) {
        give_up_watch(self, now_ns, &error);
        return;
    }
    if (!listened && self->watch->ready)
        begin_to_listen(self, now_ns);
    if (hinted)
        weir_wake_hint(self);
}

/* While a poll is near the flag stays: more rewards then wake no poller. */
static void heed_reward(struct weir_wake *self, int64_t now_ns)
{
    int64_t soon_ns = weir_sat_add_i64(now_ns, self->poll_min_ns);

    if (now_ns < self->poll_due_ns && self->poll_due_ns <= soon_ns)
        return;
    if (!atomic_exchange(&self->rewarded, false))
        return;
    self->interval_ns = self->poll_min_ns;
    if (self->poll_due_ns > soon_ns)
        self->poll_due_ns = soon_ns;
}

static void poll_if_due(struct weir_wake *self, int64_t now_ns)
{
    bool adaptive = !is_listening(self) || !self->ops->hears_all;

    if (adaptive)
        heed_reward(self, now_ns);
    if (now_ns < self->poll_due_ns)
        return;
    if (adaptive || self->ops->worth_polling(self->watch))
        signal_poll(self, !adaptive && self->ops->sees ? &ANYTHING : &NOTHING);
    if (adaptive)
        self->interval_ns =
            self->interval_ns < self->poll_ns / 2 ? self->interval_ns * 2 : self->poll_ns;
    poll_again_after(self, now_ns, self->interval_ns);
}

/* When something is to be done even if nothing happens. */
static int64_t next_time_ns(const struct weir_wake *self)
{
    int64_t other_ns = WEIR_FOREVER;

    if (self->watch != NULL)
        other_ns = self->watch->look_ns;
    else if (self->ops != NULL)
        other_ns = self->reopen_ns;
    return other_ns < self->poll_due_ns ? other_ns : self->poll_due_ns;
}

/* Until a prod, or it is time, or the watch has something to look at: then true. */
static bool wait_for_event(struct weir_wake *self)
{
    struct pollfd fds[2] = {
        {.fd = self->event_fd, .events = POLLIN},
        {.fd = self->watch != NULL ? self->watch->fd : -1,
         .events = self->watch != NULL ? self->watch->events : 0},
    };
    int64_t wait_ns = weir_sat_sub_i64(next_time_ns(self), weir_system_now_ns());
    struct timespec timeout;
    uint64_t prods;

    if (wait_ns < 0)
        wait_ns = 0;
    timeout.tv_sec = (time_t)(wait_ns / 1000000000);
    timeout.tv_nsec = (long)(wait_ns % 1000000000);
    if (ppoll(fds, 2, &timeout, NULL) <= 0)
        return false;
    if (fds[0].revents != 0)
        (void)!read(self->event_fd, &prods, sizeof prods);
    return fds[1].revents != 0;
}

static void *watch_loop(void *argument)
{
    struct weir_wake *self = argument;

    while (!atomic_load(&self->stopping)) {
        int64_t now_ns = weir_system_now_ns();
        bool ready;

        if (self->ops != NULL && self->watch == NULL && now_ns >= self->reopen_ns)
            open_watch(self, now_ns);
        poll_if_due(self, now_ns);
        ready = wait_for_event(self);
        now_ns = weir_system_now_ns();
        if (self->watch != NULL && (ready || now_ns >= self->watch->look_ns))
            look(self, now_ns);
    }
    close_watch(self);
    return NULL;
}
