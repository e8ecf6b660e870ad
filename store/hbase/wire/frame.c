#include "store/hbase/wire/frame.h"

#include <errno.h>

#include "store/value/why.h"

#define CODEC "org.apache.hadoop.hbase.codec.KeyValueCodecWithTags"
/* What a server asks of a client's version is whether it is at least 1.3. */
#define VERSION "2.6.0"
#define VERSION_MAJOR 2
#define VERSION_MINOR 6
#define WORDS_MAX 400

struct pb_user {
	bool here;
	struct bytes name;
};

static MESSAGE(pb_user, "UserInformation",
	       FIELD(pb_user, name, 1, .required = true));

struct pb_version {
	bool here;
	struct bytes version;
	struct bytes url, revision, user, date, checksum; /* required, unused */
	uint32_t major, minor;
};

static MESSAGE(pb_version, "VersionInfo",
	       FIELD(pb_version, version, 1, .required = true),
	       FIELD(pb_version, url, 2, .required = true),
	       FIELD(pb_version, revision, 3, .required = true),
	       FIELD(pb_version, user, 4, .required = true),
	       FIELD(pb_version, date, 5, .required = true),
	       FIELD(pb_version, checksum, 6, .required = true),
	       FIELD(pb_version, major, 7), FIELD(pb_version, minor, 8));

struct pb_greeting {
	bool here;
	struct pb_user user;
	struct bytes service;
	struct bytes codec;
	struct pb_version version;
};

static MESSAGE(pb_greeting, "ConnectionHeader",
	       FIELD(pb_greeting, user, 1, .of = &pb_user),
	       FIELD(pb_greeting, service, 2), FIELD(pb_greeting, codec, 3),
	       FIELD(pb_greeting, version, 5, .of = &pb_version));

struct pb_cells {
	bool here;
	uint32_t length;
};

static MESSAGE(pb_cells, "CellBlockMeta", FIELD(pb_cells, length, 1));

struct pb_request_header {
	bool here;
	uint32_t id;
	struct bytes method;
	bool has_message;
	struct pb_cells cells;
	uint32_t timeout_ms;
};

static MESSAGE(pb_request_header, "RequestHeader",
	       FIELD(pb_request_header, id, 1, .required = true),
	       FIELD(pb_request_header, method, 3),
	       FIELD(pb_request_header, has_message, 4),
	       FIELD(pb_request_header, cells, 5, .of = &pb_cells),
	       FIELD(pb_request_header, timeout_ms, 7));

static MESSAGE(pb_exception, "ExceptionResponse", FIELD(pb_exception, class, 1),
	       FIELD(pb_exception, trace, 2), FIELD(pb_exception, host, 3),
	       FIELD(pb_exception, port, 4),
	       FIELD(pb_exception, do_not_retry, 5),
	       FIELD(pb_exception, overloaded, 6));

struct pb_response_header {
	bool here;
	uint32_t id;
	struct pb_exception exception;
	struct pb_cells cells;
};

static MESSAGE(pb_response_header, "ResponseHeader",
	       FIELD(pb_response_header, id, 1, .required = true),
	       FIELD(pb_response_header, exception, 2, .of = &pb_exception),
	       FIELD(pb_response_header, cells, 3, .of = &pb_cells));

/* Puts the length of what was appended since @at into the four bytes there. */
static int set_length(struct encoder *e, size_t at)
{
	size_t len;

	if (e->err)
		return why(e->err, "out of memory for a request");
	len = e->out->len - at - FRAME_HEAD;
	if (len > FRAME_MAX)
		return why(-EFBIG,
			   "a request of %zu bytes: at most %u can be sent",
			   len, FRAME_MAX);
	for (int i = 0; i < FRAME_HEAD; i++)
		e->out->data[at + (size_t)i] = (uint8_t)(len >> (24 - 8 * i));
	return 0;
}

int frame_preamble(struct buf *out, enum frame_auth auth)
{
	const uint8_t preamble[] = {'H', 'B', 'a', 's', 0, (uint8_t)auth};

	return buf_append(out, preamble, sizeof(preamble));
}

int frame_greeting(struct buf *out, const char *user, const char *service)
{
	struct pb_greeting g = {
		.user = {.here = user, .name = bytes_str(user ? user : "")},
		.service = bytes_str(service),
		.codec = bytes_str(CODEC),
		.version = {.here = true,
			    .version = bytes_str(VERSION),
			    .major = VERSION_MAJOR,
			    .minor = VERSION_MINOR},
	};
	struct encoder e = {.out = out};
	size_t at = out->len;

	put_be(&e, 0, FRAME_HEAD);
	proto_put(&e, &pb_greeting, &g);
	return set_length(&e, at);
}

int frame_request(struct buf *out, const struct frame_call *call)
{
	struct pb_request_header h = {
		.id = call->id,
		.method = bytes_str(call->method),
		.has_message = true,
		.cells = {.here = call->cells.len,
			  .length = (uint32_t)call->cells.len},
		.timeout_ms = call->timeout_ms,
	};
	struct encoder e = {.out = out};
	size_t at = out->len;
	int r;

	put_be(&e, 0, FRAME_HEAD);
	put_sized(&e, &pb_request_header, &h);
	if (call->type)
		put_sized(&e, call->type, call->message);
	else
		put_varint(&e, 0);
	put_raw(&e, call->cells.data, call->cells.len);
	r = set_length(&e, at);
	if (r < 0)
		out->len = at;
	return r;
}

int frame_take(struct bytes frame, struct frame_answer *out)
{
	struct decoder d = decoder_of(frame);
	struct bytes header = take_sized(&d);
	struct pb_response_header h = {0};
	struct frame_answer a = {0};
	int r = d.bad ? 0 : proto_take(header, &pb_response_header, &h);

	if (r < 0)
		return r;
	a.id = h.id;
	a.exception = h.exception;
	if (!h.exception.here)
		a.message = take_sized(&d);
	if (h.cells.here)
		a.cells = take_raw(&d, h.cells.length);
	if (d.bad)
		return why(-EPROTO, "an answer of %zu bytes is cut off",
			   frame.len);
	if (decoder_left(&d))
		return why(-EPROTO, "behind an answer are %zu bytes more",
			   decoder_left(&d));
	*out = a;
	return 0;
}

struct bytes frame_words(struct bytes text)
{
	size_t n = 0;

	while (n < text.len && n < WORDS_MAX && text.data[n] >= ' ')
		n++;
	return bytes_of(text.data, n);
}
