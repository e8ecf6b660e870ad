#include "fs/report/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "cellfs-version.h"
#include "store/store.h"

static int parse_bytes(const char *name, const char *text, uint64_t *out)
{
	static const char units[] = "kmgt";
	const char *unit;
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || !isdigit((unsigned char)text[0]))
		goto bad;
	if (*end) {
		unit = strchr(units, tolower((unsigned char)*end));
		if (!unit)
			goto bad;
		for (const char *u = units; u <= unit; u++)
			if (__builtin_mul_overflow(n, 1024ull, &n))
				goto bad;
		end++;
		if (*end == 'i')
			end++;
		if (*end == 'B' || *end == 'b')
			end++;
	}
	if (*end || n == 0)
		goto bad;
	*out = n;
	return 0;
bad:
	return why(-EINVAL,
		   "%s=%s: a number of bytes is wanted, such as 4096, 64M or "
		   "1G",
		   name, text);
}

static int parse_number(const char *name, const char *text, int base,
			unsigned long max, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, base);
	if (errno || !isdigit((unsigned char)text[0]) || *end || *out > max)
		return why(-EINVAL, "%s=%s: a number%s is wanted", name, text,
			   base == 8 ? " in octal, such as 022," : "");
	return 0;
}

/* A day is long enough for anything. */
#define SECONDS_MAX 86400

static int parse_seconds(const char *name, const char *text, double *out)
{
	char *end;
	double s = strtod(text, &end);

	if (text[strspn(text, "0123456789.")] || !*text || *end ||
	    !(s <= SECONDS_MAX))
		return why(-EINVAL,
			   "%s=%s: seconds are wanted, 0 to %d, such as 1 or "
			   "0.5",
			   name, text, SECONDS_MAX);
	*out = s;
	return 0;
}

enum option_type {
	FLAG,
	BYTES,
	ID,
	MASK,
	TEXT,
	RULE,
	SANDBOX,
	SECONDS
};

struct option {
	const char *name;
	uint8_t type;
	size_t at;     /* offset of the value in struct options */
	size_t has_at; /* ID, MASK: offset of the flag that it was given */
	const char *help;
};

#define AT(member) offsetof(struct options, member)

static const char *const scratch_rules[] = {
	[SCRATCH_TEMP] = "temp", [SCRATCH_ANY] = "any", NULL};
static const char *const sandbox_rules[] = {[SANDBOX_AUTO] = "auto",
					    [SANDBOX_NO] = "no",
					    [SANDBOX_REQUIRED] = "required",
					    NULL};

/* By type: names by value, NULL behind the last. */
static const char *const *const rules[] = {
	[RULE] = scratch_rules, [SANDBOX] = sandbox_rules};

static const struct option table[] = {
	{"ro", FLAG, AT(read_only), 0, "change nothing"},
	{"sync", FLAG, AT(sync), 0,
	 "a change is on disk when its call returns"},
	{"nodelete", FLAG, AT(nodelete), 0,
	 "refuse deletes (EPERM); puts at an existing timestamp overwrite it"},
	{"root", TEXT, AT(root), 0,
	 "mount a part: a table, or a view of it (T/.prefix/a)"},
	{"show_control", FLAG, AT(show_control), 0,
	 "list views, .cellfs and all other unlisted names"},
	{"strict_attr", FLAG, AT(strict_attr), 0,
	 "refuse chmod, chown and touch below tables"},
	{"allow_other", FLAG, AT(allow_other), 0,
	 "let other users access it, as far as modes allow"},
	{"insecure_store", FLAG, AT(insecure_store), 0,
	 "take a store that others own or may write"},
	{"scratch", RULE, AT(scratch), 0,
	 "names of files that are not data: temp (as tools use) or any"},
	{"io_uring", FLAG, AT(io_uring), 0,
	 "requests come over io_uring (libfuse 3.18, Linux 6.14)"},
	{"sandbox", SANDBOX, AT(sandbox), 0,
	 "what the daemon gives up: auto (what it can), no (nothing), "
	 "required"},
	{"scratch_max", BYTES, AT(scratch_max), 0,
	 "memory for files that are not data (256M)"},
	{"memory", BYTES, AT(memory), 0,
	 "memory for all open files; beyond that opens are refused (512M)"},
	{"cache", BYTES, AT(cache_bytes), 0, "bytes of the block cache (256M)"},
	{"write_buffer", BYTES, AT(write_buffer_bytes), 0,
	 "memory for changes that are in no table file yet (64M)"},
	{"background_io", BYTES, AT(background_io), 0,
	 "bytes a second that compaction may write (no limit)"},
	{"attr_timeout", SECONDS, AT(attr_timeout_s), 0,
	 "seconds for which what others may change is believed (1)"},
	{"timeout", SECONDS, AT(timeout_s), 0,
	 "seconds for which a call tries to reach a cluster (60)"},
	{"run_as", TEXT, AT(run_as), 0,
	 "user to become when it is mounted, for root"},
	{"log", TEXT, AT(log), 0, "file for messages, instead of syslog"},
	{"metrics", TEXT, AT(metrics), 0,
	 "serve metrics over HTTP: PORT, ADDR:PORT or unix:PATH"},
	{"uid", ID, AT(uid), AT(has_uid), "owner of everything"},
	{"gid", ID, AT(gid), AT(has_gid), "group of everything"},
	{"umask", MASK, AT(umask), AT(has_umask),
	 "permission bits to remove, octal"},
};

