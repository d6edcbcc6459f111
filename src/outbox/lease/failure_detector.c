/*
 * failure_detector.c - see failure_detector.h.
 */
#include "outbox/lease/failure_detector.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "outbox/outbox.h"
#include "ward/executor.h"
#include "weir/version.h"

#define LOOK_NS WEIR_MILLISECONDS(400)
#define LOOK_EAGERLY_NS WEIR_MILLISECONDS(20)
#define LOOK_WITHOUT_LOCK_NS WEIR_SECONDS(3) /* for findings alone */
#define GRACE_NS WEIR_SECONDS(2)
#define ENTER_AGAIN_NS WEIR_SECONDS(1)

/* Clocks that are synchronised at all are closer; a round trip that lasted longer tells
 * nothing. */
enum { CLOCK_OFF_US_MAX = 5000000, ROUND_TRIP_US_MAX = 1000000 };

static int64_t now_of(const struct weir_failure_detector *self)
{
    return weir_executor_now(self->outbox->executor);
}

/* ---- life -------------------------------------------------------------------------- */

/* In a simulation processes die only on request, and no session would know of it. */
void weir_failure_detector_init(struct weir_failure_detector *self,
                                struct weir_outbox *outbox)
{
    *self = (struct weir_failure_detector){
        .outbox = outbox,
        .possible = !outbox->executor->simulated && weir_liveness_is_possible(outbox->db),
        .look_ns = WEIR_FOREVER,
    };
    self->began_ns = now_of(self);
}

void weir_failure_detector_fini(struct weir_failure_detector *self)
{
    weir_liveness_close(self->liveness);
    self->liveness = NULL;
}

static void note_entered(struct weir_failure_detector *self, enum weir_status status,
                         const struct weir_error *error)
{
    int64_t now_ns = now_of(self);

    if (status == WEIR_OK) {
        self->said = false;
        (void)WEIR_POINT(self->outbox->points, "failure_detector.entered");
        if (self->lost_before)
            self->judge_ns = weir_sat_add_i64(now_ns, GRACE_NS);
        return;
    }
    self->enter_ns = weir_sat_add_i64(now_ns, ENTER_AGAIN_NS);
    if (!self->said)
        weir_log_event(self->outbox->logger, WEIR_LOG_WARNING, "outbox.known_by_lease",
                       "text=\"%s\"", error->text);
    self->said = true;
}

void weir_failure_detector_open_session(struct weir_failure_detector *self)
{
    struct weir_outbox *outbox = self->outbox;
    struct weir_error error;
    enum weir_status status;

    if (!self->possible || self->liveness != NULL || now_of(self) < self->enter_ns)
        return;
    weir_error_clear(&error);
    status = weir_liveness_open(outbox->db, outbox->owner, &self->liveness, &error);
    note_entered(self, status, &error);
}

/* Where sessions and the pool do not lead to one server, a new one is not tried at
 * once. */
enum weir_status weir_failure_detector_confirm(struct weir_failure_detector *self,
                                               struct weir_connection *connection,
                                               struct weir_error *error)
{
    enum weir_status status;

    if (self->liveness == NULL)
        return WEIR_OK;
    status = weir_liveness_confirm(self->liveness, connection, error);
    if (weir_failure_detector_is_lost(self))
        self->enter_ns = weir_sat_add_i64(now_of(self), ENTER_AGAIN_NS);
    return status;
}

void weir_failure_detector_probe(struct weir_failure_detector *self,
                                 int64_t wait_limit_ns)
{
    if (self->liveness != NULL)
        weir_liveness_probe(self->liveness, wait_limit_ns);
}

bool weir_failure_detector_is_lost(struct weir_failure_detector *self)
{
    return self->liveness != NULL && !weir_liveness_is_held(self->liveness);
}

int64_t weir_failure_detector_abandon_session(struct weir_failure_detector *self)
{
    weir_liveness_close(self->liveness);
    self->liveness = NULL;
    self->lost_before = true;
    return atomic_exchange(&self->outbox->owner, weir_liveness_number());
}

