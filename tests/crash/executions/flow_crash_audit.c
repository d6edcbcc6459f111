/*
 * flow_crash_audit.c - what was told, against what is there: E1 to E8 of flow_crash.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/executions/flow_crash_truth.h"
#include "execution/rules.h"

struct audit {
    struct flow_crash *run;
    struct flow_crash_result *result;
    struct flow_crash_truth current;
    uint32_t *found; /* owned; by number of the draft: executions that are there */
};

/* One execution of it. */
struct inquiry {
    struct audit *audit;
    const struct flow_crash_life *life;
    struct flow_crash_work work; /* what was submitted */
};

__attribute__((format(printf, 4, 5))) static void tell(struct audit *self,
                                                       enum flow_crash_rule rule,
                                                       const struct flow_crash_life *life,
                                                       const char *format, ...)
{
    char *text = self->result->first;
    va_list args;
    int size;

    self->result->broken[rule]++;
    if (self->result->violations++ > 0)
        return;
    size = life == NULL
               ? 0
               : snprintf(text, FLOW_CRASH_TEXT_SIZE,
                          "execution %" PRId64 " (draft %" PRIu32 "): ", life->no,
                          life->number);
    va_start(args, format);
    (void)vsnprintf(text + size, (size_t)(FLOW_CRASH_TEXT_SIZE - size), format, args);
    va_end(args);
}

/* ---- E1: submissions --------------------------------------------------------------- */

static void audit_identity(struct inquiry *self)
{
    struct audit *audit = self->audit;
    const struct flow_crash_life *life = self->life;
    const struct flow_crash_draft *draft;

    if (life->number >= atomic_load(&audit->run->shared->draft_count)) {
        tell(audit, FLOW_CRASH_E1, life, "nobody has submitted it");
        return;
    }
    audit->found[life->number]++;
    draft = &audit->run->shared->drafts[life->number];
    if (atomic_load(&draft->told) &&
        memcmp(draft->id.uuid, life->uuid, WEIR_UUID_SIZE) != 0)
        tell(audit, FLOW_CRASH_E1, life, "its submitter was told another id");
}

static void audit_draft(struct audit *self, uint32_t number)
{
    uint8_t fate = atomic_load(&self->run->shared->drafts[number].fate);
    uint32_t found = self->found[number];

    self->result->rolled_back += fate == FLOW_CRASH_NOTHING;
    self->result->doubted += fate == FLOW_CRASH_DOUBT;
    if (found > 1)
        tell(self, FLOW_CRASH_E1, NULL, "draft %" PRIu32 " is there %" PRIu32 " times",
             number, found);
    if (fate == FLOW_CRASH_COMMITTED && found == 0)
        tell(self, FLOW_CRASH_E1, NULL,
             "draft %" PRIu32 " was committed and is not there", number);
    if (fate == FLOW_CRASH_NOTHING && found > 0)
        tell(self, FLOW_CRASH_E1, NULL,
             "draft %" PRIu32 " was not committed and is there", number);
}

/* A whole parcel that nobody knows of; returns the number behind it. */
static uint32_t audit_submission(struct audit *self, uint32_t first)
{
    const struct flow_crash_draft *drafts = self->run->shared->drafts;
    uint32_t count = atomic_load(&self->run->shared->draft_count);
    uint32_t end = first;
    uint32_t doubted = 0;
    uint32_t found = 0;

    for (; end < count && drafts[end].submission == drafts[first].submission; end++) {
        doubted += atomic_load(&drafts[end].fate) == FLOW_CRASH_DOUBT;
        found += self->found[end] > 0;
    }
    if (doubted == end - first && found != 0 && found != doubted)
        tell(self, FLOW_CRASH_E1, NULL,
             "of %" PRIu32 " drafts in one transaction, from %" PRIu32 " on, %" PRIu32
             " are there",
             doubted, first, found);
    return end;
}

