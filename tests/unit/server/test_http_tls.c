/* Tests of server/http over TLS. */
#include "server/http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "kit/http/certificates.h"
#include "kit/http/fixture.h"
#include "kit/test.h"

#define HELLO "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
#define SHOW "GET /show HTTP/1.1\r\nHost: a\r\n\r\n"

static struct http_fixture fixture;
static struct http_client client;
static struct http_certificate authority, own, other;
static SSL_CTX *context; /* of clients */

static struct weir_http_tls *make_tls(const struct http_certificate *certificate,
                                      enum weir_http_tls_client mode, bool tls13_only)
{
    struct weir_http_tls_options options = {
        .certificate = weir_str(certificate->certificate_pem),
        .key = weir_str(certificate->key_pem),
        .client_ca = weir_str(authority.certificate_pem),
        .client = mode,
        .tls13_only = tls13_only,
    };
    struct weir_http_tls *tls;
    struct weir_error error = {0};

    if (weir_http_tls_create(&fixture.heap.heap, &options, &tls, &error) != WEIR_OK)
        weir_test_fail(__FILE__, __LINE__, "%s", error.text);
    return tls;
}

static void start(enum weir_http_tls_client mode, bool tls13_only)
{
    signal(SIGPIPE, SIG_IGN); /* of the client */
    http_fixture_init(&fixture);
    http_certificate_init(&authority, "authority", NULL, NULL);
    http_certificate_init(&own, "localhost", "DNS:localhost", &authority);
    http_certificate_init(&other, "elsewhere", NULL, NULL);
    fixture.listener.tls = true;
    fixture.options.tls = make_tls(&own, mode, tls13_only);
    http_fixture_start(&fixture);
    weir_http_tls_release(fixture.options.tls);
    context = SSL_CTX_new(TLS_client_method());
}

static bool handshake(struct http_client *self)
{
    http_connect(self, http_fixture_address(&fixture));
    self->ssl = SSL_new(context);
    SSL_set_fd(self->ssl, self->fd);
    ERR_clear_error();
    return SSL_connect(self->ssl) == 1;
}

static void finish(void)
{
    http_close(&client);
    SSL_CTX_free(context);
    http_certificate_fini(&authority);
    http_certificate_fini(&own);
    http_certificate_fini(&other);
    http_fixture_close(&fixture);
}

static void use_client_certificate(const struct http_certificate *certificate)
{
    check_int(SSL_CTX_use_certificate(context, certificate->certificate), 1);
    check_int(SSL_CTX_use_PrivateKey(context, certificate->key), 1);
}

WEIR_TEST(tls, serves_requests)
{
    struct http_reply reply;

    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    check(handshake(&client));
    http_send(&client, HELLO);

    check(http_receive(&client, &reply));
    check_str(reply.body, "hello");
    check(http_header(&reply, "Strict-Transport-Security") != NULL);
    http_reply_fini(&reply);
    check(strstr(http_ask(&client, SHOW, 200), "uid -1 tls 1") != NULL);
    check_int(http_fixture_stats(&fixture).tls_handshakes_total, 1);
    finish();
}

