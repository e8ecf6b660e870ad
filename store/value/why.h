/*
 * The sentence behind an error number.
 *
 * Whoever finds an error writes one sentence for people: what, where, what to
 * do. It belongs to the last negative return of the calling thread, as errno
 * does, and lasts until the next one. A caller may put more in front of it.
 */
#ifndef CELLFS_STORE_VALUE_WHY_H
#define CELLFS_STORE_VALUE_WHY_H

#define WHY_MAX 1024
extern _Thread_local char why_sentence[WHY_MAX]; /* for what stands below */

/* Records the sentence; 0. Leaves errno alone. */
int why_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline int why_is(int err, int said)
{
	(void)said;
	return err;
}
/*
 * Records the sentence; its value is @err (a negative errno), for `return`. A
 * macro, so that compilers see which value that is.
 */
#define why(err, ...) why_is(err, why_say(__VA_ARGS__))
/* The last sentence, never NULL; empty when there is none. */
const char *store_why(void);
/* Forgets it: for an entry point that starts a new operation. */
static inline void why_clear(void)
{
	why_sentence[0] = '\0';
}
/*
 * For a clean-up behind a failure, which may fail too: the sentence of before
 * is what counts.
 */
struct why_kept {
	char text[WHY_MAX];
};
void why_keep(struct why_kept *k);
void why_restore(const struct why_kept *k);

#endif
