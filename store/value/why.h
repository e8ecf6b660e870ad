/*
 * The sentence behind an error number.
 *
 * Whoever finds an error writes one sentence for people: what, where, what to
 * do. It belongs to the last negative return of the calling thread, as errno
 * does, and lasts until the next one. A caller may put more in front of it.
 * Control bytes in it are question marks: it may name what a file brings.
 */
#ifndef CELLFS_STORE_VALUE_WHY_H
#define CELLFS_STORE_VALUE_WHY_H

#define WHY_MAX 1024
extern _Thread_local char why_sentence[WHY_MAX]; /* for the inline code below */

/* Records the sentence and returns 0. Leaves errno alone. */
int why_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline int why_is(int err, int said)
{
	(void)said;
	return err;
}
/*
 * Records the sentence and has the value @err (a negative errno), for `return`.
 * A macro, so that compilers see the value.
 */
#define why(err, ...) why_is(err, why_say(__VA_ARGS__))
/* The name of an error number, such as "ENOENT". */
const char *why_name(int err);
/* What it means, in English, as strerror(3) says. */
const char *why_meaning(int err);
/*
 * A path as a shell reads it as one word, in quotes where it needs them: for the
 * commands that a sentence advises. It lasts until the thread's next call.
 */
const char *why_word(const char *path);
/* The last sentence; the empty string, never NULL, when there is none. */
const char *store_why(void);
/* Clears the sentence. For an entry point that starts a new operation. */
static inline void why_clear(void)
{
	why_sentence[0] = '\0';
}
/*
 * Saves the sentence around the clean-up after a failure: the clean-up may fail
 * too, but the first failure is the one to report.
 */
struct why_kept {
	char text[WHY_MAX];
};
void why_keep(struct why_kept *k);
void why_restore(const struct why_kept *k);

#endif
