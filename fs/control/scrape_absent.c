/* In place of scrape.c, where the build found no libmicrohttpd. */
#include <errno.h>
#include <unistd.h>

#include "fs/control/scrape.h"
#include "store/value/why.h"

int scrape_check(void)
{
	return why(-EOPNOTSUPP,
		   "metrics=: this cellfs was built without HTTP: build it "
		   "where libmicrohttpd-dev is installed, or read "
		   ".cellfs/metrics");
}

int scrape_start(struct fs *fs, int listening, struct scrape **out)
{
	close(listening);
	return scrape_check();
}

void scrape_stop(struct scrape *s)
{
}
