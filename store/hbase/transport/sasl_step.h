/*
 * A step of a handshake that has a deadline, whatever the mechanism waits for.
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_SASL_STEP_H
#define CELLFS_STORE_HBASE_TRANSPORT_SASL_STEP_H

#include "store/hbase/transport/sasl.h"

/*
 * As the step of *m. -EHOSTUNREACH: it was not done in time; *m is NULL then, as
 * the thread has the mechanism and frees it.
 */
int sasl_step(struct sasl_mechanism **m, struct bytes in, struct buf *token,
	      uint64_t deadline_ns);

#endif