/* A file that processes were killed on in the middle of writing. */
static void audit_file(struct audit *self)
{
    struct fixture *fixture = self->run->rig.fixture;

    if (fixture->engine == WEIR_SQLITE &&
        fixture_ask(fixture, "SELECT count(*) FROM pragma_integrity_check"
                             " WHERE integrity_check <> 'ok'") != 0)
        tell(self, FLOW_CRASH_E1, NULL, "the file is damaged");
}

static void audit_submissions(struct audit *self)
{
    struct flow_crash_shared *shared = self->run->shared;
    uint32_t count = atomic_load(&shared->draft_count);
    uint32_t other_ids = atomic_load(&shared->other_ids);

    for (uint32_t i = 0; i < count; i++)
        audit_draft(self, i);
    for (uint32_t i = 0; i < count;)
        i = audit_submission(self, i);
    if (other_ids > 0)
        tell(self, FLOW_CRASH_E1, NULL, "%" PRIu32 " times another id was told",
             other_ids);
    if (self->current.strays > 0)
        tell(self, FLOW_CRASH_E1, NULL,
             "%zu attempts, claims and events are of no execution", self->current.strays);
    self->result->resubmitted = atomic_load(&shared->resubmitted);
    audit_file(self);
}

/* ---- E2: ends ---------------------------------------------------------------------- */

static const struct flow_crash_try *last_try(const struct flow_crash_life *life)
{
    return life->try_count > 0 ? &life->tries[life->try_count - 1] : NULL;
}

static bool was_reclaimed_too_often(const struct flow_crash_life *life)
{
    return strcmp(life->failure, "max_reclaims_exceeded") == 0;
}

static bool was_timed_out(const struct flow_crash_life *life)
{
    return strcmp(life->failure, "attempt_timeout") == 0;
}

/* An outcome that no attempt comes after. */
static bool is_final(enum weir_attempt_outcome outcome)
{
    return outcome == WEIR_OUTCOME_SUCCESS || outcome == WEIR_OUTCOME_FAILED ||
           outcome == WEIR_OUTCOME_CANCELLED || outcome == WEIR_OUTCOME_EXPIRED;
}

/* Does the state follow from the last attempt? What waits for its next one may expire. */
static bool end_fits(const struct flow_crash_life *life)
{
    const struct flow_crash_try *last = last_try(life);

    switch (life->state) {
    case WEIR_EXEC_SUCCEEDED:
        return last != NULL && last->outcome == WEIR_OUTCOME_SUCCESS;
    case WEIR_EXEC_FAILED:
        return last != NULL && (last->outcome == WEIR_OUTCOME_FAILED ||
                                (last->outcome == WEIR_OUTCOME_LEASE_LOST &&
                                 was_reclaimed_too_often(life)));
    case WEIR_EXEC_CANCELLED:
        return last != NULL && last->outcome == WEIR_OUTCOME_CANCELLED;
    case WEIR_EXEC_EXPIRED:
        return last == NULL || last->outcome == WEIR_OUTCOME_EXPIRED ||
               !is_final(last->outcome);
    default:
        return false;
    }
}

static void audit_end(struct inquiry *self)
{
    const struct flow_crash_life *life = self->life;

    if (life->state < WEIR_EXEC_SUCCEEDED || life->ended_us <= 0) {
        tell(self->audit, FLOW_CRASH_E2, life, "it has not ended: state %" PRId64,
             life->state);
        return;
    }
    for (size_t i = 0; i + 1 < life->try_count; i++) {
        if (is_final(life->tries[i].outcome))
            tell(self->audit, FLOW_CRASH_E2, life,
                 "attempt %" PRId32 " ended it as %s, and it went on",
                 life->tries[i].number,
                 weir_attempt_outcome_name(life->tries[i].outcome));
    }
    if (!end_fits(life))
        tell(self->audit, FLOW_CRASH_E2, life, "state %" PRId64 " after %s (\"%s\")",
             life->state,
             last_try(life) != NULL ? weir_attempt_outcome_name(last_try(life)->outcome)
                                    : "no attempt",
             life->failure);
}

/* ---- E3: attempts ------------------------------------------------------------------ */

