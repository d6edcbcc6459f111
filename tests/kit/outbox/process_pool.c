/*
 * process_pool.c - see process_pool.h.
 */
#include "kit/outbox/process_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fault_point.h"
#include "db/db.h"
#include "kit/server/process.h"
#include "outbox/outbox.h"
#include "weir/inspect.h"

#define QUEUE "crew"

static struct process_pool_ledger *map_ledger(const char *path);
static void serve(struct pool_process *self, const struct process_pool_joining *how);
static void dismiss(struct pool_process *self);
static void nap(int64_t ns);

/* ---- what a handler does ----------------------------------------------------------- */

int64_t process_pool_now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void write_record(struct pool_process *self, const struct weir_message *message,
                         size_t batch)
{
    struct process_pool_ledger *ledger = self->ledger;
    size_t slot = atomic_fetch_add(&ledger->count, 1);
    struct process_pool_record *record;

    if (slot >= PROCESS_POOL_RECORDS_MAX)
        weir_test_fail(__FILE__, __LINE__, "the ledger is full");
    record = &ledger->records[slot];
    record->process = self->process;
    record->partition = message->partition;
    record->attempts = message->attempts;
    record->batch = (uint32_t)batch;
    record->seq = message->seq;
    record->epoch = message->epoch;
    memcpy(record->uid, message->uid, WEIR_UID_SIZE);
    record->number = strtoll(message->payload, NULL, 10);
    record->at_us = process_pool_now_us();
    atomic_store(&record->written, true);
}

static bool is_held(const struct pool_process *self, int32_t partition)
{
    return atomic_load(&self->ledger->hold[partition]) &&
           atomic_load(&self->ledger->exempt) != self->process + 1;
}

static void wait_while_held(struct pool_process *self, int32_t partition)
{
    struct process_pool_ledger *ledger = self->ledger;

    if (!is_held(self, partition))
        return;
    atomic_fetch_add(&ledger->holding, 1);
    while (is_held(self, partition))
        nap(1000000);
    atomic_fetch_sub(&ledger->holding, 1);
}

bool process_pool_is_poison(const struct process_pool_ledger *ledger,
                            const struct weir_message *message)
{
    return message->partition == 0 &&
           strtoll(message->payload, NULL, 10) == atomic_load(&ledger->poison);
}

enum weir_outcome process_pool_handle(struct weir_context *context, void *state,
                                      struct weir_batch *batch,
                                      struct weir_reason *reason)
{
    struct pool_process *self = state;
    struct process_pool_ledger *ledger = self->ledger;
    const struct weir_message *message;
    const struct weir_message *last = NULL;

    (void)context;
    while ((message = weir_batch_next(batch)) != NULL) {
        uint32_t before = 0;

        if (last == NULL &&
            !atomic_compare_exchange_strong(&ledger->owner[message->partition], &before,
                                            self->process + 1))
            atomic_fetch_add(&ledger->overlaps, 1);
        last = message;
        write_record(self, message, weir_batch_count(batch));
        if (process_pool_is_poison(ledger, message))
            (void)raise(SIGKILL);
        if (atomic_load(&ledger->fail[message->partition])) {
            atomic_store(&ledger->owner[message->partition], 0);
            return weir_retry(reason, "told to fail");
        }
        nap(atomic_load(&ledger->slow_ns));
    }
    if (last != NULL) {
        wait_while_held(self, last->partition);
        if (atomic_load(&ledger->done[last->partition]) < last->seq)
            atomic_store(&ledger->done[last->partition], last->seq);
        atomic_store(&ledger->owner[last->partition], 0);
    }
    return WEIR_DONE;
}

/* ---- the other process ------------------------------------------------------------- */

static void kill_myself(void *argument)
{
    (void)argument;
    (void)raise(SIGKILL);
}

static void print_line(void *state, enum weir_log_level level, const char *line)
{
    (void)state;
    fprintf(stderr, "%s %s\n", weir_log_level_name(level), line);
}

