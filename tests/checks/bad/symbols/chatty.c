/* Each function does one thing that the library must not do. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void weir_print(int value);
void weir_complain(void);
void weir_give_up(void);
void weir_leave(void);
void weir_vanish(void);
void weir_listen(void);
long weir_now(void);
int weir_guess(void);

void weir_print(int value)
{
    printf("%d\n", value);
}

void weir_complain(void)
{
    fprintf(stderr, "a constant text, which the compiler turns into fwrite\n");
}

void weir_give_up(void)
{
    abort();
}

void weir_leave(void)
{
    exit(1);
}

void weir_vanish(void)
{
    _exit(1);
}

void weir_listen(void)
{
    signal(SIGTERM, SIG_IGN);
}

long weir_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

int weir_guess(void)
{
    return rand();
}
