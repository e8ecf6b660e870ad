/* What a build without libmicrohttpd says of -o metrics. */
#include <fcntl.h>

#include "tests/unit/unit.h"
#include "fs/control/scrape.h"
#include "store/value/why.h"

TEST(it_is_refused_with_words)
{
	struct scrape *s = NULL;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(scrape_check(), -EOPNOTSUPP);
	assert_non_null(strstr(store_why(), "metrics="));
	assert_non_null(strstr(store_why(), "libmicrohttpd-dev"));
	assert_int_equal(scrape_start(NULL, fd, &s), -EOPNOTSUPP);
	assert_null(s);
	/* The socket is taken over even so. */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	scrape_stop(NULL);
}
