#include "tools/feed/rules.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"
#include "tools/line/args.h"
#include "tools/line/fail.h"

static const struct rule *rule_of(const struct rules *f, struct bytes name)
{
	for (size_t i = 0; i < f->n; i++)
		if (bytes_eq(f->list[i].field, name))
			return &f->list[i];
	return NULL;
}

static int add_rule(struct rules *f, const char *text)
{
	const char *equals = strrchr(text, '=');
	struct bytes field, target;
	struct rule *rule;
	size_t len;

	if (!equals || equals == text)
		return fail_usage("'%s' is no FIELD=FAMILY:QUALIFIER", text);
	field = bytes_of(text, (size_t)(equals - text));
	if (bytes_eq(field, f->key))
		return fail_usage("--map %s: that field is the row key", text);
	if (rule_of(f, field))
		return fail_usage("--map %s: there is another of that field",
				  text);
	if (ARRAY_RESERVE(f->list, f->cap, f->n + 1) < 0)
		return fail_memory();
	target = bytes_str(equals + 1);
	len = target.len;
	rule = &f->list[f->n++];
	*rule = (struct rule){
		.field = field,
		.left_out = !target.len,
		.type = typed_of(target, &len),
	};
	if (!rule->left_out && column_parse(bytes_of(target.data, len),
					    &rule->hold, &rule->to) < 0)
		return fail_usage("'%s' is no column: %s", equals + 1,
				  store_why());
	return EXIT_DONE;
}

int rules_parse(struct rules *f, const struct request *rq)
{
	int code = EXIT_DONE;

	f->key = bytes_str(rq->key ? rq->key : "row");
	for (size_t i = 0; code == EXIT_DONE && i < rq->maps.n; i++)
		code = add_rule(f, rq->maps.texts[i]);
	return code;
}

int rules_find(struct rules *f, struct bytes name, struct place *out)
{
	bool is_column = name.len && memchr(name.data, ':', name.len);
	const struct rule *rule = rule_of(f, name);
	struct column_name column;
	int r;

	*out = (struct place){.is_key = bytes_eq(name, f->key)};
	if (out->is_key)
		return 0;
	if (!rule && !is_column)
		rule = rule_of(f, bytes_str("*"));
	if (rule) {
		out->left_out = rule->left_out;
		out->type = rule->type;
		out->family = rule->to.family;
		out->qualifier =
			rule->to.whole_family ? name : rule->to.qualifier;
		return 0;
	}
	if (!is_column)
		return why(-EINVAL,
			   "no column is named for the field '%.*s': --map "
			   "'%.*s=FAMILY:QUALIFIER', or '%.*s=' to leave it "
			   "out",
			   (int)name.len, name.data, (int)name.len, name.data,
			   (int)name.len, name.data);
	r = column_parse(name, &f->hold, &column);
	if (r == -EINVAL) {
		struct why_kept kept;

		why_keep(&kept);
		return why(r, "the field '%.*s' is no column: %s",
			   (int)name.len, name.data, kept.text);
	}
	out->family = column.family;
	out->qualifier = column.qualifier;
	return r;
}

void rules_free(struct rules *f)
{
	for (size_t i = 0; i < f->n; i++)
		buf_free(&f->list[i].hold);
	free(f->list);
	buf_free(&f->hold);
}
