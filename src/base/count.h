/*
 * count.h - the number of elements of an array whose size the compiler knows.
 *
 * Only for arrays, not for pointers: the warnings of both compilers refuse the latter.
 */
#ifndef WEIR_BASE_COUNT_H
#define WEIR_BASE_COUNT_H

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
