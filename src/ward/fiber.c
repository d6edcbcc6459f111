/*
 * fiber.c - ucontext, and the annotations that the sanitizers need.
 *
 * A fiber never leaves its entry loop: when the entry is done it pauses like any other
 * time, only saying so. That way a stack is set up once and used for one execution
 * after the other.
 */
#include "ward/fiber.h"

#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/heap.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif

#ifdef WITH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Enough for a database driver below a handler; untouched pages cost nothing. */
enum { STACK_SIZE = 256 * 1024 };

/* One side of a switch. */
struct side {
    ucontext_t registers;
    void *fake_stack; /* ASan's */
    const void *stack;
    size_t stack_size;
    void *tsan_fiber;
};

struct weir_fiber {
    const struct weir_heap *heap; /* borrowed */
    weir_fiber_fn entry;
    void *argument;
    char *mapping; /* guard page, then the stack */
    size_t mapping_size;
    struct side inside;
    struct side outside; /* the caller of run() */
    bool running;
    bool done;
};

static void switch_sides(struct side *from, struct side *to)
{
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
#endif
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(to->tsan_fiber, 0);
#endif
    WEIR_ASSERT(swapcontext(&from->registers, &to->registers) == 0);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

static void loop(unsigned high, unsigned low)
{
    struct weir_fiber *self =
        (struct weir_fiber *)(((uintptr_t)high << 16 << 16) | (uintptr_t)low);

#ifdef WITH_ASAN
    /* The first arrival: learn where we came from. */
    __sanitizer_finish_switch_fiber(NULL, &self->outside.stack,
                                    &self->outside.stack_size);
#endif
    for (;;) {
        self->entry(self->argument);
        self->done = true;
        weir_fiber_pause(self);
    }
}

enum weir_status weir_fiber_create(const struct weir_heap *heap, weir_fiber_fn entry,
                                   void *argument, struct weir_fiber **out)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct weir_fiber *self = weir_heap_zalloc(heap, sizeof *self);

    *out = NULL;
    if (self == NULL)
        return WEIR_NO_MEMORY;
    self->heap = heap;
    self->entry = entry;
    self->argument = argument;
    self->mapping_size = page_size + STACK_SIZE;
    self->mapping = mmap(NULL, self->mapping_size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (self->mapping == MAP_FAILED ||
        mprotect(self->mapping, page_size, PROT_NONE) != 0 ||
        getcontext(&self->inside.registers) != 0) {
        if (self->mapping != MAP_FAILED)
            (void)munmap(self->mapping, self->mapping_size);
        weir_heap_free(heap, self);
        return WEIR_NO_MEMORY;
    }
    self->inside.stack = self->mapping + page_size;
    self->inside.stack_size = STACK_SIZE;
    self->inside.registers.uc_stack.ss_sp = self->mapping + page_size;
    self->inside.registers.uc_stack.ss_size = STACK_SIZE;
    makecontext(&self->inside.registers, (void (*)(void))loop, 2,
                (unsigned)((uintptr_t)self >> 16 >> 16), (unsigned)(uintptr_t)self);
#ifdef WITH_TSAN
    self->inside.tsan_fiber = __tsan_create_fiber(0);
#endif
    *out = self;
    return WEIR_OK;
}

void weir_fiber_destroy(struct weir_fiber *self)
{
    if (self == NULL)
        return;
    WEIR_ASSERT(!self->running);
#ifdef WITH_TSAN
    __tsan_destroy_fiber(self->inside.tsan_fiber);
#endif
    (void)munmap(self->mapping, self->mapping_size);
    weir_heap_free(self->heap, self);
}

bool weir_fiber_run(struct weir_fiber *self)
{
    WEIR_ASSERT(!self->running);
    self->running = true;
    self->done = false;
#ifdef WITH_TSAN
    self->outside.tsan_fiber = __tsan_get_current_fiber();
#endif
    switch_sides(&self->outside, &self->inside);
    self->running = false;
    return !self->done;
}

void weir_fiber_pause(struct weir_fiber *self)
{
    WEIR_ASSERT(self->running);
    switch_sides(&self->inside, &self->outside);
}
