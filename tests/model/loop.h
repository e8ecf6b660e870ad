/*
 * A channel whose other end is in the same process and thread: what is sent
 * is fed to a session of the store, what is received is taken from it. So the
 * two ends of a served store are one deterministic store again.
 */
#ifndef CELLFS_TESTS_MODEL_LOOP_H
#define CELLFS_TESTS_MODEL_LOOP_H

#include "store/served.h"

/*
 * A client of a session over @behind, which stays the caller's. Whoever
 * closes *out ends the session. @hooks may be NULL.
 */
int loop_open(struct store *behind, const struct served_hooks *hooks,
	      struct store **out);

#endif