static void arm_faults(const struct process_pool_options *orders,
                       struct weir_fault_points *faults)
{
    weir_fault_points_init(faults);
    if (orders->lose_every != 0)
        weir_fault_points_arm(faults, "db.lose", orders->lose_every);
    if (orders->fail_every != 0)
        weir_fault_points_arm(faults, "db.fail", orders->fail_every);
    if (orders->lose_reply_every != 0)
        weir_fault_points_arm(faults, "db.lose_after_commit", orders->lose_reply_every);
}

/* `program --crew URL LEDGER PROCESS`: serve until SIGTERM. */
static int work(char **arguments)
{
    struct pool_process self = {.process = (uint32_t)strtoul(arguments[4], NULL, 10)};
    struct weir_fault_points points;
    struct weir_fault_points faults;
    struct weir_db_options options;
    struct weir_db *db = NULL;
    struct weir_error error;
    sigset_t wanted;
    int got;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    self.ledger = map_ledger(arguments[3]);
    weir_fault_points_init(&points);
    if (self.ledger->point[0] != '\0')
        weir_fault_points_arm_call(&points, self.ledger->point, self.ledger->point_at,
                                   kill_myself, NULL);
    weir_db_options_init(&options);
    options.url = arguments[2];
    options.log = (struct weir_log){.write = print_line, .minimum = WEIR_LOG_INFO};
    if (weir_db_create(&options, &db, &error) != WEIR_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    arm_faults(&self.ledger->options, &faults);
    weir_db_set_fault_points(db, &faults);
    serve(&self,
          &(struct process_pool_joining){.db = db, .points = &points, .patient = true});
    atomic_fetch_add(&self.ledger->ready, 1);
    (void)sigwait(&wanted, &got);
    dismiss(&self);
    return EXIT_SUCCESS;
}

/* Before main(), which knows nothing of it. */
__attribute__((constructor)) static void work_instead(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--crew") == 0)
        exit(work(argv));
}

pid_t process_pool_spawn(struct process_pool *self)
{
    char number[16];
    char program[SERVER_PATH_SIZE] = "";
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    const char *arguments[] = {program,    "--crew", self->fixture->url,
                               self->path, number,   NULL};
    struct process_options options = {.folder = server_folder(), .death_signal = SIGKILL};

    check(size > 0);
    snprintf(number, sizeof number, "%u", atomic_fetch_add(&self->ledger->processes, 1));
    return process_start(&options, arguments);
}

pid_t process_pool_start(struct process_pool *self)
{
    uint32_t ready = atomic_load(&self->ledger->ready);
    pid_t pid = process_pool_spawn(self);

    wait_until(atomic_load(&self->ledger->ready) > ready);
    return pid;
}

/* What it was in the middle of is over. */
static void forget_owners(struct process_pool *self)
{
    for (int i = 0; i < PROCESS_POOL_PARTITIONS_MAX; i++)
        atomic_store(&self->ledger->owner[i], 0);
}

void process_pool_kill(struct process_pool *self, pid_t pid)
{
    (void)process_end(pid, SIGKILL);
    forget_owners(self);
}

void process_pool_end(struct process_pool *self, pid_t pid)
{
    int result = process_end(pid, SIGTERM);

    (void)self;
    /* above all: a sanitizer had something to say; a kill was ordered by the test */
    if (result != 0 && !(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL)) {
        process_print_log(server_folder());
        weir_test_fail(__FILE__, __LINE__, "process %d ended with %#x", (int)pid,
                       (unsigned)result);
    }
}

/* ---- members ----------------------------------------------------------------------- */

void process_pool_name(uint32_t process, char *out, size_t size)
{
    snprintf(out, size, "crew-%u", process);
}

/* Is the step to be tried once more? Fails the test when there is no use in it. */
static bool try_again(const struct process_pool_joining *how, int *tries,
                      enum weir_status status, const struct weir_error *error)
{
    if (status == WEIR_OK)
        return false;
    if (!how->patient || ++*tries > 1000)
        weir_test_fail(__FILE__, __LINE__, "%s", error->text);
    nap(1000000);
    return true;
}

static void serve(struct pool_process *self, const struct process_pool_joining *how)
{
    const struct process_pool_options *orders = &self->ledger->options;
    struct weir_tuning tuning = weir_tuning_of(WEIR_PROFILE_DEFAULT, WEIR_KIND_LANE);
    struct weir_outbox_options options;
    struct weir_handler_options handler;
    struct weir_error error;
    enum weir_status status;
    int tries = 0;
    char name[32];

    self->db = how->db;
    process_pool_name(self->process, name, sizeof name);
    weir_outbox_options_init(&options);
    options.db = how->db;
    options.process_name = name;
    options.handlers = orders->handlers;
    if (orders->memory_max != 0)
        options.memory_max = orders->memory_max;
    do {
        status = weir_outbox_create(&options, &self->outbox, &error);
    } while (try_again(how, &tries, status, &error));
    weir_outbox_set_fault_points(self->outbox, how->points);
    tuning.batch = orders->batch;
    tuning.retry_base_ns = orders->retry_ns;
    tuning.retry_max_ns = orders->retry_ns;
    weir_handler_options_init(&handler);
    handler.queue = QUEUE;
    if (orders->transactional)
        handler.on_message_tx = process_pool_book;
    else
        handler.on_batch = how->on_batch != NULL ? how->on_batch : process_pool_handle;
    handler.state = how->on_batch != NULL ? how->state : self;
    handler.tuning = &tuning;
    handler.lease.duration_ns = orders->lease_ns;
    handler.lease.headroom_ns = orders->lease_ns / 5;
    handler.budget_ns = orders->budget_ns;
    do {
        status = weir_outbox_add_handler(self->outbox, &handler, &error);
    } while (try_again(how, &tries, status, &error));
    do {
        status = weir_outbox_start(self->outbox, &error);
    } while (try_again(how, &tries, status, &error));
}

static void dismiss(struct pool_process *self)
{
    size_t unfinished = weir_outbox_stop(self->outbox, WEIR_SECONDS(20));

    if (unfinished > 0)
        weir_test_fail(__FILE__, __LINE__, "%zu workers do not end", unfinished);
    weir_outbox_destroy(self->outbox);
    weir_db_destroy(self->db);
}

struct pool_process *process_pool_join_with(struct process_pool *self,
                                            const struct process_pool_joining *how)
{
    struct pool_process *member = calloc(1, sizeof *member);
    struct weir_db_options options = fixture_options(self->fixture);
    struct process_pool_joining joining = *how;

    check(member != NULL);
    member->ledger = self->ledger;
    member->process = atomic_fetch_add(&self->ledger->processes, 1);
    if (joining.db == NULL)
        joining.db = fixture_open(self->fixture, &options);
    serve(member, &joining);
    return member;
}

struct pool_process *process_pool_join(struct process_pool *self)
{
    return process_pool_join_with(self, &(struct process_pool_joining){.db = NULL});
}

void process_pool_leave(struct pool_process *member)
{
    dismiss(member);
    free(member);
}

/* ---- the ledger -------------------------------------------------------------------- */

static struct process_pool_ledger *map_ledger(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct process_pool_ledger *ledger;

    if (file < 0 || ftruncate(file, sizeof *ledger) != 0)
        weir_test_fail(__FILE__, __LINE__, "no ledger at \"%s\"", path);
    ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (ledger == MAP_FAILED)
        weir_test_fail(__FILE__, __LINE__, "the ledger cannot be mapped");
    return ledger;
}

static void fill_in(struct process_pool_options *self)
{
    if (self->partitions == 0)
        self->partitions = 1;
    if (self->batch == 0)
        self->batch = 10;
    if (self->handlers == 0)
        self->handlers = 4;
    if (self->lease_ns == 0)
        self->lease_ns = WEIR_MILLISECONDS(500);
    if (self->retry_ns == 0)
        self->retry_ns = WEIR_MILLISECONDS(10);
}

void process_pool_open(struct process_pool *self, struct fixture *fixture,
                       const struct process_pool_options *options)
{
    struct weir_outbox_options producer;
    struct weir_queue_options queue;
    char name[64];

    memset(self, 0, sizeof *self);
    self->fixture = fixture;
    server_name_database(name, sizeof name);
    snprintf(self->path, sizeof self->path, "%s/%s.ledger", server_folder(), name);
    self->ledger = map_ledger(self->path);
    if (options != NULL)
        self->ledger->options = *options;
    fill_in(&self->ledger->options);
    weir_outbox_options_init(&producer);
    producer.db = fixture->db;
    check_db(weir_outbox_create(&producer, &self->outbox, &fixture->error), WEIR_OK);
    weir_queue_options_init(&queue);
    queue.name = QUEUE;
    queue.partitions = self->ledger->options.partitions;
    queue.attempts_max = self->ledger->options.attempts_max;
    check_db(weir_outbox_add_queue(self->outbox, &queue, &fixture->error), WEIR_OK);
}

void process_pool_close(struct process_pool *self)
{
    weir_outbox_destroy(self->outbox);
    (void)munmap(self->ledger, sizeof *self->ledger);
    (void)unlink(self->path);
}

void process_pool_pause(struct process_pool *self, bool paused)
{
    struct fixture *fixture = self->fixture;

    check_db((paused ? weir_outbox_pause_queue
                     : weir_outbox_resume_queue)(self->outbox, QUEUE, &fixture->error),
             WEIR_OK);
}

enum weir_status process_pool_try_enqueue(struct process_pool *self, int32_t partition)
{
    char number[32];
    struct weir_draft draft = {
        .route = weir_route_to_partition(partition), .type = "n", .payload = number};
    enum weir_status status;

    draft.payload_size = (size_t)snprintf(number, sizeof number, "%lld",
                                          (long long)self->enqueued[partition] + 1);
    status = weir_enqueue(self->outbox, NULL, QUEUE, &draft, NULL, &self->fixture->error);
    if (status == WEIR_OK)
        self->enqueued[partition]++;
    return status;
}

void process_pool_enqueue(struct process_pool *self, int32_t partition, int count)
{
    struct fixture *fixture = self->fixture;

    for (int i = 0; i < count; i++)
        check_db(process_pool_try_enqueue(self, partition), WEIR_OK);
}

void process_pool_enqueue_together(struct process_pool *self, int32_t partition,
                                   int count)
{
    struct fixture *fixture = self->fixture;
    struct weir_draft drafts[100];
    char numbers[100][32];

    check_in_range(count, 1, 100);
    for (int i = 0; i < count; i++) {
        int size = snprintf(numbers[i], sizeof numbers[i], "%lld",
                            (long long)++self->enqueued[partition]);

        drafts[i] = (struct weir_draft){.route = weir_route_to_partition(partition),
                                        .type = "n",
                                        .payload = numbers[i],
                                        .payload_size = (size_t)size};
    }
    check_db(weir_enqueue_batch(self->outbox, NULL, QUEUE, drafts, (size_t)count, NULL,
                                &fixture->error),
             WEIR_OK);
}

int64_t process_pool_done(const struct process_pool *self)
{
    int64_t sum = 0;

    for (int i = 0; i < PROCESS_POOL_PARTITIONS_MAX; i++)
        sum += atomic_load(&self->ledger->done[i]);
    return sum;
}

/* ---- what is stored ---------------------------------------------------------------- */

struct reading {
    int32_t partition; /* -1: all */
    struct process_pool_lane lane;
    int64_t sum;
    const char *owner;
    int owned;
};

static void read_lane(void *state, const struct weir_partition_info *info)
{
    struct reading *self = state;

    self->sum += info->seq;
    if (self->owner != NULL && strcmp(info->owner, self->owner) == 0 &&
        info->lease_left_us > 0)
        self->owned++;
    if (info->partition != self->partition)
        return;
    self->lane = (struct process_pool_lane){
        .seq = info->seq,
        .epoch = info->epoch,
        .attempts = info->attempts,
        .crashes = info->crashes,
        .lease_left_us = info->lease_left_us,
    };
    snprintf(self->lane.owner, sizeof self->lane.owner, "%s", info->owner);
}

static void look(struct process_pool *self, struct reading *reading)
{
    struct fixture *fixture = self->fixture;

    check_db(weir_outbox_read_partitions(self->outbox, QUEUE, read_lane, reading,
                                         &fixture->error),
             WEIR_OK);
}

struct process_pool_lane process_pool_read(struct process_pool *self, int32_t partition)
{
    struct reading reading = {.partition = partition};

    look(self, &reading);
    return reading.lane;
}

int64_t process_pool_stored(struct process_pool *self)
{
    struct reading reading = {.partition = -1};

    look(self, &reading);
    return reading.sum;
}

int process_pool_quota(struct process_pool *self, const char *owner)
{
    struct reading reading = {.partition = -1, .owner = owner};

    look(self, &reading);
    return reading.owned;
}

int process_pool_quota_of(struct process_pool *self, const struct pool_process *member)
{
    char name[32];

    weir_outbox_notify(member->outbox, WEIR_NOTIFY_LEASE_KEEPER);
    process_pool_name(member->process, name, sizeof name);
    return process_pool_quota(self, name);
}

/* ---- audit ------------------------------------------------------------------------- */

const struct process_pool_record *process_pool_next(const struct process_pool *self,
                                                    int32_t partition, size_t *from)
{
    size_t count = atomic_load(&self->ledger->count);

    while (*from < count) {
        const struct process_pool_record *record = &self->ledger->records[(*from)++];

        if (atomic_load(&record->written) && record->partition == partition)
            return record;
    }
    return NULL;
}

static void check_not_again(struct process_pool *self)
{
    for (int32_t p = 0; p < self->ledger->options.partitions; p++) {
        size_t from = self->audited_from;
        const struct process_pool_record *record;

        while ((record = process_pool_next(self, p, &from)) != NULL) {
            if (record->seq <= self->audited[p])
                weir_test_fail(__FILE__, __LINE__,
                               "partition %d: %lld came again, stored was %lld", p,
                               (long long)record->seq, (long long)self->audited[p]);
        }
    }
}

void process_pool_note_stored(struct process_pool *self)
{
    check_not_again(self);
    for (int32_t p = 0; p < self->ledger->options.partitions; p++)
        self->audited[p] = process_pool_read(self, p).seq;
    self->audited_from = atomic_load(&self->ledger->count);
}

static void audit_partition(struct process_pool *self, int32_t partition)
{
    const struct process_pool_record **first =
        calloc((size_t)self->enqueued[partition] + 2, sizeof *first);
    const struct process_pool_record *record;
    const struct process_pool_record *before = NULL;
    int64_t highest = 0;
    size_t from = 0;

    check(first != NULL);
    while ((record = process_pool_next(self, partition, &from)) != NULL) {
        bool same_owner = before != NULL && before->epoch == record->epoch;

        check_in_range(record->seq, 1, self->enqueued[partition]);
        if (record->seq > highest + 1 ||
            (before != NULL && record->epoch < before->epoch) ||
            (same_owner && record->seq > before->seq + 1))
            weir_test_fail(__FILE__, __LINE__,
                           "partition %d: seq %lld (epoch %lld) after %lld (%lld)",
                           partition, (long long)record->seq, (long long)record->epoch,
                           (long long)(before != NULL ? before->seq : 0),
                           (long long)(before != NULL ? before->epoch : 0));
        if (first[record->seq] == NULL)
            first[record->seq] = record;
        check(memcmp(first[record->seq]->uid, record->uid, WEIR_UID_SIZE) == 0);
        check_int(record->number, record->seq);
        if (record->seq > highest)
            highest = record->seq;
        before = record;
    }
    check_int(highest, self->enqueued[partition]);
    free(first);
}

void process_pool_audit(struct process_pool *self)
{
    check_not_again(self);
    for (int32_t p = 0; p < self->ledger->options.partitions; p++)
        audit_partition(self, p);
}

static void nap(int64_t ns)
{
    if (ns > 0)
        nanosleep(
            &(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000},
            NULL);
}