/* ---- findings ---------------------------------------------------------------------- */

static bool tell(struct weir_failure_detector *self, int64_t number,
                 enum weir_failure_detector_finding finding)
{
    size_t kept = self->told_count < WEIR_FAILURE_DETECTOR_TOLD_MAX
                      ? self->told_count
                      : WEIR_FAILURE_DETECTOR_TOLD_MAX;

    for (size_t i = 0; i < kept; i++) {
        if (self->told[i].number == number && self->told[i].finding == finding)
            return false;
    }
    self->told[self->told_count % WEIR_FAILURE_DETECTOR_TOLD_MAX].number = number;
    self->told[self->told_count % WEIR_FAILURE_DETECTOR_TOLD_MAX].finding = finding;
    self->told_count++;
    return true;
}

/* "1.2.3" as a number to compare; a library that says nothing is older than all that
 * do. */
static int64_t rank_of(struct weir_str version)
{
    char text[32] = "";
    unsigned part[3] = {0};

    if (version.size < sizeof text && version.size > 0)
        memcpy(text, version.data, version.size);
    if (sscanf(text, "%9u.%9u.%9u", &part[0], &part[1], &part[2]) != 3)
        return -1;
    return (int64_t)part[0] * 1000000000000 + (int64_t)part[1] * 1000000 + part[2];
}

bool weir_failure_detector_is_older(struct weir_str library)
{
    return rank_of(library) < rank_of(weir_str(weir_version_string()));
}

/* A process that died without a lock still counts as alive when it is restarted under
 * its name. */
static bool has_beaten_since_we_began(const struct weir_failure_detector *self,
                                      const struct weir_peer *peer)
{
    return -peer->ahead_us < (now_of(self) - self->began_ns) / 1000;
}

static void find_name(struct weir_failure_detector *self, const struct weir_peer *peer)
{
    const struct weir_outbox *outbox = self->outbox;

    if (!weir_str_equal(peer->name, weir_str(outbox->name)) ||
        !has_beaten_since_we_began(self, peer) ||
        !tell(self, peer->number, WEIR_FOUND_NAME_TWICE))
        return;
    weir_log_event(outbox->logger, WEIR_LOG_WARNING, "outbox.name_used_twice",
                   "name=\"%s\" text=\"another live process has this name too: give each "
                   "its own\"",
                   outbox->name);
}

static void find_library(struct weir_failure_detector *self, const struct weir_peer *peer)
{
    if (!weir_failure_detector_is_older(peer->library) ||
        !tell(self, peer->number, WEIR_FOUND_OLDER_LIBRARY))
        return;
    weir_log_event(self->outbox->logger, WEIR_LOG_WARNING, "outbox.older_library",
                   "name=\"%.*s\" library=%.*s ours=%s text=\"upgrade that process\"",
                   (int)peer->name.size, peer->name.data,
                   peer->library.size > 0 ? (int)peer->library.size : 7,
                   peer->library.size > 0 ? peer->library.data : "unknown",
                   weir_version_string());
}

/* Each process has its own clock where there is no server. Of two that differ one sees
 * the other in the future. */
static void find_clock(struct weir_failure_detector *self, const struct weir_peer *peer)
{
    const struct weir_outbox *outbox = self->outbox;

    if (peer->ahead_us <= CLOCK_OFF_US_MAX ||
        !tell(self, peer->number, WEIR_FOUND_CLOCK_AHEAD))
        return;
    weir_log_event(outbox->logger, WEIR_LOG_WARNING, "outbox.wrong_clock",
                   "name=\"%.*s\" ahead_ms=%lld of=\"%s\" text=\"their clocks differ: "
                   "synchronise both\"",
                   (int)peer->name.size, peer->name.data,
                   (long long)(peer->ahead_us / 1000), outbox->name);
}

