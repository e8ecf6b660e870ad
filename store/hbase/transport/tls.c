#include "store/hbase/transport/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "store/value/why.h"

struct tls {
	struct layer base;
	SSL_CTX *context;
	SSL *ssl;
	BIO *came, *leaves; /* the ssl's: memory */
};

static struct tls *tls_of(struct layer *l)
{
	return (struct tls *)l;
}

/* The first of what the library says about a failure, and none of the rest. */
static const char *reason(void)
{
	unsigned long code = ERR_get_error();
	const char *text = ERR_SYSTEM_ERROR(code)
				   ? strerror(ERR_GET_REASON(code))
				   : ERR_reason_error_string(code);

	ERR_clear_error();
	return text ? text : "no reason is given";
}

static int no_memory(void)
{
	ERR_clear_error();
	return why(-ENOMEM, "out of memory for a connection");
}

/* Why the server's certificate is not accepted; 0 if it is, or none came. */
static int judge_certificate(const struct tls *l, const char *host)
{
	long r = SSL_get_verify_result(l->ssl);

	switch (r) {
	case X509_V_OK:
		return 0;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return why(-EACCES,
			   "the server's certificate is not for %s: name the "
			   "host as its certificate does",
			   host);
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		return why(-EACCES,
			   "the server's certificate is of nobody whom this "
			   "side trusts (%s): ca= names the file of its "
			   "authority",
			   X509_verify_cert_error_string(r));
	default:
		return why(-EACCES, "the server's certificate is not valid: %s",
			   X509_verify_cert_error_string(r));
	}
}

/* What a fatal error of the library means. */
static int judge(const struct tls *l, const char *host)
{
	int r = judge_certificate(l, host);
	unsigned long code = ERR_peek_error();

	if (r < 0) {
		ERR_clear_error();
		return r;
	}
	switch (ERR_GET_REASON(code)) {
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
	case SSL_R_HTTP_REQUEST:
		return why(-EACCES,
			   "the server does not speak TLS here (%s): leave out "
			   "tls=on if that is meant; hbase.server.netty.tls."
			   "enabled is its setting",
			   reason());
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
		return why(-EACCES,
			   "the server does not accept this side's certificate "
			   "(%s): %s",
			   reason(),
			   SSL_get_certificate(l->ssl)
				   ? "cert= is to be of an authority that the "
				     "server trusts"
				   : "it may want one: cert= and key= name the "
				     "files");
	default:
		return why(-EACCES, "TLS failed: %s", reason());
	}
}

/* Appends to @wire what the library has to send. */
static int drain(struct tls *l, struct buf *wire)
{
	size_t n = BIO_ctrl_pending(l->leaves);
	int got;

	if (!n)
		return 0;
	if (n > INT_MAX || buf_reserve(wire, n) < 0)
		return no_memory();
	got = BIO_read(l->leaves, wire->data + wire->len, (int)n);
	if (got > 0)
		wire->len += (size_t)got;
	return 0;
}

/* Gives the library what came. */
static int feed(struct tls *l, struct bytes wire)
{
	if (!wire.len)
		return 0;
	if (wire.len > INT_MAX ||
	    BIO_write(l->came, wire.data, (int)wire.len) != (int)wire.len)
		return no_memory();
	return 0;
}

static int seal(struct layer *base, struct bytes plain, struct buf *wire)
{
	struct tls *l = tls_of(base);
	size_t n;

	ERR_clear_error();
	while (plain.len) {
		if (SSL_write_ex(l->ssl, plain.data, plain.len, &n) != 1)
			return judge(l, "the server");
		plain.data += n;
		plain.len -= n;
	}
	return drain(l, wire);
}

static int unseal(struct layer *base, struct bytes wire, struct buf *plain,
		  struct buf *reply)
{
	struct tls *l = tls_of(base);
	size_t n = 0;
	int r = feed(l, wire), ok = 1;

	ERR_clear_error();
	while (r == 0 && ok == 1) {
		if (buf_reserve(plain, RECEIVE_BYTES) < 0)
			return no_memory();
		ok = SSL_read_ex(l->ssl, plain->data + plain->len,
				 plain->cap - plain->len, &n);
		if (ok == 1)
			plain->len += n;
	}
	if (r < 0)
		return r;
	switch (SSL_get_error(l->ssl, ok)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return drain(l, reply);
	case SSL_ERROR_ZERO_RETURN:
		return why(-ECONNRESET, "the server closed the connection");
	default:
		return judge(l, "the server");
	}
}

