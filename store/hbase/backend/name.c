#include "store/hbase/backend/name.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "store/hbase/backend/hbase.h"
#include "store/value/bytes.h"
#include "store/value/why.h"

#define SCHEME "hbase://"

struct choice {
	const char *word;
	uint8_t value;
};

static const struct choice securities[] = {
	{"simple", false}, {"kerberos", true}, {NULL, 0}};
static const struct choice protections[] = {
	{"authentication", PROTECTION_AUTHENTICATION},
	{"integrity", PROTECTION_INTEGRITY},
	{"privacy", PROTECTION_PRIVACY},
	{NULL, 0}};
static const struct choice switches[] = {
	{"off", false}, {"on", true}, {NULL, 0}};

#define AT(member) offsetof(struct hbase_name, security.member)
_Static_assert(sizeof(bool) == 1, "a choice is stored as a byte");
/* A day: who would wait longer. */
#define TIMEOUT_SECONDS_MAX 86400

/*
 * A byte of @choices, milliseconds of 1 to @seconds_max seconds, or a text of
 * SECURITY_TEXT_MAX.
 */
static const struct setting {
	const char *name;
	size_t at;
	const struct choice *choices;
	uint32_t seconds_max;
} settings[] = {
	{"security", AT(kerberos), securities, 0},
	{"qop", AT(protection), protections, 0},
	{"principal", AT(principal), NULL, 0},
	{"tls", AT(tls), switches, 0},
	{"ca", AT(ca), NULL, 0},
	{"cert", AT(cert), NULL, 0},
	{"key", AT(key), NULL, 0},
	{"timeout", offsetof(struct hbase_name, timeout_ms), NULL,
	 TIMEOUT_SECONDS_MAX},
};

#define SETTINGS (sizeof(settings) / sizeof(*settings))

/* Copies a value, with %HH as bytes. */
static int take_value(const struct setting *s, struct bytes value, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < value.len; i++) {
		char c = (char)value.data[i];

		if (c == '%') {
			int high = -1, low = -1;

			if (i + 2 < value.len) {
				high = hex_digit(value.data[i + 1]);
				low = hex_digit(value.data[i + 2]);
			}
			if (high < 0 || low < 0 || !(high | low))
				return why(-EINVAL,
					   "%s=%.*s: behind a %% two "
					   "hexadecimal digits are due, not 00",
					   s->name, (int)value.len,
					   (const char *)value.data);
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (n + 1 == SECURITY_TEXT_MAX)
			return why(-EINVAL, "%s= has more than %d bytes",
				   s->name, SECURITY_TEXT_MAX - 1);
		out[n++] = c;
	}
	if (!n)
		return why(-EINVAL, "%s= has no value", s->name);
	out[n] = '\0';
	return 0;
}

static int choose(const struct setting *s, const char *word, uint8_t *out)
{
	char all[64] = "";
	size_t len = 0;

	for (const struct choice *c = s->choices; c->word; c++) {
		if (!strcmp(c->word, word)) {
			*out = c->value;
			return 0;
		}
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
					len ? ", " : "", c->word);
	}
	return why(-EINVAL, "%s=%s: it is one of %s", s->name, word, all);
}

static int take_seconds(const struct setting *s, const char *word, uint8_t *out)
{
	uint64_t n = 0;
	uint32_t ms;

	for (const char *p = word; *p >= '0' && *p <= '9' && n < UINT32_MAX;
	     p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (!n || n > s->seconds_max || word[strspn(word, "0123456789")])
		return why(-EINVAL, "%s=%s: it is 1 to %u seconds", s->name,
			   word, s->seconds_max);
	ms = (uint32_t)n * 1000;
	memcpy(out, &ms, sizeof(ms));
	return 0;
}

static const struct setting *find(struct bytes name)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (bytes_eq(name, bytes_str(settings[i].name)))
			return &settings[i];
	return NULL;
}

static int unknown(struct bytes name)
{
	char all[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < SETTINGS; i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
					len ? ", " : "", settings[i].name);
	return why(-EINVAL, "\"%.*s\" is no setting of a cluster: there are %s",
		   (int)name.len, (const char *)name.data, all);
}

/* One NAME=VALUE. *seen has a bit for each setting. */
static int take_setting(struct bytes text, unsigned *seen,
			struct hbase_name *out)
{
	const uint8_t *eq = memchr(text.data, '=', text.len);
	size_t n = eq ? (size_t)(eq - text.data) : text.len;
	const struct setting *s = find(bytes_of(text.data, n));
	char value[SECURITY_TEXT_MAX];
	uint8_t *at = (uint8_t *)out;
	int r;

	if (!s)
		return unknown(bytes_of(text.data, n));
	if (!eq)
		return why(-EINVAL, "%s has no value: %s=...", s->name,
			   s->name);
	if (*seen & 1u << (s - settings))
		return why(-EINVAL, "%s= is there twice", s->name);
	*seen |= 1u << (s - settings);
	r = take_value(s, bytes_of(eq + 1, text.len - n - 1), value);
	if (r < 0)
		return r;
	if (s->choices)
		return choose(s, value, at + s->at);
	if (s->seconds_max)
		return take_seconds(s, value, at + s->at);
	memcpy(at + s->at, value, strlen(value) + 1);
	return 0;
}

/* What says nothing alone would look like protection, and be none. */
static int check(const struct security *s)
{
	if (!s->kerberos && (s->protection || s->principal[0]))
		return why(-EINVAL,
			   "qop= and principal= are Kerberos': they want "
			   "security=kerberos");
	if (!s->tls && (s->ca[0] || s->cert[0] || s->key[0]))
		return why(-EINVAL, "ca=, cert= and key= want tls=on");
	if (!s->cert[0] != !s->key[0])
		return why(-EINVAL, "cert= and key= want each other");
	return 0;
}

bool hbase_is_named(const char *path)
{
	return strncmp(path, "hbase:", 6) == 0;
}

static int take_settings(const char *text, struct hbase_name *out)
{
	unsigned seen = 0;
	int r = 0;

	while (r == 0 && *text) {
		size_t n = strcspn(text, "&");

		r = take_setting(bytes_of(text, n), &seen, out);
		text += text[n] ? n + 1 : n;
	}
	return r < 0 ? r : check(&out->security);
}

int hbase_name_parse(const char *path, struct hbase_name *out)
{
	const char *hosts, *rest;
	size_t n;

	*out = (struct hbase_name){0};
	if (strncmp(path, SCHEME, strlen(SCHEME)) != 0)
		return why(-EINVAL,
			   "a cluster is named " SCHEME
			   "HOST[:PORT], and a directory of this name ./%s",
			   path);
	hosts = path + strlen(SCHEME);
	n = strcspn(hosts, "/?");
	rest = hosts + n + (hosts[n] == '/');
	if (*rest && *rest != '?')
		return why(-EINVAL,
			   "behind the hosts of %s, which are masters and not "
			   "ZooKeeper's, there may be one / and "
			   "?SETTING=VALUE, and nothing else",
			   path);
	if (n >= sizeof(out->masters))
		return why(-ENAMETOOLONG, "too many masters are named");
	memcpy(out->masters, hosts, n);
	return *rest ? take_settings(rest + 1, out) : 0;
}
