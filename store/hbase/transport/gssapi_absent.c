/* In place of gssapi.c, where the build found no Kerberos. */
#include <errno.h>

#include "store/hbase/transport/gssapi.h"
#include "store/value/why.h"

int gssapi_new(const struct security *s, const char *host,
	       struct sasl_mechanism **out)
{
	return why(-EOPNOTSUPP, "security=kerberos: this cellfs was built "
				"without Kerberos: build it where libkrb5-dev "
				"is installed");
}
