#include "store/value/why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Thread_local char why_sentence[WHY_MAX];

int why_say(const char *fmt, ...)
{
	char text[WHY_MAX];
	int kept = errno;
	va_list ap;

	/* A second buffer is needed: an argument may be the old sentence. */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* What a file has may not move a terminal's cursor. */
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	snprintf(why_sentence, sizeof(why_sentence), "%s", text);
	errno = kept;
	return 0;
}

const char *why_word(const char *path)
{
	static _Thread_local char word[WHY_MAX];
	size_t n = 0;

	if (*path && !path[strcspn(path, " \t\n!\"#$&'()*;<=>?[\\]^`{|}~")])
		return path;
	word[n++] = '\'';
	for (; *path && n < sizeof(word) - 6; path++)
		n += (size_t)sprintf(word + n, *path == '\'' ? "'\\%c'" : "%c",
				     *path);
	strcpy(word + n, "'");
	return word;
}

void why_keep(struct why_kept *k)
{
	memcpy(k->text, why_sentence, strlen(why_sentence) + 1);
}

void why_restore(const struct why_kept *k)
{
	memcpy(why_sentence, k->text, strlen(k->text) + 1);
}

const char *store_why(void)
{
	return why_sentence;
}

#ifdef __GLIBC__
const char *why_name(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "unknown";
}

const char *why_meaning(int err)
{
	const char *text = strerrordesc_np(err);

	return text ? text : "unknown error";
}
#else
const char *why_name(int err)
{
	static const struct {
		int err;
		const char *name;
	} names[] = {
#define NAME(e)       \
	{             \
		e, #e \
	}
		NAME(EACCES),	  NAME(EAGAIN),	      NAME(EBADF),
		NAME(EBUSY),	  NAME(ECONNABORTED), NAME(ECONNREFUSED),
		NAME(ECONNRESET), NAME(EDQUOT),	      NAME(EEXIST),
		NAME(EFBIG),	  NAME(EINTR),	      NAME(EINVAL),
		NAME(EIO),	  NAME(EISDIR),	      NAME(EMFILE),
		NAME(EMSGSIZE),	  NAME(ENAMETOOLONG), NAME(ENFILE),
		NAME(ENODATA),	  NAME(ENODEV),	      NAME(ENOENT),
		NAME(ENOMEM),	  NAME(ENOSPC),	      NAME(ENOSYS),
		NAME(ENOTCONN),	  NAME(ENOTDIR),      NAME(ENOTEMPTY),
		NAME(ENOTSUP),	  NAME(EOVERFLOW),    NAME(EPERM),
		NAME(EPIPE),	  NAME(EPROTO),	      NAME(EPROTONOSUPPORT),
		NAME(ERANGE),	  NAME(EROFS),	      NAME(ESTALE),
		NAME(ETIME),	  NAME(ETIMEDOUT),    NAME(EUCLEAN),
		NAME(EXDEV),
#undef NAME
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].err == err)
			return names[i].name;
	return "unknown";
}

/* Such a C library has constant texts. */
const char *why_meaning(int err)
{
	return strerror(err);
}
#endif
