/*
 * A pattern is searched for as HBase's RegexStringComparator does it: pattern
 * and text are read as UTF-8, and a byte that is none is U+FFFD. They go to the
 * library that takes characters of 32 bits, not to the one for UTF-8: there,
 * regardless of case means so for all letters, in Java for those of ASCII.
 *
 * The limit of PCRE2 counts from each place anew where a match may begin, and
 * a run over many characters as one step. So it is asked to call back before
 * each part of a pattern, which counts all steps, and characters between them.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/filter/filter_inside.h"
#include "store/value/utf8.h"
#include "store/value/why.h"

#define PATTERN_MAX 4096
#define COMPILED_MAX (256 << 10) /* bytes */
/* Of one search: steps, more for each character, memory to go back. */
#define STEPS_MAX 10000000u
#define STEPS_EACH 64u
#define HEAP_KIB_MAX (16u << 10)

/* Appends the characters of @s to @out, in 32 bits each. */
static int decode(struct bytes s, struct buf *out)
{
	uint32_t *to;

	if (buf_reserve(out, (s.len + 1) * sizeof(*to)) < 0)
		return why(-ENOMEM, "out of memory for the text of a filter");
	to = (uint32_t *)(out->data + out->len);
	for (size_t i = 0, n; i < s.len; i += n) {
		n = s.data[i] < 0x80 ? 1 : utf8_char(s.data + i, s.len - i);
		*to++ = n ? utf8_code(s.data + i, n) : 0xFFFD;
		n += n == 0;
	}
	out->len = (size_t)((uint8_t *)to - out->data);
	return 0;
}

static void *allocate(size_t n, void *unused)
{
	return n <= COMPILED_MAX ? malloc(n) : NULL;
}

static void release(void *p, void *unused)
{
	free(p);
}

static int refuse(int error)
{
	PCRE2_UCHAR said[128];
	char text[128];
	size_t n = 0;

	if (error == PCRE2_ERROR_HEAP_FAILED)
		return why(-EINVAL,
			   "the pattern of a filter takes more than "
			   "%d KiB when compiled: repeat less in it",
			   COMPILED_MAX >> 10);
	pcre2_get_error_message(error, said, sizeof(said) / sizeof(*said));
	do
		text[n] = (char)said[n];
	while (text[n++]);
	return why(-EINVAL, "the pattern of a filter: %s", text);
}

/* Compiles @pattern, UTF-8 in PCRE2's syntax: 0, -EINVAL, -ENOMEM. */
static int compile(struct bytes pattern, uint32_t options, pcre2_code **out)
{
	pcre2_general_context *memory =
		pcre2_general_context_create(allocate, release, NULL);
	pcre2_compile_context *context = pcre2_compile_context_create(memory);
	struct buf text = {0};
	PCRE2_SIZE where;
	int error, r = context ? decode(pattern, &text) : -ENOMEM;

	if (r == 0) {
		pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
		*out = pcre2_compile(
			(PCRE2_SPTR)text.data, text.len / sizeof(uint32_t),
			options | PCRE2_DOTALL | PCRE2_AUTO_CALLOUT, &error,
			&where, context);
		r = *out ? 0 : refuse(error);
	}
	buf_free(&text);
	pcre2_compile_context_free(context);
	pcre2_general_context_free(memory);
	return r;
}

int regex_compile(struct bytes pattern, bool nocase, pcre2_code **out)
{
	struct buf text = {0};
	int r;

	if (pattern.len > PATTERN_MAX)
		return why(-EINVAL,
			   "the pattern of a filter has %zu bytes, at most %d "
			   "are allowed",
			   pattern.len, PATTERN_MAX);
	r = filter_pattern(pattern, &text);
	if (r == 0)
		r = compile(buf_bytes(&text), nocase ? PCRE2_CASELESS : 0, out);
	/* Where there is no machine code, it is interpreted. */
	if (r == 0)
		pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE);
	buf_free(&text);
	return r;
}

static int count(pcre2_callout_block *b, void *search)
{
	struct regex_search *s = search;
	size_t at = b->current_position;
	size_t moved = at > s->at ? at - s->at : s->at - at;

	s->at = at;
	if (moved >= s->steps_left)
		return PCRE2_ERROR_CALLOUT;
	s->steps_left -= moved + 1;
	return 0;
}

/* What a search needs, made by the first one. */
static int prepare(struct regex_search *s)
{
	if (s->data)
		return 0;
	s->limits = pcre2_match_context_create(NULL);
	if (s->limits)
		s->data = pcre2_match_data_create(1, NULL);
	if (!s->data)
		return why(-ENOMEM,
			   "out of memory for the pattern of a filter");
	pcre2_set_heap_limit(s->limits, HEAP_KIB_MAX);
	pcre2_set_callout(s->limits, count, s);
	return 0;
}

static int match(const pcre2_code *code, struct regex_search *s,
		 uint32_t options)
{
	size_t n = s->text.len / sizeof(uint32_t);

	s->at = 0;
	s->steps_left = STEPS_MAX + (uint64_t)n * STEPS_EACH;
	return pcre2_match(code, (PCRE2_SPTR)s->text.data, n, 0, options,
			   s->data, s->limits);
}

int regex_find(const pcre2_code *code, struct regex_search *s,
	       struct bytes text)
{
	int r = prepare(s);

	s->text.len = 0;
	if (r == 0)
		r = decode(text, &s->text);
	if (r < 0)
		return r;
	r = match(code, s, 0);
	/* Machine code has a stack of 32 KiB; what interprets has the heap. */
	if (r == PCRE2_ERROR_JIT_STACKLIMIT)
		r = match(code, s, PCRE2_NO_JIT);
	if (r >= 0 || r == PCRE2_ERROR_NOMATCH)
		return r >= 0;
	if (r == PCRE2_ERROR_NOMEMORY)
		return why(-ENOMEM,
			   "out of memory for the pattern of a filter");
	return why(-ETIME,
		   "the pattern of a filter needs too many steps for a text of "
		   "%zu bytes: write it without a repetition in a repetition",
		   text.len);
}

void regex_search_free(struct regex_search *s)
{
	buf_free(&s->text);
	pcre2_match_data_free(s->data);
	pcre2_match_context_free(s->limits);
	*s = (struct regex_search){0};
}
