/* Transport frames to JSON. Arguments: a file with one whole frame of a real driver, and words its JSON must contain. */
#include "check.h"

static firesteel_bytes bytes(const void *data, size_t len) {
    firesteel_bytes slice = {data, len};
    return slice;
}

static void real_frame(const char *path, char **words) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    size_t len = (size_t)ftell(file);
    rewind(file);
    uint8_t *frame = malloc(len);
    CHECK(frame != NULL && fread(frame, 1, len, file) == len);
    fclose(file);

    size_t size = 0;
    firesteel_text *json = NULL;
    CHECK_OK(firesteel_decode_frame(bytes(frame, len), &size, &json, &error));
    CHECK(size == len);
    for (; *words != NULL; words++) {
        if (!contains(firesteel_text_str(json), *words)) {
            fprintf(stderr, "%s: no \"%s\" in the JSON\n", path, *words);
            exit(1);
        }
    }
    firesteel_text_free(json);

    /* Shorter: more bytes are asked for, first the length's, then the frame's. */
    for (size_t cut = 0; cut < len; cut += cut < 32 ? 1 : 61) {
        uint8_t *part = malloc(cut ? cut : 1);
        memcpy(part, frame, cut);
        firesteel_error *error = (firesteel_error *)1;
        json = (firesteel_text *)1;
        CHECK(firesteel_decode_frame(bytes(part, cut), &size, &json, &error) == FIRESTEEL_INCOMPLETE);
        CHECK(size == (cut < 8 ? 8 : len));
        CHECK(json == NULL && error == NULL);
        free(part);
    }

    /* Damaged in every byte behind the length: an answer, whatever it is, and nothing lost. */
    for (size_t at = 8; at < len; at += 7) {
        uint8_t kept = frame[at];
        frame[at] ^= 0xff;
        firesteel_code code = firesteel_decode_frame(bytes(frame, len), &size, &json, NULL);
        CHECK(code == FIRESTEEL_OK ? json != NULL && size == len
                                   : code == FIRESTEEL_MALFORMED && json == NULL && size == 0);
        firesteel_text_free(json);
        frame[at] = kept;
    }
    free(frame);
}

static void bad(void) {
    static const uint8_t EIGHT_EXABYTES[] = "\x7f\xff\xff\xff\xff\xff\xff\xff\x03";
    static const uint8_t NEGATIVE[] = "\xff\xff\xff\xff\xff\xff\xff\xff\x03";
    static const uint8_t EMPTY[] = "\x00\x00\x00\x00\x00\x00\x00\x08";
    static const uint8_t SHORT_RPC[] = "\x00\x00\x00\x00\x00\x00\x00\x0a\x03\x00";
    static const uint8_t LONG_NAME[] = "\x00\x00\x00\x00\x00\x00\x00\x0d\x06\x7f\xff\xff\xff";
    size_t size = 1;
    firesteel_text *json = NULL;
    CHECK_FAILS(firesteel_decode_frame(bytes(EIGHT_EXABYTES, 9), &size, &json, &error), FIRESTEEL_LIMIT_EXCEEDED,
                "9223372036854775807");
    CHECK(size == 0);
    CHECK_FAILS(firesteel_decode_frame(bytes(NEGATIVE, 9), &size, &json, &error), FIRESTEEL_MALFORMED, "-1");
    CHECK_FAILS(firesteel_decode_frame(bytes(EMPTY, 8), &size, &json, &error), FIRESTEEL_MALFORMED, "8");
    CHECK_FAILS(firesteel_decode_frame(bytes(SHORT_RPC, 10), &size, &json, &error), FIRESTEEL_MALFORMED, "requestId");
    CHECK_FAILS(firesteel_decode_frame(bytes(LONG_NAME, 13), &size, &json, &error), FIRESTEEL_MALFORMED, "streamId");
    CHECK_FAILS(firesteel_decode_frame(bytes(EMPTY, 8), NULL, &json, &error), FIRESTEEL_NULL_ARGUMENT, "size");
    CHECK_FAILS(firesteel_decode_frame(bytes(EMPTY, 8), &size, NULL, &error), FIRESTEEL_NULL_ARGUMENT, "json");
    CHECK_FAILS(firesteel_decode_frame(bytes(NULL, 8), &size, &json, &error), FIRESTEEL_NULL_ARGUMENT, "bytes.data");
    CHECK_FAILS(firesteel_decode_frame(bytes(EMPTY, SIZE_MAX), &size, &json, &error), FIRESTEEL_INVALID_ARGUMENT,
                "bytes.data");
    CHECK(firesteel_decode_frame(bytes(NULL, 0), &size, &json, NULL) == FIRESTEEL_INCOMPLETE && size == 8);
}

int main(int argc, char **argv) {
    CHECK(argc > 2);
    bad();
    real_frame(argv[1], argv + 2);
    return 0;
}
