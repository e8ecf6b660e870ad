/*
 * What Kerberos is asked for and what of its answers is taken, with a library that
 * says what the test wants: a token is a byte, 'P' if it is private and else 'I',
 * and what it protects.
 */
#include <stdbool.h>
#include <gssapi/gssapi.h>

#include "tests/unit/unit.h"
#include "store/hbase/transport/gssapi.h"
#include "store/value/why.h"

static struct {
	OM_uint32 flags;     /* what a context has */
	OM_uint32 unwrapped; /* of a packet: GSS_S_COMPLETE, or what is wrong */
	bool is_weak;	     /* it cannot encrypt */
	OM_uint32 asked;     /* for a context */
} library;

OM_uint32 __wrap_gss_init_sec_context(
	OM_uint32 *minor, gss_cred_id_t cred, gss_ctx_id_t *context,
	gss_name_t name, gss_OID mechanism, OM_uint32 flags, OM_uint32 time,
	gss_channel_bindings_t bindings, gss_buffer_t in, gss_OID *actual,
	gss_buffer_t out, OM_uint32 *had, OM_uint32 *lasts);
OM_uint32 __wrap_gss_wrap(OM_uint32 *minor, gss_ctx_id_t context, int private,
			  gss_qop_t qop, gss_buffer_t in, int *had,
			  gss_buffer_t out);
OM_uint32 __wrap_gss_unwrap(OM_uint32 *minor, gss_ctx_id_t context,
			    gss_buffer_t in, gss_buffer_t out, int *had,
			    gss_qop_t *qop);
OM_uint32 __wrap_gss_wrap_size_limit(OM_uint32 *minor, gss_ctx_id_t context,
				     int private, gss_qop_t qop, OM_uint32 max,
				     OM_uint32 *piece);

static gss_buffer_desc copied(const void *data, size_t len)
{
	gss_buffer_desc b = {len, malloc(len + 1)};

	assert_non_null(b.value);
	memcpy(b.value, data, len);
	return b;
}

OM_uint32 __wrap_gss_init_sec_context(
	OM_uint32 *minor, gss_cred_id_t cred, gss_ctx_id_t *context,
	gss_name_t name, gss_OID mechanism, OM_uint32 flags, OM_uint32 time,
	gss_channel_bindings_t bindings, gss_buffer_t in, gss_OID *actual,
	gss_buffer_t out, OM_uint32 *had, OM_uint32 *lasts)
{
	*minor = 0;
	*out = copied("ticket", 6);
	*had = library.flags;
	library.asked = flags;
	return GSS_S_COMPLETE;
}

OM_uint32 __wrap_gss_wrap(OM_uint32 *minor, gss_ctx_id_t context, int private,
			  gss_qop_t qop, gss_buffer_t in, int *had,
			  gss_buffer_t out)
{
	char text[64];

	*minor = 0;
	*had = private && !library.is_weak;
	text[0] = *had ? 'P' : 'I';
	assert_true(in->length < sizeof(text));
	memcpy(text + 1, in->value, in->length);
	*out = copied(text, in->length + 1);
	return GSS_S_COMPLETE;
}

OM_uint32 __wrap_gss_unwrap(OM_uint32 *minor, gss_ctx_id_t context,
			    gss_buffer_t in, gss_buffer_t out, int *had,
			    gss_qop_t *qop)
{
	const char *text = in->value;

	*minor = 0;
	*had = text[0] == 'P';
	*out = copied(text + 1, in->length - 1);
	return library.unwrapped;
}

OM_uint32 __wrap_gss_wrap_size_limit(OM_uint32 *minor, gss_ctx_id_t context,
				     int private, gss_qop_t qop, OM_uint32 max,
				     OM_uint32 *piece)
{
	*minor = 0;
	*piece = max - 1;
	return GSS_S_COMPLETE;
}

static int set_up(void **state)
{
	memset(&library, 0, sizeof(library));
	library.flags = GSS_C_MUTUAL_FLAG;
	return 0;
}

EACH_TEST_IN(set_up, NULL);

/*
 * Shakes hands with a server that offers these: what is taken, or the error. *out is
 * the caller's to free.
 */
static int shake(enum protection wanted, unsigned offered,
		 struct sasl_mechanism **out)
{
	const struct security s = {.kerberos = true,
				   .protection = wanted,
				   .principal = "hbase/_HOST@A.TEST"};
	const uint8_t offer[] = {'I', (uint8_t)offered, 0, 1, 0};
	struct buf token = {0};
	struct sasl_mechanism *m;
	int r;

