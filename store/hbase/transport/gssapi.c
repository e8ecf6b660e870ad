#include "store/hbase/transport/gssapi.h"

#include <errno.h>
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/value/why.h"

#define PRINCIPAL "hbase/_HOST"
#define HOST_WORD "_HOST"

enum stage {
	STAGE_CONTEXT,	  /* tickets */
	STAGE_PROTECTION, /* what it offers */
};

struct gssapi {
	struct sasl_mechanism base;
	char principal[SECURITY_TEXT_MAX + 256];
	uint8_t wanted; /* enum protection */
	uint8_t stage;
	bool is_private; /* packets are encrypted */
	gss_name_t server;
	gss_ctx_id_t context;
};

static struct gssapi *gssapi_of(struct sasl_mechanism *m)
{
	return (struct gssapi *)m;
}

/* What to do about a code of libkrb5; "" if its own words say it. */
static const char *advice(krb5_error_code code)
{
	switch (code) {
	case KRB5_FCC_NOFILE:
	case KRB5_CC_NOTFOUND:
	case KRB5_CC_NOMEM:
	case KRB5KRB_AP_ERR_TKT_EXPIRED:
		return "; kinit gets a ticket, and KRB5CCNAME and "
		       "KRB5_CLIENT_KTNAME say where one is";
	case KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN:
	case KRB5_REALM_UNKNOWN:
	case KRB5KRB_AP_WRONG_PRINC:
		return "; principal= says who the servers are, as in "
		       "hbase.regionserver.kerberos.principal";
	case KRB5KRB_AP_ERR_SKEW:
		return "; set the clocks";
	default:
		return "";
	}
}

/* Appends what the library says of @code. */
static void describe(OM_uint32 code, int type, char *text, size_t size)
{
	OM_uint32 minor, more = 0;
	gss_buffer_desc s;
	size_t len = strlen(text);

	do {
		if (GSS_ERROR(gss_display_status(&minor, code, type,
						 GSS_C_NO_OID, &more, &s)))
			return;
		len += (size_t)snprintf(text + len, size - len, "%s%.*s",
					len ? ": " : "", (int)s.length,
					(const char *)s.value);
		gss_release_buffer(&minor, &s);
	} while (more && len < size);
}

/* The errno of a failure of the library, with words. */
static int failed(const struct gssapi *g, OM_uint32 major, OM_uint32 minor)
{
	krb5_error_code code = (krb5_error_code)minor;
	char text[WHY_MAX / 2] = "";
	int err = code == KRB5_KDC_UNREACH ? -EHOSTUNREACH : -EACCES;

	/* The minor code has the particulars, if there is one. */
	if (minor)
		describe(minor, GSS_C_MECH_CODE, text, sizeof(text));
	else
		describe(major, GSS_C_GSS_CODE, text, sizeof(text));
	return why(err, "no ticket of Kerberos for %s: %s%s", g->principal,
		   text, advice(code));
}

/* Appends a token of the library to @out and frees it. */
static int take_token(gss_buffer_desc *token, struct buf *out)
{
	OM_uint32 minor;
	int r = buf_append(out, token->value, token->length);

	gss_release_buffer(&minor, token);
	return r < 0 ? why(r, "out of memory for a connection") : 0;
}

static gss_buffer_desc token_of(struct bytes b)
{
	return (gss_buffer_desc){b.len, (void *)(uintptr_t)b.data};
}