#define TABLE_LEN (sizeof(table) / sizeof(*table))

/*
 * Options that mount(8), fstab and systemd add, or that hold anyway. A name
 * that ends in '*' is a prefix.
 */
static const char *const ignored[] = {
	"dev",	       "nodev",	     "suid",	    "default_permissions",
	"nosuid",      "async",	     "atime",	    "noatime",
	"relatime",    "norelatime", "strictatime", "nostrictatime",
	"diratime",    "nodiratime", "lazytime",    "nolazytime",
	"auto",	       "noauto",     "user",	    "nouser",
	"users",       "owner",	     "group",	    "defaults",
	"nofail",      "_netdev",    "silent",	    "loud",
	"iversion",    "noiversion", "mand",	    "nomand",
	"nosymfollow", "x-*",	     "X-*",	    "comment=*",
	"uhelper=*",   "helper=*",
};

/* Those of mount(8) that mean something here, by other names. */
static const struct {
	const char *name;
	size_t at;
	bool value;
} general[] = {
	{"rw", AT(read_only), false},
	{"exec", AT(noexec), false},
	{"noexec", AT(noexec), true},
	{"dirsync", AT(sync), true},
};

static const struct option *find(const char *name, size_t len)
{
	for (size_t i = 0; i < TABLE_LEN; i++)
		if (strlen(table[i].name) == len &&
		    !memcmp(table[i].name, name, len))
			return &table[i];
	return NULL;
}

static bool is_ignored(const char *text)
{
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++) {
		size_t len = strlen(ignored[i]);

		if (ignored[i][len - 1] == '*'
			    ? !strncmp(text, ignored[i], len - 1)
			    : !strcmp(text, ignored[i]))
			return true;
	}
	return false;
}

static bool set_general(struct options *o, const char *word)
{
	for (size_t i = 0; i < sizeof(general) / sizeof(*general); i++)
		if (!strcmp(word, general[i].name)) {
			*(bool *)((char *)o + general[i].at) = general[i].value;
			return true;
		}
	return false;
}

static int unknown(const char *text)
{
	char known[512] = "";
	size_t at = 0;

	for (size_t i = 0; i < TABLE_LEN; i++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s%s",
				       i ? ", " : "", table[i].name,
				       table[i].type == FLAG ? "" : "=");
	return why(-EINVAL, "unknown option \"%s\"; known are: %s", text,
		   known);
}

static int set_text(const char *value, char **to)
{
	free(*to);
	*to = strdup(value);
	return *to ? 0 : why(-ENOMEM, "out of memory");
}

static int set_rule(const struct option *opt, const char *value, uint8_t *to)
{
	struct buf known = {0};
	int r = 0;

	for (unsigned i = 0; rules[opt->type][i]; i++) {
		if (!strcmp(rules[opt->type][i], value)) {
			buf_free(&known);
			*to = (uint8_t)i;
			return 0;
		}
		if (r == 0)
			r = buf_printf(&known, "%s%s", i ? " or " : "",
				       rules[opt->type][i]);
	}
	if (r == 0)
		r = why(-EINVAL, "%s=%s: %.*s is wanted", opt->name, value,
			(int)known.len, (const char *)known.data);
	buf_free(&known);
	return r;
}

