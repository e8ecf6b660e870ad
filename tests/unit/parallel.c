#include "tests/unit/unit.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fs/kernel/fuse.h"

static struct {
	struct fuse_session *session;
	int ends[2]; /* the kernel's, and the session's device */
	struct {
		struct fuse_out_header out;
		struct fuse_init_out init;
	} reply;
} the;

static void init(void *userdata, struct fuse_conn_info *conn)
{
	conn->want |= conn->capable & FUSE_CAP_PARALLEL_DIROPS;
}

static int set_up(void **state)
{
	static const struct fuse_lowlevel_ops ops = {.init = init};
	char name[] = "test", *argv[] = {name}, device[32];
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, the.ends), 0);
	the.session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	assert_non_null(the.session);
	fuse_opt_free_args(&args);
	snprintf(device, sizeof(device), "/dev/fd/%d", the.ends[1]);
	assert_int_equal(fuse_session_mount(the.session, device), 0);
	assert_int_equal(fuse_parallel_dirops(the.session), 0);
	return 0;
}

static int tear_down(void **state)
{
	fuse_session_unmount(the.session);
	fuse_session_destroy(the.session);
	close(the.ends[0]);
	return 0;
}

/* How long the reply is. */
static ssize_t ask(const void *request, size_t len)
{
	struct fuse_buf buf = {0};

	assert_int_equal(write(the.ends[0], request, len), len);
	assert_int_equal(fuse_session_receive_buf(the.session, &buf), len);
	fuse_session_process_buf(the.session, &buf);
	free(buf.mem);
	return read(the.ends[0], &the.reply, sizeof(the.reply));
}

static ssize_t ask_to_begin(uint32_t flags)
{
	const struct {
		struct fuse_in_header in;
		struct fuse_init_in init;
	} request = {
		.in = {.len = sizeof(request),
		       .opcode = FUSE_INIT,
		       .unique = 2},
		.init = {.major = FUSE_KERNEL_VERSION,
			 .minor = 31,
			 .flags = flags},
	};

	return ask(&request, sizeof(request));
}

EACH_TEST_IN(set_up, tear_down);

TEST(the_kernel_is_told_to_ask_about_a_directory_in_parallel)
{
	assert_int_equal(ask_to_begin(FUSE_PARALLEL_DIROPS), sizeof(the.reply));
	assert_int_equal(the.reply.out.error, 0);
	assert_int_equal(the.reply.out.unique, 2);
	assert_true(the.reply.init.flags & FUSE_PARALLEL_DIROPS);
}

TEST(other_replies_are_as_they_are)
{
	const struct {
		struct fuse_in_header in;
		char name[2];
	} request = {
		.in = {.len = sizeof(request),
		       .opcode = FUSE_LOOKUP,
		       .unique = 4,
		       .nodeid = 1},
		.name = "a",
	};

	ask_to_begin(FUSE_PARALLEL_DIROPS);
	assert_int_equal(ask(&request, sizeof(request)), sizeof(the.reply.out));
	assert_int_equal(the.reply.out.unique, 4);
	assert_int_equal(the.reply.out.error, -ENOSYS);
}
