/*
 * time.h - times and durations are nanoseconds in an int64_t.
 *
 * A time is a reading of the executor's clock: monotonic on threads, virtual in
 * simulation. It means nothing to another process.
 */
#ifndef WEIR_TIME_H
#define WEIR_TIME_H

#include <stdint.h>

#define WEIR_MICROSECONDS(n) ((int64_t)(n)*1000)
#define WEIR_MILLISECONDS(n) ((int64_t)(n)*1000000)
#define WEIR_SECONDS(n) ((int64_t)(n)*1000000000)
#define WEIR_MINUTES(n) (WEIR_SECONDS(n) * 60)
#define WEIR_HOURS(n) (WEIR_MINUTES(n) * 60)

/* A deadline that never comes. */
#define WEIR_FOREVER INT64_MAX

#endif
