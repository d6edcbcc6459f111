/*
 * Tests of sink/util/tail.c.
 */
#include "sink/util/tail.h"

#include <errno.h>

#include "sink_fixture.h"

/* A file with this text becomes one with that. */
static void mends(const char *text, const char *want)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    int64_t size, cut;
    char *got;
    int fd;

    make_path(path, "tail");
    write_file(path, text);
    fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    check_int(weir_tail_mend(fd, &size, &cut), 0);
    close(fd);
    got = slurp(path);
    check_str(got, want);
    check_int(size, strlen(want));
    check_int(cut, strlen(text) - strlen(want));
    free(got);
}

WEIR_TEST(tail, leaves_whole_lines_alone)
{
    mends("", "");
    mends("a\n", "a\n");
    mends("a\nb\n\n", "a\nb\n\n");
}

WEIR_TEST(tail, cuts_a_torn_line)
{
    mends("a", "");
    mends("a\nb", "a\n");
    mends("a\n\nb", "a\n\n");
    mends("\nb", "\n");
}

/* It reads backwards in blocks of 4096. */
WEIR_TEST(tail, cuts_a_torn_line_of_any_length)
{
    static const size_t SIZES[] = {4094, 4095, 4096, 4097, 8191, 8192, 8193, 100000};
    char *text = malloc(100020);

    check(text != NULL);
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        memcpy(text, "whole\n", 6);
        memset(text + 6, 'x', SIZES[i]);
        text[6 + SIZES[i]] = '\0';
        mends(text, "whole\n");
        mends(text + 6, "");
    }
    free(text);
}

WEIR_TEST(tail, is_locked_by_one_at_a_time)
{
    char path[SINK_FIXTURE_PATH_SIZE];
    int a, b;

    make_path(path, "lock");
    write_file(path, "");
    a = open(path, O_RDWR | O_CLOEXEC);
    b = open(path, O_RDWR | O_CLOEXEC);
    check_int(weir_tail_try_lock(a), 0);
    check_int(weir_tail_try_lock(b), EWOULDBLOCK);
    weir_tail_unlock(a);
    check_int(weir_tail_try_lock(b), 0);
    close(b);
    check_int(weir_tail_try_lock(a), 0);
    close(a);
}
