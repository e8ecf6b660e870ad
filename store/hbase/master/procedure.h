/*
 * Procedures of the active master: a change is begun by a call, and has been
 * made when the procedure whose number the call answers has ended.
 */
#ifndef CELLFS_STORE_HBASE_MASTER_PROCEDURE_H
#define CELLFS_STORE_HBASE_MASTER_PROCEDURE_H

#include "store/hbase/cluster/cluster.h"

/*
 * Begins a procedure and waits for its end. The message has a nonce, since the
 * call is sent again after a lost connection. Both together take no longer than
 * one call may. They do not end because the caller is gone (patience.h): what was
 * begun for the caller is to be undone, such as a table that is out of service.
 */
int procedure_run(struct cluster *c, const char *method,
		  const struct proto_message *type, const void *message);
/* Waits for the end of one until @retry ends. */
int procedure_await(struct cluster *c, uint64_t id, const struct retry *retry);
/* A number for one try and its repetitions. */
uint64_t procedure_nonce(struct cluster *c);

#endif
