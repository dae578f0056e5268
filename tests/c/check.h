/* What the C programs share: checks that name the place, and texts. */
#ifndef CHECK_H
#define CHECK_H

#include "firesteel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);     \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* The code of a failed call, and what its message must contain. Frees the error. */
#define CHECK_FAILS(call, expected, part)                                                 \
    do {                                                                                  \
        firesteel_error *error = (firesteel_error *)1; /* must be overwritten */          \
        firesteel_code code = (call);                                                     \
        if (code != (expected)) {                                                         \
            fprintf(stderr, "%s:%d: code %u, expected %u\n", __FILE__, __LINE__,          \
                    (unsigned)code, (unsigned)(expected));                                \
            exit(1);                                                                      \
        }                                                                                 \
        CHECK(error != NULL);                                                             \
        CHECK(firesteel_error_code(error) == code);                                       \
        if (!contains(firesteel_error_message(error), (part))) {                          \
            fprintf(stderr, "%s:%d: no \"%s\" in: %.*s\n", __FILE__, __LINE__, (part),    \
                    (int)firesteel_error_message(error).len,                              \
                    firesteel_error_message(error).data);                                 \
            exit(1);                                                                      \
        }                                                                                 \
        firesteel_error_free(error);                                                      \
    } while (0)

/* A call that must succeed. */
#define CHECK_OK(call)                                                                    \
    do {                                                                                  \
        firesteel_error *error = (firesteel_error *)1;                                    \
        firesteel_code code = (call);                                                     \
        if (code != FIRESTEEL_OK) {                                                       \
            fprintf(stderr, "%s:%d: code %u: %.*s\n", __FILE__, __LINE__, (unsigned)code, \
                    (int)firesteel_error_message(error).len,                              \
                    firesteel_error_message(error).data);                                 \
            exit(1);                                                                      \
        }                                                                                 \
        CHECK(error == NULL);                                                             \
    } while (0)

static inline firesteel_str text(const char *words) {
    firesteel_str str = {words, strlen(words)};
    return str;
}

static inline int contains(firesteel_str whole, const char *part) {
    size_t len = strlen(part);
    for (size_t i = 0; i + len <= whole.len; i++) {
        if (memcmp(whole.data + i, part, len) == 0) {
            return 1;
        }
    }
    return 0;
}

#endif
