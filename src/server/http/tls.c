/*
 * tls.c - see tls.h.
 */
#include "server/http/tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "base/heap.h"
#include "base/no_memory.h"
#include "server/http/tls_parts.h"

struct weir_http_tls {
    const struct weir_heap *heap; /* borrowed */
    _Atomic uint32_t holders;
    SSL_CTX *context;
    BIO_METHOD *socket; /* reads and writes without signals */
};

static int bio_code(BIO *bio, ssize_t count, int retry)
{
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    return (int)count;
}

static int bio_fd(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int bio_read(BIO *bio, char *out, int room)
{
    ssize_t count = recv(bio_fd(bio), out, (size_t)room, 0);

    if (count == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return bio_code(bio, count, BIO_FLAGS_READ);
}

static int bio_write(BIO *bio, const char *bytes, int size)
{
    return bio_code(bio, send(bio_fd(bio), bytes, (size_t)size, MSG_NOSIGNAL),
                    BIO_FLAGS_WRITE);
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    default:
        return 0;
    }
}

static BIO_METHOD *make_socket(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir");

    if (method == NULL)
        return NULL;
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
}

/* Only http/1.1 is spoken; a client that offers protocols without it is refused. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *size,
                           const unsigned char *offered, unsigned int offered_size,
                           void *unused)
{
    static const unsigned char name[] = "http/1.1";

    (void)ssl;
    (void)unused;
    for (unsigned int i = 0; i < offered_size; i += 1u + offered[i]) {
        if (offered[i] != sizeof name - 1 || offered_size - i < sizeof name ||
            memcmp(offered + i + 1, name, sizeof name - 1) != 0)
            continue;
        *out = offered + i + 1;
        *size = offered[i];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static BIO *open_text(struct weir_str text)
{
    return text.size > 0 && text.size < INT_MAX
               ? BIO_new_mem_buf(text.data, (int)text.size)
               : NULL;
}

/* Never asks a terminal for a password. */
static int no_password(char *out, int room, int writing, void *unused)
{
    (void)out;
    (void)room;
    (void)writing;
    (void)unused;
    return -1;
}

static bool load_chain(SSL_CTX *context, BIO *bio)
{
    X509 *certificate = PEM_read_bio_X509(bio, NULL, no_password, NULL);
    bool good = certificate != NULL && SSL_CTX_use_certificate(context, certificate) == 1;

    X509_free(certificate);
    while (good &&
           (certificate = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL)
        if (SSL_CTX_add0_chain_cert(context, certificate) != 1) {
            X509_free(certificate);
            good = false;
        }
    return good;
}

static enum weir_status load_certificate(SSL_CTX *context, struct weir_str text,
                                         struct weir_error *error)
{
    BIO *bio = open_text(text);
    bool good = bio != NULL && load_chain(context, bio);

    BIO_free(bio);
    if (good)
        return WEIR_OK;
    return weir_error_set(error, WEIR_INVALID, "the certificate is no valid PEM text");
}

static enum weir_status load_key(SSL_CTX *context, struct weir_str text,
                                 struct weir_error *error)
{
    BIO *bio = open_text(text);
    EVP_PKEY *key =
        bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
    enum weir_status status = WEIR_OK;

    if (key == NULL)
        status = weir_error_set(error, WEIR_INVALID,
                                "the key is no PEM text of an unencrypted key");
    else if (SSL_CTX_use_PrivateKey(context, key) != 1 ||
             SSL_CTX_check_private_key(context) != 1)
        status = weir_error_set(error, WEIR_INVALID,
                                "the key does not belong to the certificate");
    EVP_PKEY_free(key);
    BIO_free(bio);
    return status;
}

/* All certificates of the text, as those that client certificates are signed by. */
static bool load_authorities(SSL_CTX *context, struct weir_str text)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    BIO *bio = open_text(text);
    X509 *authority;
    bool good = false;

    while (bio != NULL &&
           (authority = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
        good = X509_STORE_add_cert(store, authority) == 1 &&
               SSL_CTX_add_client_CA(context, authority) == 1;
        X509_free(authority);
        if (!good)
            break;
    }
    BIO_free(bio);
    return good;
}

static enum weir_status ask_for_client(SSL_CTX *context,
                                       const struct weir_http_tls_options *options,
                                       struct weir_error *error)
{
    int mode = SSL_VERIFY_PEER;

    if (options->client == WEIR_HTTP_TLS_CLIENT_NO)
        return WEIR_OK;
    if (!load_authorities(context, options->client_ca))
        return weir_error_set(error, WEIR_INVALID,
                              "the authority of client certificates is no PEM text");
    if (options->client == WEIR_HTTP_TLS_CLIENT_REQUIRED)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(context, mode, NULL);
    return WEIR_OK;
}

static void set_rules(SSL_CTX *context, bool tls13_only)
{
    SSL_CTX_set_min_proto_version(context, tls13_only ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
}

enum weir_status weir_http_tls_create(const struct weir_heap *heap,
                                      const struct weir_http_tls_options *options,
                                      struct weir_http_tls **out,
                                      struct weir_error *error)
{
    struct weir_http_tls *self = weir_heap_zalloc(heap, sizeof *self);
    enum weir_status status;

    *out = NULL;
    if (self == NULL)
        return weir_no_memory(error, "TLS context");
    self->heap = heap;
    atomic_init(&self->holders, 1);
    self->context = SSL_CTX_new(TLS_server_method());
    self->socket = make_socket();
    if (self->context == NULL || self->socket == NULL) {
        status = weir_no_memory(error, "TLS context");
    } else {
        set_rules(self->context, options->tls13_only);
        status = load_certificate(self->context, options->certificate, error);
        if (status == WEIR_OK)
            status = load_key(self->context, options->key, error);
        if (status == WEIR_OK)
            status = ask_for_client(self->context, options, error);
    }
    ERR_clear_error();
    if (status == WEIR_OK)
        *out = self;
    else
        weir_http_tls_release(self);
    return status;
}

struct weir_http_tls *weir_http_tls_hold(struct weir_http_tls *self)
{
    atomic_fetch_add(&self->holders, 1);
    return self;
}

void weir_http_tls_release(struct weir_http_tls *self)
{
    if (self == NULL || atomic_fetch_sub(&self->holders, 1) > 1)
        return;
    SSL_CTX_free(self->context);
    BIO_meth_free(self->socket);
    weir_heap_free(self->heap, self);
}

struct ssl_st *weir_http_tls_open(const struct weir_http_tls *self, int fd)
{
    SSL *ssl = SSL_new(self->context);
    BIO *bio = ssl != NULL ? BIO_new(self->socket) : NULL;

    if (bio == NULL) {
        SSL_free(ssl);
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    return ssl;
}

/* Where the names of one certificate are collected. */
struct names {
    struct weir_str *names;
    size_t count, count_max;
    char *text;
    size_t room;
};

static void add_name(struct names *self, const ASN1_STRING *string)
{
    unsigned char *utf8 = NULL;
    int size = string != NULL ? ASN1_STRING_to_UTF8(&utf8, string) : -1;
    struct weir_str name = {self->text, size > 0 ? (size_t)size : 0};

    if (name.size > 0 && name.size <= self->room && self->count < self->count_max &&
        memchr(utf8, '\0', name.size) == NULL) {
        memcpy(self->text, utf8, name.size);
        self->names[self->count++] = name;
        self->text += name.size;
        self->room -= name.size;
    }
    if (size >= 0)
        OPENSSL_free(utf8);
}

static void add_common_names(struct names *self, X509 *certificate)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = -1;

    while ((at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0)
        add_name(self, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

static void add_alternative_names(struct names *self, X509 *certificate)
{
    GENERAL_NAMES *list = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);

    for (int i = 0; i < sk_GENERAL_NAME_num(list); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(list, i);

        if (name->type == GEN_DNS || name->type == GEN_EMAIL || name->type == GEN_URI)
            add_name(self, name->d.ia5);
    }
    GENERAL_NAMES_free(list);
}

size_t weir_http_tls_read_names(struct ssl_st *ssl, struct weir_str *names,
                                size_t count_max, char *text, size_t room)
{
    struct names found = {.names = names, .count_max = count_max};
    X509 *certificate = SSL_get1_peer_certificate(ssl);

    found.text = text;
    found.room = room;
    if (certificate != NULL && SSL_get_verify_result(ssl) == X509_V_OK) {
        add_common_names(&found, certificate);
        add_alternative_names(&found, certificate);
    }
    X509_free(certificate);
    return found.count;
}
