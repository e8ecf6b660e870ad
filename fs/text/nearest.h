/*
 * Finds the word that a user probably meant: among the words offered, the one
 * that differs in the fewest letters, if these are few enough.
 */
#ifndef CELLFS_FS_TEXT_NEAREST_H
#define CELLFS_FS_TEXT_NEAREST_H

#define NEAREST_LEN_MAX 255

struct nearest {
	const char *given;
	unsigned distance;
	char word[NEAREST_LEN_MAX + 1]; /* empty = none is near enough */
};

void nearest_init(struct nearest *n, const char *given);
void nearest_offer(struct nearest *n, const char *word);
/* Prints "; did you mean ..." with @before the word, or nothing. */
void nearest_say(const struct nearest *n, const char *before);

#endif
