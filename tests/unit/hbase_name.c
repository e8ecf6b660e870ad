/* The name of a cluster, and what it asks for. */
#include "tests/unit/unit.h"
#include "store/hbase/backend/hbase.h"
#include "store/hbase/backend/name.h"
#include "store/value/why.h"

static struct hbase_name name_of(const char *path)
{
	struct hbase_name n;

	assert_int_equal(hbase_name_parse(path, &n), 0);
	return n;
}

/* The name is refused, in words that have @words. */
static void assert_refused(const char *path, const char *words)
{
	struct hbase_name n;

	why_clear();
	assert_int_equal(hbase_name_parse(path, &n), -EINVAL);
	assert_non_null(strstr(store_why(), words));
}

TEST(hosts_alone_ask_for_nothing)
{
	static const struct security none;
	struct hbase_name n = name_of("hbase://a,b:16001");

	assert_string_equal(n.masters, "a,b:16001");
	assert_memory_equal(&n.security, &none, sizeof(none));
	n = name_of("hbase://a/");
	assert_string_equal(n.masters, "a");
	n = name_of("hbase://a/?");
	assert_memory_equal(&n.security, &none, sizeof(none));
	assert_refused("hbase://a/t", "nothing else");
	assert_refused("hbase://a//", "nothing else");
	/* No store is made in a directory of that name. */
	assert_true(hbase_is_named("hbase:a") && !hbase_is_named("./hbase:a"));
	assert_refused("hbase:a", "hbase://HOST");
	assert_refused("hbase:/a", "hbase://HOST");
}

TEST(settings_stand_behind_the_hosts)
{
	struct hbase_name n = name_of(
		"hbase://a?security=kerberos&qop=privacy&principal=h/_HOST@R");

	assert_string_equal(n.masters, "a");
	assert_true(n.security.kerberos);
	assert_int_equal(n.security.protection, PROTECTION_PRIVACY);
	assert_string_equal(n.security.principal, "h/_HOST@R");
	assert_false(n.security.tls);
	n = name_of("hbase://a/?tls=on&ca=/c%20a%26&cert=/b&key=/k");
	assert_false(n.security.kerberos);
	assert_true(n.security.tls);
	assert_string_equal(n.security.ca, "/c a&");
	assert_string_equal(n.security.cert, "/b");
	assert_string_equal(n.security.key, "/k");
	n = name_of("hbase://a/?security=simple&tls=off");
	assert_false(n.security.kerberos || n.security.tls);
}

TEST(a_call_has_its_seconds)
{
	assert_int_equal(name_of("hbase://a").timeout_ms, 0);
	assert_int_equal(name_of("hbase://a/?timeout=1").timeout_ms, 1000);
	assert_int_equal(name_of("hbase://a/?timeout=86400").timeout_ms,
			 86400000);
	assert_refused("hbase://a/?timeout=0", "1 to 86400 seconds");
	assert_refused("hbase://a/?timeout=86401", "1 to 86400 seconds");
	assert_refused("hbase://a/?timeout=4294967297", "1 to 86400 seconds");
	assert_refused("hbase://a/?timeout=1m", "1 to 86400 seconds");
	assert_refused("hbase://a/?timeout=-1", "1 to 86400 seconds");
}

TEST(what_is_no_setting_is_refused_by_name)
{
	char longest[64 + SECURITY_TEXT_MAX + 1];

	assert_refused("hbase://a/?qos=privacy", "\"qos\" is no setting");
	assert_refused("hbase://a/?qos=privacy", "principal");
	assert_refused("hbase://a/?=x", "\"\" is no setting");
	assert_refused("hbase://a/?security", "security=...");
	assert_refused("hbase://a/?security=", "no value");
	assert_refused("hbase://a/?security=krb", "simple, kerberos");
	assert_refused("hbase://a/?tls=on&tls=on", "twice");
	assert_refused("hbase://a/?tls=on&ca=%2", "hexadecimal");
	assert_refused("hbase://a/?tls=on&ca=%zz", "hexadecimal");
	assert_refused("hbase://a/?tls=on&ca=%00", "not 00");
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "hbase://a/?tls=on&ca=", 21);
	longest[sizeof(longest) - 1] = '\0';
	assert_refused(longest, "ca= has more than");
}

/* Who reads such a name would think that it protects. */
TEST(what_would_say_nothing_is_refused)
{
	assert_refused("hbase://a/?qop=privacy", "security=kerberos");
	assert_refused("hbase://a/?security=simple&principal=p",
		       "security=kerberos");
	assert_refused("hbase://a/?ca=/c", "tls=on");
	assert_refused("hbase://a/?tls=off&cert=/c&key=/k", "tls=on");
	assert_refused("hbase://a/?tls=on&cert=/c", "each other");
	assert_refused("hbase://a/?tls=on&key=/c", "each other");
}