static enum weir_attempt_type type_after(const struct flow_crash_try *before)
{
    if (before == NULL)
        return WEIR_ATTEMPT_INITIAL;
    return before->outcome == WEIR_OUTCOME_LEASE_LOST ? WEIR_ATTEMPT_RECLAIM
                                                      : WEIR_ATTEMPT_RETRY;
}

static void audit_try(struct inquiry *self, size_t index)
{
    const struct flow_crash_life *life = self->life;
    const struct flow_crash_try *now = &life->tries[index];
    const struct flow_crash_try *before = index > 0 ? now - 1 : NULL;

    if (now->number != (int32_t)index)
        tell(self->audit, FLOW_CRASH_E3, life, "attempt %" PRId32 " instead of %zu",
             now->number, index);
    if (now->type != type_after(before))
        tell(self->audit, FLOW_CRASH_E3, life, "attempt %" PRId32 " is a %s after %s",
             now->number, weir_attempt_type_name(now->type),
             before != NULL ? weir_attempt_outcome_name(before->outcome) : "none");
    if (now->ended_us < now->started_us ||
        (before != NULL && now->started_us < before->ended_us))
        tell(self->audit, FLOW_CRASH_E3, life,
             "attempt %" PRId32
             " began before the one before had ended, or after its end",
             now->number);
    if (now->epoch <= (before != NULL ? before->epoch : 0) || now->epoch >= life->epoch)
        tell(self->audit, FLOW_CRASH_E3, life,
             "attempt %" PRId32 " has epoch %" PRId64 ", out of order", now->number,
             now->epoch);
}

static void audit_tries(struct inquiry *self)
{
    const struct flow_crash_life *life = self->life;

    if ((int64_t)life->try_count != life->attempts)
        tell(self->audit, FLOW_CRASH_E3, life,
             "%zu attempts are there, %" PRId64 " were counted", life->try_count,
             life->attempts);
    for (size_t i = 0; i < life->try_count; i++)
        audit_try(self, i);
}

/* ---- E4: events -------------------------------------------------------------------- */

static void audit_event(struct inquiry *self)
{
    const struct flow_crash_life *life = self->life;
    const struct flow_crash_event *event = life->event;
    const char *outcome = weir_state_outcome((enum weir_exec_state)life->state);

    if (life->event_count != 1)
        tell(self->audit, FLOW_CRASH_E4, life, "%" PRIu32 " completions were told",
             life->event_count);
    if (event != NULL &&
        (strcmp(event->outcome, outcome) != 0 || event->attempts != life->attempts ||
         event->epoch != life->epoch))
        tell(self->audit, FLOW_CRASH_E4, life,
             "told was %s after %" PRId64 " attempts in epoch %" PRId64
             ", there is %s, %" PRId64 ", %" PRId64,
             event->outcome, event->attempts, event->epoch, outcome, life->attempts,
             life->epoch);
}

/* ---- E5, E6: claims ---------------------------------------------------------------- */

/* The attempt that a claim was told to be of; NULL: there is none such. */
static const struct flow_crash_try *try_of(const struct flow_crash_life *life,
                                           const struct flow_crash_claim *claim)
{
    const struct flow_crash_try *its;

    if (claim->attempt < 0 || (size_t)claim->attempt >= life->try_count)
        return NULL;
    its = &life->tries[claim->attempt];
    return its->type == (enum weir_attempt_type)claim->type && its->epoch >= claim->epoch
               ? its
               : NULL;
}

/* Is what was said of it there? A delay lets the attempt go on under a later claim, or
 * expire. */
static bool took_effect(const struct flow_crash_life *life,
                        const struct flow_crash_try *its,
                        const struct flow_crash_claim *claim)
{
    char note[FLOW_CRASH_NOTE_SIZE];
    bool last = its->epoch == claim->epoch; /* nobody had the attempt after it */

    flow_crash_write_note(claim, note);
    switch ((enum weir_settle)claim->verb) {
    case WEIR_SETTLE_COMPLETE:
        return last && its->outcome == WEIR_OUTCOME_SUCCESS &&
               life->state == WEIR_EXEC_SUCCEEDED && strcmp(life->result, note) == 0;
    case WEIR_SETTLE_FAIL:
        return last && strcmp(its->failure, note) == 0 &&
               (its->outcome == WEIR_OUTCOME_FAILED ||
                (its->outcome == WEIR_OUTCOME_RETRY && !claim->permanent));
    case WEIR_SETTLE_ABANDON:
        return last && strcmp(its->failure, note) == 0 &&
               its->outcome == WEIR_OUTCOME_CANCELLED;
    case WEIR_SETTLE_DELAY:
        return !last || its->outcome == WEIR_OUTCOME_EXPIRED;
    }
    return false;
}

