/*
 * UTF-8: no long forms, no surrogates, nothing over U+10FFFF.
 */
#ifndef CELLFS_STORE_VALUE_UTF8_H
#define CELLFS_STORE_VALUE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many of the @left bytes at @p are the character there; 0 if invalid. */
size_t utf8_char(const uint8_t *p, size_t left);

/* The code of the valid character of @n bytes at @p. */
static inline uint32_t utf8_code(const uint8_t *p, size_t n)
{
	uint32_t code = n > 1 ? p[0] & (0x7Fu >> n) : p[0];

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (p[i] & 0x3F);
	return code;
}

#endif