static int step_context(struct gssapi *g, struct bytes in, struct buf *out)
{
	const OM_uint32 flags = GSS_C_MUTUAL_FLAG | GSS_C_SEQUENCE_FLAG |
				GSS_C_REPLAY_FLAG | GSS_C_INTEG_FLAG |
				GSS_C_CONF_FLAG;
	gss_OID_desc krb5 = *gss_mech_krb5;
	gss_buffer_desc sent = token_of(in), token = {0, NULL};
	OM_uint32 major, minor, had = 0;
	int r;

	major = gss_init_sec_context(
		&minor, GSS_C_NO_CREDENTIAL, &g->context, g->server, &krb5,
		flags, 0, GSS_C_NO_CHANNEL_BINDINGS,
		in.len ? &sent : GSS_C_NO_BUFFER, NULL, &token, &had, NULL);
	if (GSS_ERROR(major)) {
		OM_uint32 ignored;

		gss_release_buffer(&ignored, &token);
		return failed(g, major, minor);
	}
	r = take_token(&token, out);
	if (r < 0 || major & GSS_S_CONTINUE_NEEDED)
		return r;
	if (!(had & GSS_C_MUTUAL_FLAG))
		return why(-EACCES, "%s did not prove who it is", g->principal);
	g->stage = STAGE_PROTECTION;
	return 0;
}

static const char *protection_words(unsigned offered, char text[64])
{
	snprintf(text, 64, "%s%s%s",
		 offered & PROTECTION_AUTHENTICATION ? " authentication" : "",
		 offered & PROTECTION_INTEGRITY ? " integrity" : "",
		 offered & PROTECTION_PRIVACY ? " privacy" : "");
	return text;
}

/* Which of the protections that are offered is taken; -EACCES. */
static int choose(const struct gssapi *g, unsigned offered)
{
	static const uint8_t best[] = {PROTECTION_PRIVACY, PROTECTION_INTEGRITY,
				       PROTECTION_AUTHENTICATION};
	char text[64];

	for (size_t i = 0; i < sizeof(best); i++)
		if (offered & best[i] &&
		    (g->wanted == PROTECTION_BEST || g->wanted == best[i]))
			return best[i];
	return why(-EACCES,
		   "the server does not offer the protection that qop= names, "
		   "but:%s; hbase.rpc.protection is its setting",
		   protection_words(offered, text));
}

/* How long what is wrapped may be, so that the result has at most @max bytes. */
static int set_piece_max(struct gssapi *g, uint32_t max)
{
	OM_uint32 minor, piece = 0;
	OM_uint32 major = gss_wrap_size_limit(&minor, g->context, g->is_private,
					      GSS_C_QOP_DEFAULT, max, &piece);

	if (GSS_ERROR(major))
		return failed(g, major, minor);
	if (!piece)
		return why(-EPROTO,
			   "the server takes packets of at most %u bytes, "
			   "which hold nothing",
			   max);
	g->base.piece_max = piece;
	return 0;
}

/* Wraps into a token, behind what @out holds. */
static int wrap(struct gssapi *g, bool is_private, struct bytes plain,
		struct buf *out)
{
	gss_buffer_desc in = token_of(plain), token = {0, NULL};
	int had = 0;
	OM_uint32 minor, major;

	major = gss_wrap(&minor, g->context, is_private, GSS_C_QOP_DEFAULT, &in,
			 &had, &token);
	if (GSS_ERROR(major))
		return failed(g, major, minor);
	if (is_private && !had) {
		gss_release_buffer(&minor, &token);
		return why(-EACCES, "the ticket's key cannot encrypt");
	}
	return take_token(&token, out);
}

static int unwrap(struct gssapi *g, bool is_private, struct bytes packet,
		  struct buf *out)
{
	gss_buffer_desc in = token_of(packet), token = {0, NULL};
	int had = 0;
	OM_uint32 minor, major;
	int r;

	major = gss_unwrap(&minor, g->context, &in, &token, &had, NULL);
	/* Old, doubled, and out of order are no errors to the library. */
	if (major != GSS_S_COMPLETE || (is_private && !had))
		r = why(-EPROTO,
			"a packet of the server's is not as %s made it",
			g->principal);
	else
		return take_token(&token, out);
	gss_release_buffer(&minor, &token);
	return r;
}

/* Reads the offer: 0, *chosen, and how long a packet may be. */
static int take_offer(struct gssapi *g, struct bytes in, int *chosen,
		      uint32_t *max)
{
	struct buf offer = {0};
	int r = unwrap(g, false, in, &offer);

	if (r == 0 && offer.len != 4)
		r = why(-EPROTO, "the server offers protection in %zu bytes",
			offer.len);
	if (r == 0) {
		*chosen = choose(g, offer.data[0]);
		*max = (uint32_t)offer.data[1] << 16 |
		       (uint32_t)offer.data[2] << 8 | offer.data[3];
		r = *chosen < 0 ? *chosen : 0;
	}
	buf_free(&offer);
	return r;
}

