/*
 * Searching what is in order.
 */
#ifndef CELLFS_STORE_LSM_BASE_BISECT_H
#define CELLFS_STORE_LSM_BASE_BISECT_H

/*
 * Raises @lo to the first of the places from it up to @hi of which @before, an
 * expression of the place @at, is false, or to @hi. It is true of those in front
 * of that one and of no other. @lo and @hi are variables of one unsigned type.
 */
#define BISECT(lo, hi, at, before)                                  \
	while ((lo) < (hi)) {                                       \
		const __typeof__(lo) at = (lo) + ((hi) - (lo)) / 2; \
                                                                    \
		if (before)                                         \
			(lo) = at + 1;                              \
		else                                                \
			(hi) = at;                                  \
	}

#endif
