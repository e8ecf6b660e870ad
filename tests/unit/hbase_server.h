/*
 * A server of HBase for tests: what a thread that plays one does with a
 * connection that it has accepted.
 */
#ifndef CELLFS_TESTS_HBASE_SERVER_H
#define CELLFS_TESTS_HBASE_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/hbase/cellblock/cellblock.h"
#include "store/hbase/connection/connection.h"
#include "store/hbase/wire/messages.h"

#define SECOND 1000000000ull

/* A socket that listens on a port of loopback. */
static inline int server_listen(uint16_t *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (void *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (void *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static inline bool server_read(int fd, void *to, size_t n)
{
	uint8_t *p = to;

	while (n) {
		ssize_t got = read(fd, p, n);

		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

/* The length that stands before a greeting or a frame, and its body. */
static inline uint8_t *server_body(int fd, uint32_t *len)
{
	uint8_t *body;

	if (!server_read(fd, len, 4))
		return NULL;
	*len = be32toh(*len);
	body = malloc(*len + 1);
	if (!body || !server_read(fd, body, *len)) {
		free(body);
		return NULL;
	}
	return body;
}

static inline void server_greet(int fd)
{
	uint8_t preamble[6];
	uint32_t len;

	if (server_read(fd, preamble, sizeof(preamble)))
		free(server_body(fd, &len));
}

/* The milliseconds that a header gives the server; 0 = it does not say. */
static inline uint32_t server_timeout(struct decoder header)
{
	while (decoder_left(&header) && !header.bad) {
		uint64_t tag = take_varint(&header), value = 0;

		if (tag & 2)
			take_sized(&header);
		else
			value = take_varint(&header);
		if (tag >> 3 == 7)
			return (uint32_t)value;
	}
	return 0;
}

/* A request; its memory goes with server_request_free(). */
struct server_request {
	uint8_t *body;
	uint32_t id;
	char method[64];
	uint32_t timeout_ms; /* as server_timeout() */
	struct bytes message, cells;
};

static inline void server_request_free(struct server_request *q)
{
	free(q->body);
	*q = (struct server_request){0};
}

/*
 * Reads the next request: the fields of its header begin with the id and the
 * name of the method. false = no more.
 */
static inline bool server_take(int fd, struct server_request *q)
{
	struct decoder d, header;
	struct bytes name;
	uint32_t len;

	*q = (struct server_request){.body = server_body(fd, &len)};
	if (!q->body)
		return false;
	d = decoder_of(bytes_of(q->body, len));
	header = decoder_of(take_sized(&d));
	take_varint(&header); /* the field's tag */
	q->id = (uint32_t)take_varint(&header);
	take_varint(&header);
	name = take_sized(&header);
	snprintf(q->method, sizeof(q->method), "%.*s", (int)name.len,
		 (const char *)name.data);
	q->timeout_ms = server_timeout(header);
	q->message = take_sized(&d);
	q->cells = take_raw(&d, decoder_left(&d));
	return true;
}

/* The same, of one whose message is not looked at: its id, or 0. */
static inline uint32_t server_request_timed(int fd, char method[64],
					    uint32_t *timeout_ms)
{
	struct server_request q;
	uint32_t id = server_take(fd, &q) ? q.id : 0;

	memcpy(method, q.method, sizeof(q.method));
	*timeout_ms = q.timeout_ms;
	server_request_free(&q);
	return id;
}

static inline uint32_t server_request(int fd, char method[64])
{
	uint32_t timeout_ms;

	return server_request_timed(fd, method, &timeout_ms);
}

static inline void server_send(int fd, struct buf *frame)
{
	uint32_t len = htobe32((uint32_t)frame->len);
	struct iovec parts[] = {{&len, 4}, {frame->data, frame->len}};
	/* In one call: what follows a first one waits until that is received. */
	const struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};

	(void)!sendmsg(fd, &m, MSG_NOSIGNAL);
	buf_free(frame);
}

/* Answers with a message, and cells beside it if there are any. */
static inline void server_answer_cells(int fd, uint32_t id,
				       const struct proto_message *type,
				       const void *message, struct bytes cells)
{
	struct buf frame = {0}, header = {0}, block = {0};
	struct encoder e = {.out = &frame}, h = {.out = &header},
		       b = {.out = &block};

	put_varint(&h, 1 << 3);
	put_varint(&h, id);
	if (cells.len) {
		put_varint(&b, 1 << 3);
		put_varint(&b, cells.len);
		put_varint(&h, 3 << 3 | 2);
		put_varint(&h, block.len);
		put_raw(&h, block.data, block.len);
	}
	put_varint(&e, header.len);
	put_raw(&e, header.data, header.len);
	put_sized(&e, type, message);
	put_raw(&e, cells.data, cells.len);
	buf_free(&header);
	buf_free(&block);
	server_send(fd, &frame);
}

static inline void server_answer(int fd, uint32_t id,
				 const struct proto_message *type,
				 const void *message)
{
	server_answer_cells(fd, id, type, message, (struct bytes){0});
}

/* Answers with an exception. */
static inline void server_refuse_in_words(int fd, uint32_t id,
					  const char *class, const char *trace)
{
	struct buf frame = {0}, header = {0}, x = {0};
	struct encoder e = {.out = &frame}, h = {.out = &header},
		       i = {.out = &x};

	put_varint(&i, 1 << 3 | 2);
	put_varint(&i, strlen(class));
	put_raw(&i, class, strlen(class));
	put_field(&i, 2, bytes_str(trace));
	put_varint(&h, 1 << 3);
	put_varint(&h, id);
	put_varint(&h, 2 << 3 | 2);
	put_varint(&h, x.len);
	put_raw(&h, x.data, x.len);
	put_varint(&e, header.len);
	put_raw(&e, header.data, header.len);
	buf_free(&header);
	buf_free(&x);
	server_send(fd, &frame);
}

static inline void server_refuse(int fd, uint32_t id, const char *class)
{
	server_refuse_in_words(fd, id, class, "");
}

/* A cell of the family "info", which hbase:meta has. */
static inline void server_put_cell(struct encoder *e, const char *row,
				   const char *qualifier, struct bytes value)
{
	const struct change c = {
		.op = CHANGE_PUT,
		.family = bytes_str("info"),
		.qualifier = bytes_str(qualifier),
		.value = value,
		.ts = 1,
	};

	cellblock_put(e, bytes_str(row), &c);
}

/* The row of hbase:meta that says where the table's region is. */
static inline void server_put_region(struct encoder *e, uint16_t port)
{
	const struct pb_region_info info = {
		.here = true,
		.id = 1,
		.table = table_name_of(bytes_str("t")),
	};
	struct buf value = {0};
	struct encoder v = {.out = &value};
	char address[32];

	put_raw(&v, "PBUF", 4);
	proto_put(&v, &pb_region_info, &info);
	server_put_cell(e, "t,,1", "regioninfo", buf_bytes(&value));
	snprintf(address, sizeof(address), "127.0.0.1:%u", port);
	server_put_cell(e, "t,,1", "server", bytes_str(address));
	buf_free(&value);
}

#endif