/* Ended by a time, and by no worker. */
static bool was_taken(const struct flow_crash_try *its,
                      const struct flow_crash_claim *claim)
{
    return its->epoch == claim->epoch && (its->outcome == WEIR_OUTCOME_LEASE_LOST ||
                                          its->outcome == WEIR_OUTCOME_INTERRUPTED ||
                                          its->outcome == WEIR_OUTCOME_EXPIRED);
}

static void audit_ok(struct inquiry *self, const struct flow_crash_try *its,
                     const struct flow_crash_claim *claim)
{
    uint8_t again = atomic_load(&claim->again);

    if (!took_effect(self->life, its, claim))
        tell(self->audit, FLOW_CRASH_E5, self->life,
             "verb %d in epoch %" PRId64 " was told OK; attempt %" PRId32
             " has epoch %" PRId64 ", %s, \"%s\", result \"%s\"",
             claim->verb, claim->epoch, its->number, its->epoch,
             weir_attempt_outcome_name(its->outcome), its->failure, self->life->result);
    /* Unless somebody else has settled it since. */
    if (its->epoch == claim->epoch && is_final(its->outcome) &&
        again != FLOW_CRASH_UNTOLD && again != FLOW_CRASH_OK)
        tell(self->audit, FLOW_CRASH_E5, self->life,
             "what was told OK in epoch %" PRId64 " was refused when it was repeated",
             claim->epoch);
    if (atomic_load(&claim->refused_renewal))
        tell(self->audit, FLOW_CRASH_E6, self->life,
             "epoch %" PRId64 " was refused a renewal, and then settled", claim->epoch);
}

/* What nobody has asked for, or what was refused and never in doubt. */
static void audit_refused(struct inquiry *self, const struct flow_crash_try *its,
                          const struct flow_crash_claim *claim)
{
    if (!was_taken(its, claim))
        tell(self->audit, FLOW_CRASH_E6, self->life,
             "verb %d in epoch %" PRId64 " was %s; attempt %" PRId32 " has epoch %" PRId64
             ", %s, \"%s\"",
             claim->verb, claim->epoch,
             atomic_load(&claim->asked) ? "refused" : "never asked for", its->number,
             its->epoch, weir_attempt_outcome_name(its->outcome), its->failure);
}

static void count_claim(struct audit *self, const struct flow_crash_claim *claim)
{
    uint8_t answer = atomic_load(&claim->answer);

    self->result->told_ok += answer == FLOW_CRASH_OK;
    self->result->told_fenced += answer == FLOW_CRASH_FENCED;
    self->result->asked_again += atomic_load(&claim->doubts);
}

static void audit_claim(struct inquiry *self, size_t index)
{
    struct audit *audit = self->audit;
    const struct flow_crash_life *life = self->life;
    const struct flow_crash_claim *claim = life->claims[index];
    const struct flow_crash_try *its = try_of(life, claim);
    uint8_t answer = atomic_load(&claim->answer);

    count_claim(audit, claim);
    if (index > 0 && life->claims[index - 1]->epoch == claim->epoch)
        tell(audit, FLOW_CRASH_E6, life, "epoch %" PRId64 " had two owners",
             claim->epoch);
    if (claim->number != life->number)
        tell(audit, FLOW_CRASH_E5, life, "its worker got the input of draft %" PRIu32,
             claim->number);
    if (its == NULL)
        tell(audit, FLOW_CRASH_E5, life,
             "attempt %" PRId32 " was told in epoch %" PRId64 " and is not there",
             claim->attempt, claim->epoch);
    else if (answer == FLOW_CRASH_OK)
        audit_ok(self, its, claim);
    else if (answer == FLOW_CRASH_NOT_FOUND)
        tell(audit, FLOW_CRASH_E5, life,
             "epoch %" PRId64 " was told that it is not there", claim->epoch);
    else if (!atomic_load(&claim->asked) ||
             (answer == FLOW_CRASH_FENCED && atomic_load(&claim->doubts) == 0))
        audit_refused(self, its, claim);
}