static int set_value(struct options *o, const struct option *opt,
		     const char *value)
{
	char *base = (char *)o;
	unsigned long n;
	int r;

	if (opt->type == FLAG ? !!value : !value || !*value)
		return why(-EINVAL, "option \"%s\" %s value", opt->name,
			   opt->type == FLAG ? "takes no" : "needs a");
	if (opt->type == FLAG) {
		*(bool *)(base + opt->at) = true;
		return 0;
	}
	assert(value);
	switch (opt->type) {
	case TEXT:
		return set_text(value, (char **)(base + opt->at));
	case RULE:
	case SANDBOX:
		return set_rule(opt, value, (uint8_t *)(base + opt->at));
	case BYTES:
		return parse_bytes(opt->name, value,
				   (uint64_t *)(base + opt->at));
	case SECONDS:
		return parse_seconds(opt->name, value,
				     (double *)(base + opt->at));
	case ID:
		r = parse_number(opt->name, value, 10, UINT32_MAX - 1, &n);
		if (r == 0)
			*(uid_t *)(base + opt->at) = (uid_t)n;
		break;
	default:
		r = parse_number(opt->name, value, 8, 0777, &n);
		if (r == 0)
			*(mode_t *)(base + opt->at) = (mode_t)n;
		break;
	}
	if (r == 0)
		*(bool *)(base + opt->has_at) = true;
	return r;
}

/* Sets one of the comma-separated words of -o. */
static int set_word(struct options *o, char *word)
{
	char *value = strchr(word, '=');
	const struct option *opt;

	if (!*word || is_ignored(word) || set_general(o, word))
		return 0;
	opt = find(word, value ? (size_t)(value - word) : strlen(word));
	if (!opt)
		return unknown(word);
	return set_value(o, opt, value ? value + 1 : NULL);
}

static int set_words(struct options *o, const char *words)
{
	char *copy = strdup(words), *rest = copy, *word;
	int r = 0;

	if (!copy)
		return why(-ENOMEM, "out of memory");
	while (r == 0 && (word = strsep(&rest, ",")))
		r = set_word(o, word);
	free(copy);
	return r;
}

static int set_path(struct options *o, const char *arg)
{
	char **to = !o->store ? &o->store : &o->mountpoint;

	if (o->store && o->mountpoint)
		return why(-EINVAL,
			   "\"%s\" is one argument too many: STORE and "
			   "MOUNTPOINT are wanted",
			   arg);
	if (!*arg)
		return why(-EINVAL, "%s is empty: name a directory",
			   o->store ? "MOUNTPOINT" : "STORE");
	return set_text(arg, to);
}

static int set_long(struct options *o, const char *arg)
{
	if (!strcmp(arg, "--help"))
		o->help = true;
	else if (!strcmp(arg, "--version"))
		o->version = true;
	else
		return why(-EINVAL, "unknown option \"%s\" (see --help)", arg);
	return 0;
}

/* Is it as a helper of mount(8), mount.cellfs, that the program is called? */
static bool is_helper(const char *program)
{
	const char *slash = strrchr(program, '/');

	return !strncmp(slash ? slash + 1 : program, "mount.", 6);
}

/* The value of the letter at @arg: the rest of the word, or the next word. */
static int take_value(const char *arg, int argc, char **argv, int *i,
		      const char **value)
{
	if (arg[1])
		*value = arg + 1;
	else if (*i + 1 < argc)
		*value = argv[++*i];
	else
		return why(-EINVAL, "-%c needs an argument", *arg);
	return 0;
}

/* Sets the letters of "-xyz". */
static int set_short(struct options *o, int argc, char **argv, int *i)
{
	const char *arg = argv[*i] + 1, *value = NULL;
	bool helper = is_helper(argv[0]);
	int r;

	for (; *arg; arg++) {
		switch (helper && (*arg == 't' || *arg == 'N') ? 'o' : *arg) {
		case 'f':
			*(helper ? &o->fake : &o->foreground) = true;
			break;
		case 'd':
			o->debug = o->foreground = true;
			break;
		case 'h':
			o->help = true;
			break;
		case 'V':
			o->version = true;
			break;
		case 'r':
			o->read_only = true;
			break;
		case 'w':
			o->read_only = false;
			break;
		case 'n': /* mount(8): no mtab; sloppy; verbose */
		case 's':
		case 'v':
			break;
		case 'o':
			r = take_value(arg, argc, argv, i, &value);
			return r == 0 && *arg == 'o' ? set_words(o, value) : r;
		default:
			return why(-EINVAL,
				   "unknown option \"-%c\" (see "
				   "--help)",
				   *arg);
		}
	}
	return 0;
}

