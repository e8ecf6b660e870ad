#include "fs/host/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fs/host/syscalls.h"
#include "store/value/why.h"

/* Older headers lack the newer ones. */
#define ACCESS_TRUNCATE (1ull << 14)
#define ACCESS_IOCTL_DEV (1ull << 15)

#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define MAKES                                                            \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |  \
	 LANDLOCK_ACCESS_FS_MAKE_REG | ACCESS_TRUNCATE)
/* All that the first version has. */
#define FIRST ((1ull << 13) - 1)

int sandbox_become(const char *user, bool open_to_it)
{
	struct passwd *p;

	errno = 0;
	p = getpwnam(user);
	if (!p)
		return why(-EINVAL, "run_as=%s: there is no such user", user);
	if (geteuid())
		return why(-EPERM,
			   "run_as=%s: only root can run as another "
			   "user",
			   user);
	if (initgroups(user, p->pw_gid) ||
	    setresgid(p->pw_gid, p->pw_gid, p->pw_gid) ||
	    setresuid(p->pw_uid, p->pw_uid, p->pw_uid))
		return why(-errno, "run_as=%s: %m", user);
	/* The kernel hides from a user what was another's before. */
	if (open_to_it && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
		return why(-errno, "run_as=%s: %m", user);
	return 0;
}

/* Keeps what a store needs that belongs to another user than root. */
static bool drop_capabilities(const char *store)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	struct stat st;

	if (store && geteuid() == 0 && stat(store, &st) == 0 && st.st_uid)
		data[0].effective = data[0].permitted = 1u << CAP_CHOWN |
							1u << CAP_DAC_OVERRIDE |
							1u << CAP_FOWNER;
	return syscall(SYS_capset, &head, data) == 0;
}

static void allow(int rules, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = access,
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};
	struct stat st;

	if (beneath.parent_fd < 0)
		return;
	/* Of a file what concerns directories is no right. */
	if (fstat(beneath.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		beneath.allowed_access &= LANDLOCK_ACCESS_FS_READ_FILE |
					  LANDLOCK_ACCESS_FS_WRITE_FILE |
					  ACCESS_TRUNCATE | ACCESS_IOCTL_DEV;
	(void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		      &beneath, 0);
	close(beneath.parent_fd);
}

/* The version of the interface, 0 when the kernel lacks it. */
static int enter_landlock(const char *store)
{
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = {.handled_access_fs = FIRST};
	uint64_t all, device = LANDLOCK_ACCESS_FS_READ_FILE |
			       LANDLOCK_ACCESS_FS_WRITE_FILE;
	int rules, r;

	if (abi < 1)
		return 0;
	if (abi >= 2)
		attr.handled_access_fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		attr.handled_access_fs |= ACCESS_TRUNCATE;
	if (abi >= 5)
		attr.handled_access_fs |= ACCESS_IOCTL_DEV;
	all = attr.handled_access_fs;
	rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr),
			     0);
	if (rules < 0)
		return 0;
	if (store)
		allow(rules, store, (READS | MAKES) & all);
	else
		/* Keys, tickets and certificates lie where their user has them. */
		allow(rules, "/", READS | LANDLOCK_ACCESS_FS_EXECUTE);
	allow(rules, "/dev/fuse", (device | ACCESS_IOCTL_DEV) & all);
	allow(rules, "/dev/null", device);
	allow(rules, "/proc", READS);
	/* How many processors there are. */
	allow(rules, "/sys/devices/system", READS);
	allow(rules, "/sys/kernel/mm", READS);
	r = (int)syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
	return r ? 0 : abi;
}

static bool no_core(void)
{
	const struct rlimit none = {0, 0};

	return prctl(PR_SET_DUMPABLE, 0) == 0 && !setrlimit(RLIMIT_CORE, &none);
}

int sandbox_enter(struct sandbox *s, bool required)
{
	if (SANDBOX_IS_PARTIAL && required)
		return why(-EOPNOTSUPP, "sandbox=required: this build has a "
					"sanitizer, which is at odds with it");
	/* What is loaded later by itself: the log's local time, and what ends a
	 * thread. */
	tzset();
	(void)dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL);
	s->no_new_privs = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
	s->no_capabilities = drop_capabilities(s->store);
	if (!SANDBOX_IS_PARTIAL) {
		s->undumpable = no_core();
		s->landlock = enter_landlock(s->store);
		s->seccomp =
			syscalls_restrict((s->store ? 0 : SYSCALLS_NETWORK) |
					  (s->syslog ? SYSCALLS_SYSLOG : 0) |
					  (s->ring ? SYSCALLS_RING : 0));
	}
	if (required && !(s->no_new_privs && s->no_capabilities &&
			  s->undumpable && s->landlock && s->seccomp))
		return why(-EOPNOTSUPP, "sandbox=required: the kernel lacks %s",
			   !s->landlock	 ? "Landlock"
			   : !s->seccomp ? "seccomp filters"
					 : "a part of it");
	return 0;
}

/* What hides keys, or has become another user, has none without this sandbox too. */
static bool has_core(void)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0;
}

int sandbox_format(const struct sandbox *s, struct buf *out)
{
	const char *lacks =
		SANDBOX_IS_PARTIAL ? "no (a sanitizer is built in)" : "no";
	int r = buf_printf(out,
			   "user %u\nno_new_privs %s\ncapabilities %s\n"
			   "core %s\n",
			   geteuid(), s->no_new_privs ? "yes" : "no",
			   s->no_capabilities ? "dropped" : "kept",
			   has_core() ? "as the system has it" : "none");

	if (r == 0 && s->landlock)
		r = buf_printf(out, "landlock yes (version %d)\n", s->landlock);
	else if (r == 0)
		r = buf_printf(out, "landlock %s\n", lacks);
	if (r == 0 && s->seccomp)
		r = buf_printf(out, "seccomp yes (%u calls)\n", s->seccomp);
	else if (r == 0)
		r = buf_printf(out, "seccomp %s\n", lacks);
	return r;
}