static void free_layer(struct layer *base)
{
	struct tls *l = tls_of(base);

	SSL_free(l->ssl);
	SSL_CTX_free(l->context);
	free(l);
}

static const struct layer_ops tls_ops = {
	.seal = seal,
	.unseal = unseal,
	.free = free_layer,
};

static int no_file(const char *setting, const char *path, const char *what)
{
	return why(-EINVAL, "%s=%s: %s cannot be read from it: %s", setting,
		   path, what, reason());
}

/* A key with a pass phrase: nobody is asked for it. */
static int no_phrase(char *to, int size, int writing, void *arg)
{
	return -1;
}

static int load_files(SSL_CTX *c, const struct security *s)
{
	SSL_CTX_set_default_passwd_cb(c, no_phrase);
	if (!s->ca[0] && SSL_CTX_set_default_verify_paths(c) != 1)
		return why(-EINVAL,
			   "the system's authorities cannot be read: "
			   "%s",
			   reason());
	if (s->ca[0] && SSL_CTX_load_verify_file(c, s->ca) != 1)
		return no_file("ca", s->ca, "a certificate");
	if (!s->cert[0])
		return 0;
	if (SSL_CTX_use_certificate_chain_file(c, s->cert) != 1)
		return no_file("cert", s->cert, "a certificate");
	if (SSL_CTX_use_PrivateKey_file(c, s->key, SSL_FILETYPE_PEM) != 1)
		return no_file("key", s->key,
			       "the certificate's key, without a pass phrase,");
	return 0;
}

/* Whom the certificate must name. */
static int expect(SSL *ssl, const char *host)
{
	/* An address is never asked for by SNI. */
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1)
		return 0;
	ERR_clear_error();
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (SSL_set1_host(ssl, host) != 1 ||
	    SSL_set_tlsext_host_name(ssl, host) != 1)
		return no_memory();
	return 0;
}

static int set_up(struct tls *l, const struct security *s, const char *host)
{
	int r;

	ERR_clear_error();
	l->context = SSL_CTX_new(TLS_client_method());
	if (!l->context)
		return no_memory();
	SSL_CTX_set_min_proto_version(l->context, TLS1_2_VERSION);
	SSL_CTX_set_verify(l->context, SSL_VERIFY_PEER, NULL);
	r = load_files(l->context, s);
	if (r < 0)
		return r;
	l->ssl = SSL_new(l->context);
	l->came = BIO_new(BIO_s_mem());
	l->leaves = BIO_new(BIO_s_mem());
	if (!l->ssl || !l->came || !l->leaves) {
		BIO_free(l->came);
		BIO_free(l->leaves);
		return no_memory();
	}
	/* Empty is not the end, but that more is to come. */
	BIO_set_mem_eof_return(l->came, -1);
	SSL_set_bio(l->ssl, l->came, l->leaves);
	SSL_set_connect_state(l->ssl);
	return expect(l->ssl, host);
}

static int shake_hands(struct tls *l, struct transport *t, const char *host,
		       uint64_t deadline_ns)
{
	struct buf in = {0}, out = {0};
	int done = 0, r = 0;

	while (r == 0 && done != 1) {
		int error;

		ERR_clear_error();
		done = SSL_do_handshake(l->ssl);
		error = SSL_get_error(l->ssl, done);
		out.len = 0;
		r = drain(l, &out);
		/* The server is told, too, why it is not accepted. */
		if (r == 0 && out.len)
			r = transport_put(t, buf_bytes(&out), deadline_ns);
		if (done == 1 || (r < 0 && error == SSL_ERROR_WANT_READ))
			break;
		if (error != SSL_ERROR_WANT_READ) {
			r = judge(l, host);
			break;
		}
		in.len = 0;
		r = transport_take(t, &in, 1, deadline_ns);
		if (r == -ECONNRESET)
			why_say("%s, in the handshake of TLS: it may not speak "
				"TLS here",
				store_why());
		if (r == 0)
			r = feed(l, buf_bytes(&in));
	}
	buf_free(&in);
	buf_free(&out);
	return r;
}

int tls_start(struct transport *t, const struct security *s, const char *host,
	      uint64_t deadline_ns, struct layer **out)
{
	struct tls *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return no_memory();
	l->base.ops = &tls_ops;
	r = set_up(l, s, host);
	if (r == 0)
		r = shake_hands(l, t, host, deadline_ns);
	if (r < 0) {
		free_layer(&l->base);
		return r;
	}
	*out = &l->base;
	return 0;
}
