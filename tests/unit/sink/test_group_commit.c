/*
 * Tests of sink/util/group_commit.c: who waits for which sync.
 */
#include "sink/util/group_commit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "sink_fixture.h"

enum { WRITERS = 8 };

/* A disk that takes its time: each sync waits until it is let go. */
struct disk {
    struct weir_group_commit group;
    _Atomic int begun;
    _Atomic int let_go;
    _Atomic int failure; /* of the next one */
    _Atomic int entered;
    _Atomic int settled;
};

static int sync_slowly(void *state)
{
    struct disk *self = state;
    int number = atomic_fetch_add(&self->begun, 1) + 1;

    while (self->let_go < number)
        sink_fixture_nap();
    return atomic_exchange(&self->failure, 0);
}

struct writer {
    pthread_t thread;
    struct disk *disk;
    int answer;
};

static void *write_once(void *argument)
{
    struct writer *self = argument;
    struct weir_group_commit_ticket ticket;

    weir_group_commit_enter(&self->disk->group, &ticket);
    atomic_fetch_add(&self->disk->entered, 1);
    self->answer = weir_group_commit_wait(&self->disk->group, &ticket);
    atomic_fetch_add(&self->disk->settled, 1);
    return NULL;
}

static void disk_open(struct disk *self)
{
    memset(self, 0, sizeof *self);
    check_status(weir_group_commit_init(&self->group, sync_slowly, self), WEIR_OK);
}

static void begin(struct disk *disk, struct writer *writer)
{
    int entered = disk->entered;

    *writer = (struct writer){.disk = disk, .answer = -1};
    check_int(pthread_create(&writer->thread, NULL, write_once, writer), 0);
    while (disk->entered == entered)
        sink_fixture_nap();
}

static void await(struct disk *disk, int begun)
{
    while (disk->begun < begun)
        sink_fixture_nap();
}

static void finish(struct writer *writer)
{
    check_int(pthread_join(writer->thread, NULL), 0);
}

/* The first syncs; all others come while it does, and share the second. */
WEIR_TEST(group, syncs_once_for_all_who_came_meanwhile)
{
    struct writer writers[WRITERS];
    struct disk disk;

    disk_open(&disk);
    begin(&disk, &writers[0]);
    await(&disk, 1);
    for (int i = 1; i < WRITERS; i++)
        begin(&disk, &writers[i]);
    check_int(disk.settled, 0);
    disk.let_go = 1;
    await(&disk, 2);
    finish(&writers[0]);
    check_int(disk.settled, 1); /* the others wrote after it began */
    disk.let_go = 2;
    for (int i = 1; i < WRITERS; i++)
        finish(&writers[i]);
    check_int(disk.begun, 2);
    for (int i = 0; i < WRITERS; i++)
        check_int(writers[i].answer, 0);
    weir_group_commit_fini(&disk.group);
}

/* Also for those who wrote while the sync ran that failed; and not for those who come
 * later. */
WEIR_TEST(group, fails_for_all_who_have_written)
{
    struct writer first, second, third;
    struct disk disk;

    disk_open(&disk);
    disk.failure = EIO;
    begin(&disk, &first);
    await(&disk, 1);
    begin(&disk, &second);
    disk.let_go = 1;
    finish(&first);
    finish(&second);
    check_int(first.answer, EIO);
    check_int(second.answer, EIO);
    check_int(disk.begun, 1);

    disk.let_go = 2;
    begin(&disk, &third);
    finish(&third);
    check_int(third.answer, 0);
    weir_group_commit_fini(&disk.group);
}
