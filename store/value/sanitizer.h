/*
 * Which sanitizers are built in: 0 or 1, for #if and for if. gcc says so by macros,
 * clang by features, and nothing else asks either of them (tests/layering.sh).
 */
#ifndef CELLFS_STORE_VALUE_SANITIZER_H
#define CELLFS_STORE_VALUE_SANITIZER_H

#ifdef __has_feature
#define SANITIZER_FEATURE(name) __has_feature(name)
#else
#define SANITIZER_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SANITIZER_FEATURE(address_sanitizer)
#define SANITIZED_ADDRESS 1
#else
#define SANITIZED_ADDRESS 0
#endif

#if defined(__SANITIZE_THREAD__) || SANITIZER_FEATURE(thread_sanitizer)
#define SANITIZED_THREAD 1
#else
#define SANITIZED_THREAD 0
#endif

/* gcc has none. */
#if SANITIZER_FEATURE(memory_sanitizer)
#define SANITIZED_MEMORY 1
#else
#define SANITIZED_MEMORY 0
#endif

#endif
