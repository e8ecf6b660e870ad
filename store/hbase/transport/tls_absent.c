/* In place of tls.c, where the build found no OpenSSL. */
#include <errno.h>

#include "store/hbase/transport/tls.h"
#include "store/value/why.h"

int tls_start(struct transport *t, const struct security *s, const char *host,
	      uint64_t deadline_ns, struct layer **out)
{
	return why(-EOPNOTSUPP, "tls=on: this cellfs was built without TLS: "
				"build it where libssl-dev is installed");
}
