#include "fs/memory/scratch_names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "store/value/cell.h"
#include "store/value/why.h"

/*
 * A name is the head, then anything, then the tail, then as many random
 * characters as mkstemp(3) and the like append. With @exact there is nothing
 * between head and tail; otherwise, if there is no head, something is.
 */
static const struct pattern {
	const char *head, *tail;
	uint8_t random_min, random_max;
	bool exact;
} patterns[] = {
	{.head = "."}, /* vim, rsync, nano, desktops */
	{.head = "#"}, /* emacs, mc */
	{.tail = "~"}, /* vim, emacs, cp --backup, rsync --backup */
	{.tail = ".tmp"},
	{.tail = ".temp"},
	{.tail = ".part"},    /* downloads */
	{.tail = ".partial"}, /* rclone */
	{.tail = ".new"},
	{.tail = ".bak"},  /* sed -i.bak, perl -i.bak */
	{.tail = ".orig"}, /* patch */
	{.tail = ".rej"},  /* patch */
	{.tail = ".lock"}, /* git */
	{.tail = ".swp"},
	{.tail = ".o", .random_min = 6, .random_max = 6}, /* patch */
	{.tail = ".r", .random_min = 6, .random_max = 6}, /* patch */
	{"sed", "", 6, 6, .exact = true},		  /* sed -i */
	{"tmp", "", 6, 8, .exact = true},		  /* Python */
	{"tmp.", "", 6, 10, .exact = true},		  /* mktemp(1) */
	{"XX", "", 6, 6, .exact = true},		  /* perl -i */
};

static bool has_tail(struct bytes name, const char *tail)
{
	size_t len = strlen(tail);

	return name.len >= len &&
	       !memcmp(name.data + name.len - len, tail, len);
}

static bool matches(const struct pattern *p, struct bytes name)
{
	const char *head = p->head ? p->head : "";
	const char *tail = p->tail ? p->tail : "";
	size_t head_len = strlen(head), tail_len = strlen(tail);
	size_t random = 0;

	if (!bytes_has_prefix(name, bytes_str(head)))
		return false;
	name = bytes_of(name.data + head_len, name.len - head_len);
	for (;;) {
		size_t rest = name.len - tail_len;

		if (random >= p->random_min && has_tail(name, tail) &&
		    (p->exact ? !rest : rest || head_len))
			return true;
		if (!name.len || random == p->random_max)
			return false;
		if (!isalnum(name.data[name.len - 1]) &&
		    name.data[name.len - 1] != '_')
			return false;
		name.len--;
		random++;
	}
}

static bool is_digits(struct bytes name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] < '0' || name.data[i] > '9')
			return false;
	return name.len > 0;
}

/*
 * vim makes 4913 to test whether it can write, and if it exists 5036, 5159, ...
 */
static bool is_vims_number(struct bytes name)
{
	unsigned n = 0;

	if (name.len < 4 || name.len > 5 || !is_digits(name) ||
	    name.data[0] == '0')
		return false;
	for (size_t i = 0; i < name.len; i++)
		n = n * 10 + (unsigned)(name.data[i] - '0');
	return n >= 4913 && (n - 4913) % 123 == 0;
}

bool scratch_name_is_temporary(struct bytes name)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (matches(&patterns[i], name))
			return true;
	return is_vims_number(name);
}

/* Digits, with or without a sign. */
static bool is_number(struct bytes name)
{
	if (name.len && (name.data[0] == '-' || name.data[0] == '+'))
		name = bytes_of(name.data + 1, name.len - 1);
	return is_digits(name);
}

int scratch_name_check(struct bytes name, bool timestamps, const char *home)
{
	if (timestamps && is_number(name))
		return why(-EINVAL,
			   "%.*s is no timestamp: that is milliseconds since "
			   "1970, 0 to %" PRId64 ", without a sign or a zero "
			   "in front",
			   (int)name.len, (const char *)name.data, TS_MAX);
	if (scratch_name_is_temporary(name))
		return 0;
	return why(-EPERM,
		   "an ordinary file would be lost here; %s (what is temporary "
		   "is let in under the names that tools give it, such as "
		   "X.tmp; all is with -o scratch=any)",
		   home);
}