	why_clear();
	assert_int_equal(gssapi_new(&s, "h", &m), 0);
	r = m->ops->step(m, (struct bytes){0}, &token);
	token.len = 0;
	if (r == 0) {
		r = m->ops->step(m, bytes_of(offer, sizeof(offer)), &token);
		assert_true(r != 0);
	}
	if (r > 0) {
		assert_int_equal(token.len, 5);
		assert_int_equal(token.data[0], 'I');
		r = token.data[1];
	}
	buf_free(&token);
	*out = m;
	return r;
}

static int taken(enum protection wanted, unsigned offered)
{
	struct sasl_mechanism *m;
	int r = shake(wanted, offered, &m);

	m->ops->free(m);
	return r;
}

TEST(the_strongest_that_is_offered_is_taken)
{
	for (unsigned offered = 1; offered < 8; offered++)
		assert_int_equal(taken(PROTECTION_BEST, offered),
				 offered & 4   ? PROTECTION_PRIVACY
				 : offered & 2 ? PROTECTION_INTEGRITY
					       : PROTECTION_AUTHENTICATION);
	assert_int_equal(taken(PROTECTION_BEST, 0), -EACCES);
}

TEST(what_is_asked_for_is_taken_or_nothing)
{
	for (unsigned offered = 0; offered < 8; offered++)
		for (unsigned wanted = 1; wanted < 8; wanted *= 2) {
			int r = taken((enum protection)wanted, offered);

			if (offered & wanted)
				assert_int_equal(r, wanted);
			else
				assert_int_equal(r, -EACCES);
		}
	assert_int_equal(taken(PROTECTION_PRIVACY, 3), -EACCES);
	assert_non_null(strstr(store_why(), "but: authentication integrity;"));
}

TEST(a_server_proves_who_it_is)
{
	library.flags = GSS_C_CONF_FLAG | GSS_C_INTEG_FLAG;
	assert_int_equal(taken(PROTECTION_BEST, 7), -EACCES);
	assert_non_null(
		strstr(store_why(), "hbase/h@A.TEST did not prove who it is"));
	assert_int_equal(library.asked, GSS_C_MUTUAL_FLAG | GSS_C_REPLAY_FLAG |
						GSS_C_SEQUENCE_FLAG |
						GSS_C_CONF_FLAG |
						GSS_C_INTEG_FLAG);
}

/* What becomes of a packet on its way out, or in. */
static int pass(struct sasl_mechanism *m, const char *packet, bool out,
		const char *as)
{
	struct buf to = {0};
	int r = (out ? m->ops->wrap : m->ops->unwrap)(m, bytes_str(packet),
						      &to);

	if (r == 0)
		assert_true(bytes_eq(buf_bytes(&to), bytes_str(as)));
	buf_free(&to);
	return r;
}

TEST(with_privacy_all_is_encrypted_or_nothing_goes_on)
{
	struct sasl_mechanism *m;

	assert_int_equal(shake(PROTECTION_PRIVACY, 7, &m), PROTECTION_PRIVACY);
	assert_int_equal(m->piece_max, 255);
	assert_int_equal(pass(m, "x", true, "Px"), 0);
	assert_int_equal(pass(m, "Px", false, "x"), 0);
	assert_int_equal(pass(m, "Ix", false, ""), -EPROTO);
	library.is_weak = true;
	assert_int_equal(pass(m, "x", true, ""), -EACCES);
	m->ops->free(m);
}

TEST(with_integrity_what_was_changed_on_the_way_is_noticed)
{
	static const OM_uint32 wrong[] = {GSS_S_BAD_SIG, GSS_S_DUPLICATE_TOKEN,
					  GSS_S_OLD_TOKEN, GSS_S_UNSEQ_TOKEN,
					  GSS_S_GAP_TOKEN};
	struct sasl_mechanism *m;

	assert_int_equal(shake(PROTECTION_INTEGRITY, 7, &m),
			 PROTECTION_INTEGRITY);
	assert_int_equal(m->piece_max, 255);
	assert_int_equal(pass(m, "x", true, "Ix"), 0);
	assert_int_equal(pass(m, "Ix", false, "x"), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		library.unwrapped = wrong[i];
		assert_int_equal(pass(m, "Ix", false, ""), -EPROTO);
	}
	m->ops->free(m);
}

TEST(with_authentication_alone_there_are_no_packets)
{
	struct sasl_mechanism *m;

	assert_int_equal(shake(PROTECTION_AUTHENTICATION, 7, &m),
			 PROTECTION_AUTHENTICATION);
	assert_int_equal(m->piece_max, 0);
	m->ops->free(m);
}
