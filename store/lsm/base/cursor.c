#include "store/lsm/base/cursor.h"

int entry_cmp(const struct entry *a, const struct entry *b)
{
	bool fa = kind_is_family_marker(a->kind);
	bool fb = kind_is_family_marker(b->kind);
	int c;

	if (fa != fb)
		return fa ? -1 : 1;
	if (!fa) {
		c = bytes_cmp(a->qualifier, b->qualifier);
		if (c)
			return c;
	}
	if (a->ts != b->ts)
		return a->ts > b->ts ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind > b->kind ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq > b->seq ? -1 : 1;
	return 0;
}
