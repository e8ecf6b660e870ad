#include "tests/unit/unit.h"
#include "fs/report/options.h"
#include "store/value/why.h"

/* Words of the command line of @program, cut at blanks. */
static int parse_as(const char *program, const char *words, struct options *o)
{
	char name[40], copy[300], *rest = copy, *word;
	char *argv[20] = {name};
	int argc = 1;

	strcpy(name, program);
	strcpy(copy, words);
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	return options_parse(argc, argv, o);
}

static int parse(const char *words, struct options *o)
{
	return parse_as("cellfs", words, o);
}

static void assert_refused(const char *words, const char *said)
{
	struct options o;

	assert_int_equal(parse(words, &o), -EINVAL);
	assert_non_null(strstr(store_why(), said));
	options_free(&o);
}

TEST(paths_and_options_come_in_any_order)
{
	struct options o;

	assert_int_equal(
		parse("-f -o ro,sync s -osync,uid=7 m -o umask=027", &o), 0);
	assert_string_equal(o.store, "s");
	assert_string_equal(o.mountpoint, "m");
	assert_true(o.foreground && o.read_only && o.sync);
	assert_false(o.nodelete || o.allow_other || o.debug || o.has_gid);
	assert_false(o.io_uring);
	assert_true(o.has_uid && o.uid == 7 && o.has_umask && o.umask == 027);
	options_free(&o);
	assert_int_equal(parse("s m -o umask=0777,uid=4294967294", &o), 0);
	assert_true(o.uid == 4294967294 && o.umask == 0777);
	options_free(&o);
	assert_int_equal(parse("-- -s -m", &o), 0);
	assert_string_equal(o.store, "-s");
	options_free(&o);
}

TEST(sizes_have_units)
{
	struct options o;

	assert_int_equal(parse("s m -o cache=1G,write_buffer=64k,"
			       "scratch_max=4096",
			       &o),
			 0);
	assert_int_equal(o.cache_bytes, 1u << 30);
	assert_int_equal(o.write_buffer_bytes, 65536);
	assert_int_equal(o.scratch_max, 4096);
	options_free(&o);
	assert_refused("s m -o cache=", "cache");
	assert_refused("s m -o cache=0", "cache");
	assert_refused("s m -o cache=-1", "cache");
	assert_refused("s m -o cache=\t-1", "cache");
	assert_refused("s m -o cache=5x", "cache");
	assert_refused("s m -o cache=5kk", "cache");
	assert_refused("s m -o cache=99999999999G", "cache");
}

TEST(a_part_is_named_by_its_path)
{
	struct options o;
	struct buf text = {0};

	assert_int_equal(parse("s m -o root=T,root=T/.range/a..b,ro", &o), 0);
	assert_string_equal(o.root, "T/.range/a..b");
	assert_true(o.read_only);
	assert_int_equal(options_format(&o, &text), 0);
	assert_int_equal(buf_append(&text, "", 1), 0);
	assert_non_null(
		strstr((const char *)text.data, "\nroot T/.range/a..b\n"));
	buf_free(&text);
	options_free(&o);
	assert_refused("s m -o root", "needs a value");
	assert_refused("s m -o root=", "needs a value");
}

TEST(what_is_wrong_is_named)
{
	assert_refused("s m -o sync,frob", "frob");
	assert_refused("s m -o sync=yes", "\"sync\" takes no value");
	assert_refused("s m -o attr_timeout=-1", "attr_timeout=-1");
	assert_refused("s m -o attr_timeout=inf", "attr_timeout=inf");
	assert_refused("s m -o timeout=1s", "timeout=1s");
	assert_refused("s m -o timeout=86401", "timeout=86401");
	assert_refused("s m -o frob=1", "scratch_max");
	assert_refused("s m -o syn", "syn");
	assert_refused("s m -o sync=1", "sync");
	assert_refused("s m -o uid", "uid");
	assert_refused("s m -o uid=x", "uid");
	assert_refused("s m -o uid=", "uid");
	assert_refused("s m -o uid=7x", "uid");
	assert_refused("s m -o uid=-7", "uid");
	assert_refused("s m -o uid=\t-18446744073709551615", "uid");
	assert_refused("s m -o attr_timeout=0x1", "attr_timeout=0x1");
	assert_refused("s m -o uid=4294967295", "uid");
	assert_refused("s m -o uid=99999999999999999999", "uid");
	assert_refused("s m -o umask=9", "octal");
	assert_refused("s m -o umask=1000", "umask");
	assert_refused("s m x", "x");
	assert_refused("s m -o", "-o");
	assert_refused("s m -z", "-z");
	assert_refused("s m --frob", "--frob");
	assert_refused("s", "MOUNTPOINT");
}

