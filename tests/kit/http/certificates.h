/*
 * certificates.h - keys and certificates for tests of TLS, made when they are needed.
 */
#ifndef WEIR_TEST_HTTP_CERTIFICATES_H
#define WEIR_TEST_HTTP_CERTIFICATES_H

struct http_certificate {
    void *key;         /* EVP_PKEY */
    void *certificate; /* X509 */
    char *key_pem;
    char *certificate_pem;
};

/* Signed by `authority`, or by itself (NULL). `alternative` is text such as
 * "DNS:localhost,IP:127.0.0.1", or NULL. */
void http_certificate_init(struct http_certificate *self, const char *common_name,
                           const char *alternative,
                           const struct http_certificate *authority);
void http_certificate_fini(struct http_certificate *self);

#endif
