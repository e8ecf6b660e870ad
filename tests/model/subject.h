/*
 * What is tested: a store that can be made new, closed, killed, opened again.
 */
#ifndef CELLFS_TESTS_MODEL_SUBJECT_H
#define CELLFS_TESTS_MODEL_SUBJECT_H

#include "tests/model/world.h"

/* A new, empty store of the engine on a simulated disk. */
int subject_lsm(const struct step_mode *mode, struct world *w);
/*
 * Opens the store that is on a simulated disk, or makes it. @os is the disk or
 * what wraps it; w->tiny and w->narrow choose the store's sizes.
 */
int subject_lsm_open(struct os *os, struct os *disk, struct world *w);
/* The end of it, whatever state it is in. */
void subject_lsm_free(struct world *w);

/* As subject_lsm(), served: w->store is a client in the same process. */
int subject_remote(const struct step_mode *mode, struct world *w);
void subject_remote_free(struct world *w);

/*
 * The cluster of HBase of that name, whose tables t0, u0, t1 and u1 go. Runs on
 * it are of subject_cluster_mode().
 */
int subject_cluster(const char *name, struct world *w);
void subject_cluster_free(struct world *w);
struct step_mode subject_cluster_mode(uint64_t seed, bool classic);
/* What it is of the step that it cannot do as other stores do it, or NULL. */
const char *subject_cluster_cannot(const struct world *w, const struct step *s);

#endif