static const struct flow_crash_claim *claim_of(const struct flow_crash_life *life,
                                               int64_t epoch)
{
    for (size_t i = 0; i < life->claim_count; i++) {
        if (life->claims[i]->epoch == epoch)
            return life->claims[i];
    }
    return NULL;
}

static bool was_ended_by_worker(const struct flow_crash_try *its)
{
    return its->outcome == WEIR_OUTCOME_SUCCESS || its->outcome == WEIR_OUTCOME_RETRY ||
           its->outcome == WEIR_OUTCOME_FAILED || its->outcome == WEIR_OUTCOME_CANCELLED;
}

/* What a worker has ended, a worker has asked for. */
static void audit_author(struct inquiry *self, const struct flow_crash_try *its)
{
    const struct flow_crash_claim *claim = claim_of(self->life, its->epoch);

    if (was_ended_by_worker(its) && (claim == NULL || !atomic_load(&claim->asked)))
        tell(self->audit, FLOW_CRASH_E6, self->life,
             "attempt %" PRId32 " ended as %s, which nobody has asked for", its->number,
             weir_attempt_outcome_name(its->outcome));
}

/* ---- E7: policy -------------------------------------------------------------------- */

static void audit_policy(struct inquiry *self)
{
    const struct flow_crash_life *life = self->life;
    const struct weir_execution_policy *policy = &self->work.policy;
    const struct flow_crash_try *last = last_try(life);
    const struct flow_crash_claim *claim =
        last != NULL ? claim_of(life, last->epoch) : NULL;
    int64_t retries = 0;
    int64_t reclaims = 0;

    for (size_t i = 0; i < life->try_count; i++) {
        enum weir_attempt_outcome outcome = life->tries[i].outcome;

        retries += outcome == WEIR_OUTCOME_RETRY || outcome == WEIR_OUTCOME_INTERRUPTED;
        reclaims += outcome == WEIR_OUTCOME_LEASE_LOST;
    }
    retries -= was_timed_out(life);
    reclaims -= was_reclaimed_too_often(life);
    if (life->retries != retries || life->reclaims != reclaims)
        tell(self->audit, FLOW_CRASH_E7, life,
             "%" PRId64 " retries and %" PRId64
             " reclaims were counted, the attempts say %" PRId64 " and %" PRId64,
             life->retries, life->reclaims, retries, reclaims);
    if (life->retries > policy->retries_max || life->reclaims > policy->reclaims_max)
        tell(self->audit, FLOW_CRASH_E7, life,
             "%" PRId64 " retries of %" PRIu32 ", %" PRId64 " reclaims of %" PRIu32,
             life->retries, policy->retries_max, life->reclaims, policy->reclaims_max);
    if ((was_reclaimed_too_often(life) && life->reclaims < policy->reclaims_max) ||
        (was_timed_out(life) && life->retries < policy->retries_max) ||
        (last != NULL && last->outcome == WEIR_OUTCOME_FAILED && claim != NULL &&
         !claim->permanent && life->retries < policy->retries_max))
        tell(self->audit, FLOW_CRASH_E7, life,
             "it was given up (\"%s\") after %" PRId64 " retries and %" PRId64
             " reclaims",
             life->failure, life->retries, life->reclaims);
}

/* ---- E8: times --------------------------------------------------------------------- */

