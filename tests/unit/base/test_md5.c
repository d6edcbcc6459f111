/* Tests of base/md5.c against digests of md5sum(1), at every edge of a block. */
#include "base/md5.h"

#include <stdio.h>
#include <string.h>

#include "kit/test.h"

static void has_digest(const void *bytes, size_t size, const char *want)
{
    uint8_t digest[WEIR_MD5_SIZE];
    char text[2 * WEIR_MD5_SIZE + 1];

    weir_md5(bytes, size, digest);
    for (size_t i = 0; i < WEIR_MD5_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    check_str(text, want);
}

/* The suite of RFC 1321, A.5. */
WEIR_TEST(md5, gives_the_digests_of_the_standard)
{
    has_digest(NULL, 0, "d41d8cd98f00b204e9800998ecf8427e");
    has_digest("a", 1, "0cc175b9c0f1b6a831c399e269772661");
    has_digest("abc", 3, "900150983cd24fb0d6963f7d28e17f72");
    has_digest("message digest", 14, "f96b697d7cb7938d525a2f31aaf161d0");
    has_digest("abcdefghijklmnopqrstuvwxyz", 26, "c3fcd3d76192e4007dfb496cca67e13b");
    has_digest("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 62,
               "d174ab98d277d9f5a5611c2c9f419d9f");
    has_digest("1234567890123456789012345678901234567890"
               "1234567890123456789012345678901234567890",
               80, "57edf4a22be3c955ac49da2e2107b67a");
}

WEIR_TEST(md5, is_right_at_the_edges_of_a_block)
{
    static const struct {
        size_t size;
        const char *digest;
    } EDGES[] = {
        {55, "04364420e25c512fd958a70738aa8f72"},
        {56, "668a72d5ba17f08e62dabcafad6db14b"},
        {57, "693037871c4a9d3d8685018905cb530a"},
        {63, "7dc2ca208106a2f703567bdff99d8981"},
        {64, "c1bb4f81d892b2d57947682aeb252456"},
        {65, "1bc932052302d074bdec39795fe00cf6"},
        {119, "ab347a5f68c8a443cfcddc633f12c24f"},
        {120, "fb98667f98096de92620b64f46e1c5b5"},
        {127, "a0b28c1da68705c2ff883fe279b72753"},
        {128, "d69cb61a6ee87200676eb0d4b90edbcb"},
        {1024, "7265f4d211b56873a381d321f586e4a9"},
    };
    static char bytes[1024];

    memset(bytes, 'x', sizeof bytes);
    for (size_t i = 0; i < sizeof EDGES / sizeof EDGES[0]; i++)
        has_digest(bytes, EDGES[i].size, EDGES[i].digest);
}

WEIR_TEST(md5, takes_any_bytes)
{
    uint8_t bytes[256];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    has_digest(bytes, sizeof bytes, "e2c865db4162bed963bfaa9ef6ac18f0");
}
