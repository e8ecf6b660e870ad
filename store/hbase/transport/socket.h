/*
 * Sockets: what a transport asks of the network. Only this module of store/
 * calls it. None of these functions waits but socket_connect() and
 * socket_poll().
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_SOCKET_H
#define CELLFS_STORE_HBASE_TRANSPORT_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "store/os/os.h"

/*
 * Connects, address after address of the host, until @deadline_ns of
 * os_monotonic_ns(), by which the host's name is looked up, too. A descriptor, or
 * a negative errno: -EHOSTUNREACH for an unknown host, -ETIMEDOUT, or the last
 * address's.
 */
int socket_connect(struct os *os, const char *host, uint16_t port,
		   uint64_t deadline_ns);
/*
 * Waits until there is something to receive, or, with @out, room to send, or
 * the event @wake was raised, which is taken back. 0 or a negative errno:
 * -ETIMEDOUT at @deadline_ns, if that is not 0.
 */
int socket_poll(struct os *os, int fd, int wake, bool out, uint64_t deadline_ns,
		bool *can_receive, bool *can_send);
/* How many bytes were taken, 0 = none for now. */
ssize_t socket_send(int fd, struct bytes data);
/* How many bytes came, 0 = none for now; -ECONNRESET at the end, too. */
ssize_t socket_receive(int fd, void *to, size_t n);
/* Both sides learn that nothing more comes: who waits for it wakes up. */
void socket_shut(int fd);
void socket_close(int fd); /* -1 = none */

/* An event for socket_poll(): a descriptor, or a negative errno. */
int socket_wake_new(void);
void socket_wake(int wake);

#endif