static void audit_lease(struct inquiry *self, const struct flow_crash_try *its)
{
    const struct flow_crash_claim *claim = claim_of(self->life, its->epoch);

    if (its->outcome == WEIR_OUTCOME_LEASE_LOST && claim != NULL &&
        its->ended_us < atomic_load(&claim->lease_us))
        tell(self->audit, FLOW_CRASH_E8, self->life,
             "attempt %" PRId32 " lost its lease %" PRId64 " us before its end",
             its->number, atomic_load(&claim->lease_us) - its->ended_us);
    if (was_ended_by_worker(its) && claim != NULL && !atomic_load(&claim->renewing) &&
        its->ended_us >= atomic_load(&claim->lease_us))
        tell(self->audit, FLOW_CRASH_E8, self->life,
             "attempt %" PRId32 " was settled %" PRId64 " us after its lease",
             its->number, its->ended_us - atomic_load(&claim->lease_us));
    if (its->outcome == WEIR_OUTCOME_INTERRUPTED &&
        its->ended_us < its->started_us + self->work.policy.attempt_timeout_ms * 1000)
        tell(self->audit, FLOW_CRASH_E8, self->life,
             "attempt %" PRId32 " was timed out after %" PRId64 " us", its->number,
             its->ended_us - its->started_us);
}

static void audit_begin(struct inquiry *self, const struct flow_crash_try *its,
                        int64_t not_before_us)
{
    if (its->started_us < not_before_us)
        tell(self->audit, FLOW_CRASH_E8, self->life,
             "attempt %" PRId32 " began %" PRId64 " us early", its->number,
             not_before_us - its->started_us);
}

static void audit_times(struct inquiry *self)
{
    const struct flow_crash_life *life = self->life;
    const struct weir_execution_draft *draft = &self->work.draft;
    int64_t not_before_us = life->created_us + draft->delay_ms * 1000;
    uint32_t retries = 0;

    for (size_t i = 0; i < life->try_count; i++) {
        const struct flow_crash_try *its = &life->tries[i];

        audit_begin(self, its, not_before_us);
        audit_lease(self, its);
        not_before_us = its->ended_us;
        if (its->outcome == WEIR_OUTCOME_RETRY ||
            its->outcome == WEIR_OUTCOME_INTERRUPTED)
            not_before_us += weir_retry_delay_us(&self->work.policy, retries++);
    }
    if (life->state == WEIR_EXEC_EXPIRED && !was_timed_out(life) &&
        (draft->deadline_ms == 0 ||
         life->ended_us < life->created_us + draft->deadline_ms * 1000))
        tell(self->audit, FLOW_CRASH_E8, life, "it expired after %" PRId64 " us",
             life->ended_us - life->created_us);
}

/* ---- all of it --------------------------------------------------------------------- */

static void count_life(struct audit *self, const struct flow_crash_life *life)
{
    struct flow_crash_result *result = self->result;

    result->states[life->state & 15]++;
    for (size_t i = 0; i < life->try_count; i++)
        result->outcomes[life->tries[i].outcome & 15]++;
}

static void audit_life(struct audit *audit, const struct flow_crash_life *life)
{
    struct inquiry self = {.audit = audit, .life = life};

    flow_crash_write_draft(audit->run->options->rig.seed, life->number, &self.work);
    count_life(audit, life);
    audit_identity(&self);
    audit_end(&self);
    audit_tries(&self);
    audit_event(&self);
    for (size_t i = 0; i < life->claim_count; i++)
        audit_claim(&self, i);
    for (size_t i = 0; i < life->try_count; i++)
        audit_author(&self, &life->tries[i]);
    audit_policy(&self);
    audit_times(&self);
}

void flow_crash_audit(struct flow_crash *run, uint32_t audit)
{
    struct audit self = {.run = run, .result = run->result};

    self.found = calloc(FLOW_CRASH_DRAFTS_MAX, sizeof *self.found);
    check(self.found != NULL);
    flow_crash_truth_read(run, audit, &self.current);
    self.result->executions = (int64_t)self.current.life_count;
    self.result->attempts = (int64_t)self.current.try_count;
    self.result->claims = (int64_t)self.current.claim_count;
    self.result->events = (int64_t)self.current.event_count;
    for (size_t i = 0; i < self.current.life_count; i++)
        audit_life(&self, &self.current.lives[i]);
    audit_submissions(&self);
    flow_crash_truth_free(&self.current);
    free(self.found);
}
