#include "store/hbase/master/told.h"

#include <errno.h>
#include <string.h>

#include "store/hbase/calls/region_call.h"

/* So many attributes of a family or a table are taken; the rest are left out. */
#define PAIRS_MAX 64
/* Bytes in which the key of the next pair ends. */
#define KEY_MAX 1024

static bool at_char(const struct bytes *s, uint8_t c)
{
	return s->len && s->data[0] == c;
}

static void skip(struct bytes *s, size_t n)
{
	s->data += n;
	s->len -= n;
}

/* Takes off *s what is in front of @end, and @end; false if @end is not in it. */
static bool take_until(struct bytes *s, const char *end, struct bytes *out)
{
	size_t len = strlen(end);
	const uint8_t *at = s->len ? memmem(s->data, s->len, end, len) : NULL;

	if (!at)
		return false;
	*out = bytes_of(s->data, (size_t)(at - s->data));
	skip(s, out->len + len);
	return true;
}

/* KEY or 'KEY', the one without blanks and quotes. */
static bool is_key(struct bytes s)
{
	if (at_char(&s, '\''))
		return s.len > 1 && s.data[s.len - 1] == '\'';
	return s.len && !memchr(s.data, ' ', s.len) &&
	       !memchr(s.data, '\'', s.len);
}

/* Is what stands behind a quote the end of a group, or another pair? */
static bool is_behind_value(struct bytes s)
{
	struct bytes key;

	if (at_char(&s, '}'))
		return s.len == 1 || s.data[1] == '}' || s.data[1] == ',';
	if (s.len > KEY_MAX)
		s.len = KEY_MAX;
	if (s.len < 2 || memcmp(s.data, ", ", 2) != 0)
		return false;
	skip(&s, 2);
	return take_until(&s, " => ", &key) && is_key(key);
}

/*
 * A value, such as the name of a family, may hold quotes that end nothing. One that
 * holds the very words between two pairs cannot be told from these.
 */
static bool take_value(struct bytes *s, struct bytes *out)
{
	skip(s, 1);
	for (size_t i = 0; i < s->len; i++) {
		if (s->data[i] != '\'' ||
		    !is_behind_value(bytes_of(s->data + i + 1, s->len - i - 1)))
			continue;
		*out = bytes_of(s->data, i);
		skip(s, i + 1);
		return true;
	}
	return false;
}

/*
 * Takes KEY => 'VALUE' off *s, out of the braces that are inside: 1, 0 where the
 * group ends, -EPROTO.
 */
static int take_pair(struct bytes *s, unsigned *depth, struct pb_pair *out)
{
	while (s->len) {
		if (at_char(s, '}')) {
			skip(s, 1);
			if (!--*depth)
				return 0;
		} else if (at_char(s, '{')) {
			skip(s, 1);
			++*depth;
		} else if (at_char(s, ' ') || at_char(s, ',')) {
			skip(s, 1);
		} else if (!take_until(s, " => ", &out->first)) {
			break;
		} else if (at_char(s, '\'')) {
			if (at_char(&out->first, '\'') && out->first.len > 1) {
				skip(&out->first, 1);
				out->first.len--;
			}
			return take_value(s, &out->second) ? 1 : -EPROTO;
		}
	}
	return -EPROTO;
}

/* The number in words such as "86400 SECONDS (1 DAY)". */
static struct bytes first_word(struct bytes value)
{
	size_t n = 0;

	while (n < value.len && value.data[n] != ' ')
		n++;
	return bytes_of(value.data, n);
}

/* Appends the group that *s begins with, of a family or of the table. */
static int put_group(struct bytes *s, struct encoder *e)
{
	struct pb_pair pairs[PAIRS_MAX];
	struct pb_family family = {.attributes = {.items = pairs}};
	unsigned depth = 0;
	size_t n = 0;
	int r;

	while ((r = take_pair(s, &depth, &pairs[n])) > 0) {
		pairs[n].here = true;
		if (!family.name.data &&
		    bytes_eq(pairs[n].first, bytes_str("NAME")))
			family.name = pairs[n].second;
		else if (n + 1 < PAIRS_MAX)
			n++;
	}
	for (size_t i = 0; i < n; i++)
		pairs[i].second = first_word(pairs[i].second);
	family.attributes.n = n;
	if (r < 0)
		return r;
	if (family.name.data) {
		put_message(e, DESCRIPTOR_FAMILIES, &pb_family, &family);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		put_message(e, DESCRIPTOR_ATTRIBUTES, &pb_pair, &pairs[i]);
	return 0;
}

int told_take(struct bytes table, struct bytes words, struct buf *hold,
	      struct pb_descriptor *out)
{
	const struct pb_table_name name = table_name_of(table);
	struct encoder e = {.out = hold};
	struct bytes before, line;
	int r = -EPROTO;

	hold->len = 0;
	put_message(&e, DESCRIPTOR_TABLE, &pb_table_name, &name);
	if (!take_until(&words, "\n", &line) ||
	    !take_until(&line, " in table '", &before) ||
	    !take_until(&line, "', ", &before) || !bytes_eq(before, table))
		return -EPROTO;
	while (at_char(&line, '{')) {
		r = put_group(&line, &e);
		if (r < 0)
			return r;
		while (at_char(&line, ' ') || at_char(&line, ','))
			skip(&line, 1);
	}
	if (r == 0)
		r = e.err;
	return r < 0 ? r : proto_take(buf_bytes(hold), &pb_descriptor, out);
}

int told_description(struct cluster *c, struct bytes table, struct buf *hold,
		     struct pb_descriptor *out)
{
	/* No name of a family begins with a dot, so the server refuses. */
	const struct pb_column column = {
		.here = true,
		.family = bytes_str("."),
	};
	struct pb_get_request m;
	struct region_call rc = {
		.cluster = c,
		.table = table,
		.row = bytes_of("", 1),
		.request = {.method = "Get",
			    .type = &pb_get_request,
			    .message = &m},
		.region = &m.region,
		.is_repeatable = true,
	};
	struct retry retry = cluster_retry(c);
	struct attempt call = {0};
	struct failure f;
	int r;

	proto_init(&pb_get_request, &m);
	m.get.here = true;
	m.get.row = rc.row;
	m.get.columns = (struct proto_list){.items = &column, .n = 1};
	r = region_call(&rc, &retry, &call, NULL, &f);
	if (r == -EPERM)
		r = told_take(table, call.rpc.answer.exception.trace, hold,
			      out);
	else if (r == 0)
		r = -EPROTO;
	attempt_end(&call);
	return r;
}
