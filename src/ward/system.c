/*
 * system.c - see system.h.
 */
#include "ward/system.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/random.h"

#ifdef CLOCK_BOOTTIME
#define BOOT_CLOCK CLOCK_BOOTTIME
#else
#define BOOT_CLOCK CLOCK_MONOTONIC
#endif

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    int code = clock_gettime(clock, &now);

    WEIR_ASSERT(code == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t weir_system_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t weir_system_boot_ns(void)
{
    return read_ns(BOOT_CLOCK);
}

int64_t weir_system_wall_us(void)
{
    struct timespec now;
    int code = clock_gettime(CLOCK_REALTIME, &now);

    WEIR_ASSERT(code == 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void weir_system_sleep_ns(int64_t duration_ns)
{
    struct timespec rest = {
        .tv_sec = (time_t)(duration_ns / 1000000000),
        .tv_nsec = (long)(duration_ns % 1000000000),
    };

    if (duration_ns <= 0)
        return;
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
}

uint64_t weir_system_random(void)
{
    uint64_t bits;

    if (getrandom(&bits, sizeof bits, 0) == (ssize_t)sizeof bits)
        return bits;
    /* A kernel without getrandom(): process and time still tell two processes apart. */
    return weir_mix_u64((uint64_t)weir_system_now_ns() ^ ((uint64_t)getpid() << 40));
}
