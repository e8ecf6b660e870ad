/*
 * UTF-8, as names and streams need it: how long the valid character is that
 * begins here, or 0.
 */
#ifndef CELLFS_FS_TEXT_UTF8_H
#define CELLFS_FS_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

size_t utf8_char(const uint8_t *p, size_t n);

#endif