void weir_failure_detector_note_clock(struct weir_failure_detector *self,
                                      int64_t before_us, int64_t after_us,
                                      int64_t database_us)
{
    struct weir_outbox *outbox = self->outbox;
    int64_t off_us = before_us + (after_us - before_us) / 2 - database_us;

    if (WEIR_POINT(outbox->points, "failure_detector.wrong_clock"))
        off_us += 3600 * INT64_C(1000000);
    if (database_us == 0 || after_us - before_us > ROUND_TRIP_US_MAX)
        return;
    self->clock_off_us = off_us;
    if (off_us >= -CLOCK_OFF_US_MAX && off_us <= CLOCK_OFF_US_MAX)
        return;
    if (tell(self, 0, WEIR_FOUND_OWN_CLOCK))
        weir_log_event(outbox->logger, WEIR_LOG_WARNING, "outbox.wrong_clock",
                       "name=\"%s\" off_ms=%lld text=\"the clock of this host differs "
                       "from the database's: synchronise it\"",
                       outbox->name, (long long)(off_us / 1000));
}

/* ---- looking ----------------------------------------------------------------------- */

void weir_failure_detector_describe(const struct weir_failure_detector *self,
                                    struct weir_process *out)
{
    out->owner = self->outbox->owner;
    out->name = self->outbox->name;
    out->library = weir_version_string();
    out->alive_by = self->liveness != NULL ? WEIR_ALIVE_BY_LOCK : WEIR_ALIVE_BY_LEASE;
    out->clock_off_us = self->clock_off_us;
}

void weir_failure_detector_note_others(struct weir_failure_detector *self, bool alone)
{
    if (alone)
        self->look_ns = WEIR_FOREVER;
    else if (self->look_ns == WEIR_FOREVER)
        self->look_ns = 0;
}

struct looking {
    struct weir_failure_detector *failure_detector;
    struct weir_peer_changes *peer_changes;
    size_t peers;
    bool judging;
};

static void note_dead(struct looking *self, const struct weir_peer *peer)
{
    struct weir_peer_changes *peer_changes = self->peer_changes;

    if (!self->judging || peer_changes->dead_count == WEIR_FAILURE_DETECTOR_DEAD_MAX)
        return;
    peer_changes->dead[peer_changes->dead_count++] = peer->number;
    weir_log_event(self->failure_detector->outbox->logger, WEIR_LOG_INFO,
                   "outbox.process_died", "name=\"%.*s\"", (int)peer->name.size,
                   peer->name.data);
}

static void meet(void *state, const struct weir_peer *peer)
{
    struct looking *self = state;

    if (peer->dead) {
        note_dead(self, peer);
        return;
    }
    self->peers++;
    find_name(self->failure_detector, peer);
    find_library(self->failure_detector, peer);
    find_clock(self->failure_detector, peer);
}

static int64_t look_interval(const struct weir_failure_detector *self)
{
    if (WEIR_POINT(self->outbox->points, "failure_detector.eager"))
        return LOOK_EAGERLY_NS;
    return self->liveness != NULL ? LOOK_NS : LOOK_WITHOUT_LOCK_NS;
}

enum weir_status weir_failure_detector_poll(struct weir_failure_detector *self,
                                            struct weir_connection *connection,
                                            struct weir_peer_changes *out,
                                            struct weir_error *error)
{
    int64_t now_ns = now_of(self);
    struct looking looking = {.failure_detector = self,
                              .peer_changes = out,
                              .judging = now_ns >= self->judge_ns};
    enum weir_status status;

    *out = (struct weir_peer_changes){.dead_count = 0};
    if (now_ns < self->look_ns)
        return WEIR_OK;
    status = weir_liveness_poll(self->liveness, connection, self->outbox->owner, meet,
                                &looking, error);
    self->look_ns = weir_sat_add_i64(now_ns, look_interval(self));
    if (status != WEIR_OK)
        return status;
    out->changed = looking.peers != self->peers;
    self->peers = looking.peers;
    (void)WEIR_POINT(self->outbox->points, "failure_detector.looked");
    return WEIR_OK;
}

int64_t weir_failure_detector_next(const struct weir_failure_detector *self)
{
    int64_t next_ns = self->look_ns;

    if (self->possible && self->liveness == NULL && self->enter_ns < next_ns)
        next_ns = self->enter_ns;
    return next_ns;
}
