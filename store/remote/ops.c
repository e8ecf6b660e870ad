#include "store/remote/ops.h"

#include <assert.h>

#include "store/remote/wire.h"

const struct wire_row wire_rows[WIRE_OPS] = {
	/* the version of either end */
	[WIRE_HELLO] = {"4", "4"},
	/* name, or id; handle, id */
	[WIRE_TABLE_OPEN] = {"s", "48"},
	[WIRE_TABLE_OPEN_ID] = {"8", "48"},
	[WIRE_TABLE_CLOSE] = {"4", ""},
	[WIRE_TABLE_SCHEMA] = {"t", "c"},
	[WIRE_TABLE_VERSION] = {"t", "8"},
	[WIRE_TABLE_NAME] = {"t", "n"},
	[WIRE_TABLE_CREATE] = {"kc", ""},
	/* name, only if empty */
	[WIRE_TABLE_DROP] = {"kb", ""},
	[WIRE_TABLE_TRUNCATE] = {"k", ""},
	/* from, to */
	[WIRE_TABLE_RENAME] = {"kk", ""},
	/* table, rest, dry, to, drop: struct alter */
	[WIRE_TABLE_ALTER] = {"t1bcc", ""},
	[WIRE_TABLE_ADD_FAMILY] = {"ts", ""},
	/* the first name after this one */
	[WIRE_TABLE_NEXT] = {"s", "n", .found = true},
	[WIRE_NAMESPACE_CREATE] = {"s", ""},
	[WIRE_NAMESPACE_DROP] = {"s", ""},
	[WIRE_NAMESPACE_NEXT] = {"s", "n", .found = true},
	[WIRE_MUTATE] = {"*", "*", .found = true},
	[WIRE_MUTATE_MANY] = {"*", "*"},
	[WIRE_SYNC] = {"", ""},
	[WIRE_SCAN_OPEN] = {"*", "*"},
	[WIRE_SCAN_NEXT] = {"*", "*"},
	[WIRE_SCAN_CLOSE] = {"4", ""},
	[WIRE_GET] = {"*", "*", .found = true},
	[WIRE_SNAPSHOT_TAKE] = {"", "4"},
	[WIRE_SNAPSHOT_RELEASE] = {"4", ""},
	/* table, name */
	[WIRE_SNAPSHOT_CREATE] = {"Ts", ""},
	[WIRE_SNAPSHOT_DROP] = {"Ts", ""},
	/* table, from, to */
	[WIRE_SNAPSHOT_RENAME] = {"Tss", ""},
	/* table, after; name, when it was taken */
	[WIRE_SNAPSHOT_NEXT] = {"Ts", "ni", .found = true},
	[WIRE_SNAPSHOT_OPEN] = {"*", "*"},
	/* the name of the table as the snapshot shows it, to */
	[WIRE_SNAPSHOT_CLONE] = {"Skk", ""},
	[WIRE_SNAPSHOT_RESTORE] = {"Sk", ""},
	[WIRE_FLUSH] = {"T", ""},
	[WIRE_COMPACT] = {"T", ""},
	[WIRE_STATS] = {"*", "*"},
	/* total, free, available */
	[WIRE_SPACE] = {"", "888"},
	[WIRE_HEALTH] = {"", ""},
	[WIRE_NOW] = {"", "i"},
	/* exact, rows, cells, oldest, newest, entries, bytes, files, has_ttl */
	[WIRE_TABLE_INFO] = {"t", "b88ii888b"},
};

static enum field_kind kind_of(char letter)
{
	switch (letter) {
	case 's':
	case 'k':
		return FIELD_BYTES;
	case 'c':
		return FIELD_SCHEMA;
	case '\0':
		return FIELD_END;
	default:
		return FIELD_NUMBER;
	}
}

static void put_field(struct encoder *e, char letter, const struct field *f)
{
	switch (letter) {
	case 's':
	case 'k':
		put_bytes(e, f->s);
		break;
	case 'n':
		put_bytes(e, bytes_str(f->name));
		break;
	case 'c':
		put_schema(e, &f->schema);
		break;
	case '1':
	case 'b':
		put_u8(e, (uint8_t)f->n);
		break;
	case '8':
	case 'i':
		put_u64(e, f->n);
		break;
	default:
		put_u32(e, (uint32_t)f->n);
		break;
	}
}

void put_reply(struct encoder *e, const char *letters,
	       const struct field *fields)
{
	for (; *letters; letters++)
		put_field(e, *letters, fields++);
}

void put_request(struct encoder *e, const char *letters,
		 const struct field *fields)
{
	for (size_t i = 0; letters[i]; i++)
		assert(fields[i].kind == kind_of(letters[i]));
	assert(!fields || fields[strlen(letters)].kind == FIELD_END);
	put_reply(e, letters, fields);
}

static void take_field(struct decoder *d, char letter, struct field *f)
{
	switch (letter) {
	case 's':
		f->s = take_bytes(d, WIRE_FRAME_MAX);
		break;
	case 'k':
		f->s = take_bytes(d, TABLE_NAME_LEN_MAX);
		break;
	case 'n':
		take_name(d, f->name, TABLE_NAME_LEN_MAX);
		break;
	case 'c':
		take_schema(d, &f->schema);
		break;
	case '1':
		f->n = take_u8(d);
		break;
	case 'b':
		f->n = take_bool(d);
		break;
	case '8':
	case 'i':
		f->n = take_u64(d);
		break;
	default:
		f->n = take_u32(d);
		break;
	}
}

void take_fields(struct decoder *d, const char *letters, struct field *fields)
{
	assert(strlen(letters) <= FIELDS_MAX);
	for (; *letters; letters++)
		take_field(d, *letters, fields++);
}

void fields_free(const char *letters, struct field *fields)
{
	for (; *letters; letters++, fields++)
		if (*letters == 'c')
			schema_free(&fields->schema);
}
