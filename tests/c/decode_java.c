/* Java object streams to JSON: good ones, damaged ones, and ones that claim too much. */
#include "check.h"

/* new ArrayList<>(List.of("firesteel")), as java.io.ObjectOutputStream writes it */
static const uint8_t ARRAY_LIST[] =
    "\xac\xed\x00\x05sr\x00\x13java.util.ArrayListx\x81\xd2\x1d\x99\xc7\x61\x9d\x03\x00\x01I\x00\x04size"
    "xp\x00\x00\x00\x01w\x04\x00\x00\x00\x01t\x00\x09" "firesteelx";

static firesteel_bytes bytes(const void *data, size_t len) {
    firesteel_bytes slice = {data, len};
    return slice;
}

static void good(void) {
    firesteel_text *json = NULL;
    size_t len = sizeof ARRAY_LIST - 1;
    CHECK_OK(firesteel_decode_java(bytes(ARRAY_LIST, len), &json, &error));
    CHECK(contains(firesteel_text_str(json), "java.util.ArrayList"));
    CHECK(contains(firesteel_text_str(json), "\"firesteel\""));
    firesteel_text_free(json);

    /* Every shorter stream is refused, from a block of exactly its size so that valgrind sees a read behind its end. */
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *part = malloc(cut ? cut : 1);
        memcpy(part, ARRAY_LIST, cut);
        json = (firesteel_text *)1;
        firesteel_code code = firesteel_decode_java(bytes(part, cut), &json, NULL);
        /* The header alone is a stream without objects. */
        if (cut == 4 && code == FIRESTEEL_OK) {
            firesteel_text_free(json);
        } else {
            CHECK(code == FIRESTEEL_MALFORMED);
            CHECK(json == NULL);
        }
        free(part);
    }
}

static void bad(void) {
    firesteel_text *json = NULL;
    CHECK_FAILS(firesteel_decode_java(bytes(ARRAY_LIST, 4), NULL, &error), FIRESTEEL_NULL_ARGUMENT, "json");
    CHECK_FAILS(firesteel_decode_java(bytes(NULL, 4), &json, &error), FIRESTEEL_NULL_ARGUMENT, "bytes.data");
    CHECK_FAILS(firesteel_decode_java(bytes(NULL, 0), &json, &error), FIRESTEEL_MALFORMED, "");
    CHECK_FAILS(firesteel_decode_java(bytes(ARRAY_LIST, SIZE_MAX), &json, &error), FIRESTEEL_INVALID_ARGUMENT,
                "bytes.data");
    CHECK(firesteel_decode_java(bytes(NULL, 4), NULL, NULL) == FIRESTEEL_NULL_ARGUMENT);

    /* Garbage with and without the right beginning. */
    uint8_t noise[512];
    uint32_t seed = 2463534242u;
    for (int round = 0; round < 400; round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
            noise[i] = (uint8_t)seed;
        }
        if (round % 2) {
            memcpy(noise, ARRAY_LIST, 6);
        }
        firesteel_error *error = NULL;
        firesteel_code code = firesteel_decode_java(bytes(noise, sizeof noise), &json, &error);
        CHECK(code == FIRESTEEL_OK || code == FIRESTEEL_MALFORMED || code == FIRESTEEL_LIMIT_EXCEEDED);
        CHECK((error == NULL) == (code == FIRESTEEL_OK));
        firesteel_text_free(json);
        firesteel_error_free(error);
    }
}

/* 2 GiB claimed by 40 bytes: refused without the memory being reserved (valgrind would run out of it). */
static void huge_claims(void) {
    static const uint8_t LONGS[] = "\xac\xed\x00\x05ur\x00\x02[J\x78\x20\x04\xb5\x12\xb1\x75\x93\x02\x00\x00xp\x7f\xff\xff\xff";
    static const uint8_t STRING[] = "\xac\xed\x00\x05|\x7f\xff\xff\xff\xff\xff\xff\xff" "a";
    firesteel_text *json = NULL;
    CHECK_FAILS(firesteel_decode_java(bytes(LONGS, sizeof LONGS - 1), &json, &error), FIRESTEEL_LIMIT_EXCEEDED, "2147483647");
    CHECK_FAILS(firesteel_decode_java(bytes(STRING, sizeof STRING - 1), &json, &error), FIRESTEEL_LIMIT_EXCEEDED,
                "9223372036854775807");
}

int main(void) {
    good();
    bad();
    huge_claims();
    return 0;
}
