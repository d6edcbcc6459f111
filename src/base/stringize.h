/*
 * stringize.h - the value of a macro as a string literal, for constant texts.
 *
 * Two steps: the first replaces the macro by its value, the second quotes that.
 */
#ifndef WEIR_BASE_STRINGIZE_H
#define WEIR_BASE_STRINGIZE_H

#define STRINGIZE(value) STRINGIZE_(value)
#define STRINGIZE_(value) #value

#endif
