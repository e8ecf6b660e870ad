/* What a build without Kerberos and TLS says of clusters that want them. */
#include "tests/unit/unit.h"
#include "store/hbase/transport/gssapi.h"
#include "store/hbase/transport/tls.h"
#include "store/value/why.h"

TEST(both_are_refused_with_words)
{
	const struct security s = {.kerberos = true, .tls = true};
	struct sasl_mechanism *m;
	struct layer *l;

	assert_int_equal(gssapi_new(&s, "h", &m), -EOPNOTSUPP);
	assert_non_null(strstr(store_why(), "security=kerberos"));
	assert_non_null(strstr(store_why(), "libkrb5-dev"));
	assert_int_equal(tls_start(NULL, &s, "h", 0, &l), -EOPNOTSUPP);
	assert_non_null(strstr(store_why(), "tls=on"));
	assert_non_null(strstr(store_why(), "libssl-dev"));
}
