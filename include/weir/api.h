/*
 * api.h - the few macros that every public header needs.
 */
#ifndef WEIR_API_H
#define WEIR_API_H

/* Marks what the shared library exports; everything else is hidden. */
#define WEIR_API __attribute__((visibility("default")))

/* The caller must look at the result. */
#define WEIR_CHECKED __attribute__((warn_unused_result))

/* The arguments are checked like those of printf. */
#define WEIR_PRINTF(format_index, first_argument)                                        \
    __attribute__((format(printf, format_index, first_argument)))

#define WEIR_NORETURN __attribute__((noreturn))

#ifdef __cplusplus
#define WEIR_BEGIN_DECLS extern "C" {
#define WEIR_END_DECLS }
#else
#define WEIR_BEGIN_DECLS
#define WEIR_END_DECLS
#endif

#endif
