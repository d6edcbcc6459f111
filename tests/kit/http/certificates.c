/*
 * certificates.c - see certificates.h.
 */
#include "kit/http/certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "kit/test.h"

static char *text_of(BIO *bio)
{
    char *data;
    long size = BIO_get_mem_data(bio, &data);
    char *text = strndup(data, (size_t)size);

    BIO_free(bio);
    return text;
}

static void add_extension(X509 *certificate, int kind, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

    check(extension != NULL);
    check_int(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static X509 *make(EVP_PKEY *key, const char *common_name, const char *alternative,
                  const struct http_certificate *authority)
{
    static long serial = 1;
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);

    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               (const unsigned char *)common_name, -1, -1, 0);
    X509_set_issuer_name(certificate, authority != NULL
                                          ? X509_get_subject_name(authority->certificate)
                                          : name);
    if (authority == NULL)
        add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
    if (alternative != NULL)
        add_extension(certificate, NID_subject_alt_name, alternative);
    check(X509_sign(certificate, authority != NULL ? authority->key : key, EVP_sha256()) >
          0);
    return certificate;
}

void http_certificate_init(struct http_certificate *self, const char *common_name,
                           const char *alternative,
                           const struct http_certificate *authority)
{
    BIO *bio;

    self->key = EVP_EC_gen("P-256");
    check(self->key != NULL);
    self->certificate = make(self->key, common_name, alternative, authority);
    bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, self->key, NULL, NULL, 0, NULL, NULL);
    self->key_pem = text_of(bio);
    bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, self->certificate);
    self->certificate_pem = text_of(bio);
}

void http_certificate_fini(struct http_certificate *self)
{
    EVP_PKEY_free(self->key);
    X509_free(self->certificate);
    free(self->key_pem);
    free(self->certificate_pem);
}