int options_parse(int argc, char **argv, struct options *out)
{
	bool paths_only = false;
	int r = 0;

	*out = (struct options){
		.scratch_max = 256u << 20,
		.memory = 512u << 20,
		.attr_timeout_s = 1,
		.timeout_s = 60,
		.cache_bytes = STORE_CACHE_BYTES,
		.write_buffer_bytes = STORE_WRITE_BUFFER_BYTES,
	};
	for (int i = 1; r == 0 && i < argc; i++) {
		if (paths_only || argv[i][0] != '-' || !argv[i][1])
			r = set_path(out, argv[i]);
		else if (!strcmp(argv[i], "--"))
			paths_only = true;
		else if (argv[i][1] == '-')
			r = set_long(out, argv[i]);
		else
			r = set_short(out, argc, argv, &i);
	}
	if (r == 0 && !out->help && !out->version && !out->mountpoint)
		r = why(-EINVAL, "STORE and MOUNTPOINT are wanted (see "
				 "--help)");
	return r;
}

void options_free(struct options *o)
{
	free(o->store);
	free(o->mountpoint);
	free(o->root);
	free(o->log);
	free(o->metrics);
	free(o->run_as);
	o->store = o->mountpoint = o->root = o->log = o->run_as = NULL;
	o->metrics = NULL;
}

void options_help(FILE *to, const char *program)
{
	fprintf(to,
		"usage: %s STORE MOUNTPOINT [-o OPTION[,OPTION...]] [-f] "
		"[-d]\n\n"
		"Mounts the wide-column store in directory STORE, which is "
		"made if it is not\nthere, on MOUNTPOINT. "
		"Unmount with: fusermount3 -u MOUNTPOINT\n\n"
		"STORE may be a cluster of HBase, hbase://HOST[:PORT],..., "
		"with settings behind\nit: '/?security=kerberos&tls=on'; "
		"CLUSTERS of cellfs(8) has all.\n\n"
		"  -f             stay in the foreground, say errors on "
		"stderr\n"
		"  -d             the same, with a trace of every request\n"
		"  --help         this text\n"
		"  --version      the version\n\n"
		"options:\n",
		program);
	for (size_t i = 0; i < TABLE_LEN; i++) {
		char name[40];

		snprintf(name, sizeof(name), "%s%s", table[i].name,
			 table[i].type == FLAG ? "" : "=");
		fprintf(to, "  -o %-13s %s\n", name, table[i].help);
	}
	fprintf(to, "\nIn the mount, .cellfs/help says what lives where.\n");
}

/* Appends a text, which may be longer than buf_printf() allows. */
static int format_text(const char *text, struct buf *out)
{
	return buf_append(out, text, strlen(text));
}

/* Appends the value in force; an owner or mode not given is each table's. */
static int format_value(const struct option *opt, const struct options *o,
			struct buf *out)
{
	const void *at = (const char *)o + opt->at;

	if ((opt->type == ID || opt->type == MASK) &&
	    !*((const bool *)o + opt->has_at))
		return format_text("of-each-table", out);
	switch (opt->type) {
	case FLAG:
		return format_text(*(const bool *)at ? "yes" : "no", out);
	case TEXT:
		return format_text(*(char *const *)at	    ? *(char *const *)at
				   : opt->at == AT(root)    ? "/"
				   : opt->at == AT(run_as)  ? "who-mounts"
				   : opt->at == AT(metrics) ? "no"
							    : "syslog",
				   out);
	case RULE:
	case SANDBOX:
		return format_text(rules[opt->type][*(const uint8_t *)at], out);
	case BYTES:
		if (!*(const uint64_t *)at)
			return format_text("no-limit", out);
		return buf_printf(out, "%llu",
				  (unsigned long long)*(const uint64_t *)at);
	case SECONDS:
		return buf_printf(out, "%g", *(const double *)at);
	case ID:
		return buf_printf(out, "%u", *(const uid_t *)at);
	default:
		return buf_printf(out, "%03o", *(const mode_t *)at);
	}
}

int options_format(const struct options *o, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < TABLE_LEN; i++) {
		r = buf_printf(out, "%s ", table[i].name);
		if (r == 0)
			r = format_value(&table[i], o, out);
		if (r == 0)
			r = buf_append(out, "\n", 1);
	}
	return r;
}