TEST(what_fstab_adds_is_passed_over)
{
	struct options o;

	assert_int_equal(parse("s m -o rw,dev,suid,noauto,user,_netdev,"
			       "x-systemd.automount,exec,nofail,,defaults "
			       "-n -s -v",
			       &o),
			 0);
	assert_false(o.read_only);
	options_free(&o);
	/* All others that mount(8) has for any filesystem. */
	assert_int_equal(parse("s m -o async,atime,noatime,auto,nodev,diratime,"
			       "nodiratime,group,iversion,noiversion,mand,"
			       "nomand,relatime,norelatime,strictatime,"
			       "nostrictatime,lazytime,nolazytime,nosuid,"
			       "silent,loud,owner,nouser,users,nosymfollow,"
			       "comment=x,X-mount.mkdir",
			       &o),
			 0);
	assert_false(o.sync || o.noexec);
	options_free(&o);
	assert_int_equal(parse("s m -o dirsync,noexec", &o), 0);
	assert_true(o.sync && o.noexec);
	options_free(&o);
	assert_int_equal(parse("s m -o noexec,exec", &o), 0);
	assert_false(o.noexec);
	options_free(&o);
	/* As with mount(8), the last one holds. */
	assert_int_equal(parse("s m -o ro,rw", &o), 0);
	assert_false(o.read_only);
	options_free(&o);
	assert_int_equal(parse("s m -o ro -w", &o), 0);
	assert_false(o.read_only);
	options_free(&o);
	assert_int_equal(parse("s m -w -o rw,ro", &o), 0);
	assert_true(o.read_only);
	options_free(&o);
	assert_refused("s m -o remount", "\"remount\"");
}

TEST(what_is_in_force_is_written_a_line_each)
{
	struct buf text = {0};
	struct options o;

	assert_int_equal(parse("s m -o sync,gid=5,cache=1M,"
			       "attr_timeout=0.5",
			       &o),
			 0);
	assert_int_equal(options_format(&o, &text), 0);
	assert_int_equal(buf_append(&text, "", 1), 0);
	assert_non_null(strstr((char *)text.data, "sync yes\n"));
	assert_non_null(strstr((char *)text.data, "ro no\n"));
	assert_non_null(strstr((char *)text.data, "gid 5\n"));
	assert_non_null(strstr((char *)text.data, "uid of-each-table\n"));
	assert_non_null(strstr((char *)text.data, "cache 1048576\n"));
	assert_non_null(strstr((char *)text.data, "attr_timeout 0.5\n"));
	assert_non_null(strstr((char *)text.data, "\ntimeout 60\n"));
	buf_free(&text);
	options_free(&o);
}

TEST(mount_calls_it_by_a_helpers_name)
{
	struct options o;

	assert_int_equal(parse_as("/sbin/mount.cellfs",
				  "s m -sfnv -N 3 -o rw,sync -t cellfs", &o),
			 0);
	assert_string_equal(o.store, "s");
	assert_string_equal(o.mountpoint, "m");
	assert_true(o.fake && o.sync);
	assert_false(o.foreground || o.read_only);
	options_free(&o);
	assert_int_equal(parse_as("mount.cellfs", "s m -t", &o), -EINVAL);
	assert_non_null(strstr(store_why(), "-t needs an argument"));
	options_free(&o);
	assert_int_equal(parse_as("mount.cellfs", "s m -r", &o), 0);
	assert_true(o.read_only);
	options_free(&o);
	/* By its own name, the letters are its own. */
	assert_int_equal(parse_as("./mount/cellfs", "s m -f", &o), 0);
	assert_true(o.foreground && !o.fake && !o.debug);
	options_free(&o);
	assert_int_equal(parse_as("cellfs", "s m -d", &o), 0);
	assert_true(o.foreground && o.debug);
	options_free(&o);
	assert_refused("s m -t cellfs", "unknown option");
}