static int step_protection(struct gssapi *g, struct bytes in, struct buf *out)
{
	uint8_t answer[4] = {0};
	uint32_t max = 0;
	int chosen = 0, r = take_offer(g, in, &chosen, &max);

	if (r < 0)
		return r;
	answer[0] = (uint8_t)chosen;
	if (chosen != PROTECTION_AUTHENTICATION) {
		/* What is taken in one packet: as much as can be said. */
		memset(answer + 1, 0xff, 3);
		g->is_private = chosen == PROTECTION_PRIVACY;
		r = set_piece_max(g, max);
	}
	if (r == 0)
		r = wrap(g, false, bytes_of(answer, sizeof(answer)), out);
	return r < 0 ? r : 1;
}

static int gssapi_step(struct sasl_mechanism *m, struct bytes in,
		       struct buf *token)
{
	struct gssapi *g = gssapi_of(m);

	return g->stage == STAGE_CONTEXT ? step_context(g, in, token)
					 : step_protection(g, in, token);
}

static int gssapi_wrap(struct sasl_mechanism *m, struct bytes plain,
		       struct buf *out)
{
	return wrap(gssapi_of(m), gssapi_of(m)->is_private, plain, out);
}

static int gssapi_unwrap(struct sasl_mechanism *m, struct bytes packet,
			 struct buf *out)
{
	return unwrap(gssapi_of(m), gssapi_of(m)->is_private, packet, out);
}

static void gssapi_free(struct sasl_mechanism *m)
{
	struct gssapi *g = gssapi_of(m);
	OM_uint32 minor;

	gss_delete_sec_context(&minor, &g->context, GSS_C_NO_BUFFER);
	gss_release_name(&minor, &g->server);
	free(g);
}

static const struct sasl_mechanism_ops gssapi_ops = {
	.step = gssapi_step,
	.wrap = gssapi_wrap,
	.unwrap = gssapi_unwrap,
	.free = gssapi_free,
};

/* The principal with the host in place of _HOST, in small letters. */
static int set_principal(struct gssapi *g, const char *s, const char *host)
{
	const char *at = strstr(s, HOST_WORD);
	size_t before = at ? (size_t)(at - s) : strlen(s);
	int n = snprintf(g->principal, sizeof(g->principal), "%.*s%s%s",
			 (int)before, s, at ? host : "",
			 at ? at + strlen(HOST_WORD) : "");

	if (n < 0 || (size_t)n >= sizeof(g->principal))
		return why(-EINVAL, "principal=%s: it is too long", s);
	for (size_t i = before; at && i < before + strlen(host); i++)
		g->principal[i] = (char)ascii_lower((uint8_t)g->principal[i]);
	return 0;
}

static int import(struct gssapi *g)
{
	gss_buffer_desc text = token_of(bytes_str(g->principal));
	OM_uint32 minor, major;

	major = gss_import_name(&minor, &text, GSS_KRB5_NT_PRINCIPAL_NAME,
				&g->server);
	if (!GSS_ERROR(major))
		return 0;
	failed(g, major, minor);
	return why(-EINVAL, "principal=%s is none: %s", g->principal,
		   store_why());
}

int gssapi_new(const struct security *s, const char *host,
	       struct sasl_mechanism **out)
{
	struct gssapi *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return why(-ENOMEM, "out of memory for a connection");
	g->base.ops = &gssapi_ops;
	g->wanted = s->protection;
	g->server = GSS_C_NO_NAME;
	g->context = GSS_C_NO_CONTEXT;
	r = set_principal(g, s->principal[0] ? s->principal : PRINCIPAL, host);
	if (r == 0)
		r = import(g);
	if (r < 0) {
		gssapi_free(&g->base);
		return r;
	}
	*out = &g->base;
	return 0;
}