WEIR_TEST(tls, carries_large_bodies_both_ways)
{
    static char body[300000];
    struct http_reply reply;

    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    check(handshake(&client));
    memset(body, 'x', sizeof body);
    http_send(&client,
              "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
    check(http_try_send(&client, body, sizeof body));
    check(http_receive(&client, &reply));
    check_int(reply.body_size, sizeof body);
    check(memcmp(reply.body, body, sizeof body) == 0);
    http_reply_fini(&reply);

    http_send(&client, "GET /large/3000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    check(http_receive(&client, &reply));
    check_int(reply.body_size, 3000000);
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(tls, answers_what_one_record_pipelines)
{
    struct http_reply reply;

    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    check(handshake(&client));
    http_send(&client, HELLO "GET /park HTTP/1.1\r\nHost: a\r\n\r\n" HELLO);
    http_fixture_wait_parked(&fixture, 1);
    http_fixture_answer(&fixture, "parked");

    for (int i = 0; i < 3; i++) {
        check(http_receive(&client, &reply));
        check_str(reply.body, i == 1 ? "parked" : "hello");
        http_reply_fini(&reply);
    }
    finish();
}

WEIR_TEST(tls, reads_records_of_one_byte)
{
    struct http_reply reply;

    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    check(handshake(&client));
    for (const char *c = HELLO; *c != '\0'; c++)
        check(http_try_send(&client, c, 1));

    check(http_receive(&client, &reply));
    check_str(reply.body, "hello");
    http_reply_fini(&reply);
    finish();
}

WEIR_TEST(tls, notices_that_a_parked_client_has_gone)
{
    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    check(handshake(&client));
    http_send(&client, "GET /park HTTP/1.1\r\nHost: a\r\n\r\n");
    http_fixture_wait_parked(&fixture, 1);

    http_close(&client);

    http_fixture_wait_event(&fixture, WEIR_HTTP_GONE, 1);
    finish();
}

WEIR_TEST(tls, refuses_versions_before_1_2)
{
    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
    check(!handshake(&client));
    http_close(&client);

    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    check(handshake(&client));
    http_ask(&client, HELLO, 200);
    check_int(http_fixture_stats(&fixture).tls_failed_total, 1);
    finish();
}

WEIR_TEST(tls, speaks_1_3_only_if_it_is_told)
{
    start(WEIR_HTTP_TLS_CLIENT_NO, true);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    check(!handshake(&client));
    http_close(&client);

    SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
    check(handshake(&client));
    http_ask(&client, HELLO, 200);
    finish();
}

WEIR_TEST(tls, refuses_renegotiation)
{
    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    check(handshake(&client));
    http_ask(&client, HELLO, 200);
    if (SSL_renegotiate(client.ssl) == 1)
        check(SSL_do_handshake(client.ssl) != 1);
    http_fixture_wait_stats(&fixture, stats.tls_handshakes_total == 1);
    finish();
}

WEIR_TEST(tls, chooses_http_1_1_of_what_a_client_offers)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    static const unsigned char only_two[] = "\x02h2";
    const unsigned char *chosen;
    unsigned size;

    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    SSL_CTX_set_alpn_protos(context, both, sizeof both - 1);
    check(handshake(&client));
    SSL_get0_alpn_selected(client.ssl, &chosen, &size);
    check(size == 8 && memcmp(chosen, "http/1.1", 8) == 0);
    http_close(&client);

    SSL_CTX_set_alpn_protos(context, only_two, sizeof only_two - 1);
    check(!handshake(&client));
    finish();
}

WEIR_TEST(tls, port_tells_a_client_that_speaks_plain_http)
{
    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    http_connect(&client, http_fixture_address(&fixture));

    check(strstr(http_ask(&client, HELLO, 400), "this port speaks TLS") != NULL);
    http_check_closed(&client);
    check_int(fixture.handled, 0);
    finish();
}

WEIR_TEST(tls, ends_a_connection_that_sends_nonsense)
{
    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    http_connect(&client, http_fixture_address(&fixture));
    check(http_try_send(&client, "\x16\x03\x01\xff\xff\xff\xff\xff", 8));

    http_fill(&client, 1 << 20);
    check(client.ended);
    http_fixture_wait_stats(&fixture, stats.connections == 0);
    finish();
}

WEIR_TEST(tls, ends_a_handshake_that_is_late)
{
    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    struct weir_http_limits limits = fixture.options.limits;
    struct weir_error error;

    limits.header_timeout_ns = 50000000;
    check_status(weir_http_server_set_limits(fixture.server, &limits, &error), WEIR_OK);
    http_fixture_wait_stats(&fixture, stats.connections == 0);
    http_connect(&client, http_fixture_address(&fixture));

    http_check_closed(&client);
    finish();
}

/* --- client certificates ------------------------------------------------------- */

WEIR_TEST(tls, knows_the_names_of_a_client_certificate)
{
    struct http_certificate worker;
    const char *shown;

    start(WEIR_HTTP_TLS_CLIENT_OPTIONAL, false);
    http_certificate_init(&worker, "worker-1",
                          "DNS:worker.internal,email:w@a.b,URI:urn:weir:w,IP:10.0.0.1",
                          &authority);
    use_client_certificate(&worker);
    check(handshake(&client));
    shown = http_ask(&client, SHOW, 200);

    check(strstr(shown, "certificate worker-1\ncertificate worker.internal\n"
                        "certificate w@a.b\ncertificate urn:weir:w\n") != NULL);
    check(strstr(shown, "10.0.0.1") == NULL);
    http_certificate_fini(&worker);
    finish();
}

WEIR_TEST(tls, serves_clients_without_certificate_if_it_is_optional)
{
    start(WEIR_HTTP_TLS_CLIENT_OPTIONAL, false);
    check(handshake(&client));

    check(strstr(http_ask(&client, SHOW, 200), "certificate") == NULL);
    finish();
}

/* With TLS 1.3 the client learns it with its first read. */
static bool is_refused(void)
{
    struct http_reply reply;
    bool served = handshake(&client) && http_try_send(&client, HELLO, strlen(HELLO)) &&
                  http_receive(&client, &reply);

    if (served)
        http_reply_fini(&reply);
    http_close(&client);
    return !served;
}

WEIR_TEST(tls, refuses_clients_without_certificate_if_it_is_required)
{
    start(WEIR_HTTP_TLS_CLIENT_REQUIRED, false);

    check(is_refused());
    check_int(fixture.handled, 0);
    finish();
}

WEIR_TEST(tls, refuses_a_certificate_of_another_authority)
{
    start(WEIR_HTTP_TLS_CLIENT_OPTIONAL, false);
    use_client_certificate(&other);

    check(is_refused());
    check_int(fixture.handled, 0);
    finish();
}

/* --- certificates of the server ------------------------------------------------ */

static void check_server_certificate(struct http_client *self,
                                     const struct http_certificate *certificate)
{
    X509 *shown = SSL_get1_peer_certificate(self->ssl);

    check_int(X509_cmp(shown, certificate->certificate), 0);
    X509_free(shown);
}

WEIR_TEST(tls, shows_a_new_certificate_to_new_connections)
{
    struct weir_http_tls *renewed;
    struct http_client second;

    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    check(handshake(&client));
    http_ask(&client, HELLO, 200);

    renewed = make_tls(&other, WEIR_HTTP_TLS_CLIENT_NO, false);
    weir_http_server_set_tls(fixture.server, renewed);
    weir_http_tls_release(renewed);

    http_ask(&client, HELLO, 200);
    check(handshake(&second));
    check_server_certificate(&second, &other);
    check_server_certificate(&client, &own);
    http_ask(&second, HELLO, 200);
    http_close(&second);
    finish();
}

static enum weir_status create_of(const char *certificate, const char *key,
                                  const char *ca)
{
    struct weir_http_tls_options options = {
        .certificate = weir_str(certificate),
        .key = weir_str(key),
        .client_ca = weir_str(ca),
        .client = WEIR_HTTP_TLS_CLIENT_REQUIRED,
    };
    struct weir_http_tls *tls;
    struct weir_error error = {0};
    enum weir_status status =
        weir_http_tls_create(&fixture.heap.heap, &options, &tls, &error);

    check((status == WEIR_OK) == (tls != NULL));
    check(status == WEIR_OK || error.text[0] != '\0');
    weir_http_tls_release(tls);
    return status;
}

WEIR_TEST(tls, refuses_texts_that_do_not_fit_each_other)
{
    start(WEIR_HTTP_TLS_CLIENT_NO, false);
    const char *ca = authority.certificate_pem;

    check_status(create_of(own.certificate_pem, own.key_pem, ca), WEIR_OK);
    check_status(create_of(own.certificate_pem, other.key_pem, ca), WEIR_INVALID);
    check_status(create_of("nonsense", own.key_pem, ca), WEIR_INVALID);
    check_status(create_of("", own.key_pem, ca), WEIR_INVALID);
    check_status(create_of(own.certificate_pem, "nonsense", ca), WEIR_INVALID);
    check_status(create_of(own.certificate_pem, own.key_pem, ""), WEIR_INVALID);
    check_status(create_of(own.certificate_pem, own.key_pem, "nonsense"), WEIR_INVALID);
    finish();
}
