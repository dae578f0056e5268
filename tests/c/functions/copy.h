/* Copies of columns of any type: results are the function's own memory, arguments never are. */
#ifndef COPY_H
#define COPY_H

#include "firesteel_functions.h"

/* What a copy needs to know of a type. */
typedef struct shape {
    char kind; /* b(its), w(idth), u (texts), l(ists), s(tructs) */
    size_t width;
    const struct shape *children[2];
} shape;

static inline bool copy_rows(const shape *s, const ArrowArray *from, int64_t begin, int64_t count, ArrowArray *to);

static inline bool copy_texts(const ArrowArray *from, int64_t begin, int64_t count, ArrowArray *to) {
    firesteel_strings strings;
    bool good = firesteel_strings_begin(&strings, to, count);
    for (int64_t i = 0; good && i < count; i++) {
        good = firesteel_strings_add(&strings, firesteel_string_at(from, begin + i));
    }
    return good;
}

static inline bool copy_list(const shape *s, const ArrowArray *from, int64_t begin, int64_t count, ArrowArray *to) {
    if (!firesteel_new_array(to, count, 2, 1)) {
        return false;
    }
    int32_t *offsets = calloc((size_t)count + 1, sizeof *offsets);
    to->buffers[1] = offsets;
    if (offsets == NULL) {
        return false;
    }
    int64_t first = 0, end = 0, item_begin, item_end;
    for (int64_t i = 0; i < count; i++) {
        firesteel_list_at(from, begin + i, &item_begin, &item_end);
        first = i == 0 ? item_begin : first;
        end = item_end;
        offsets[i + 1] = (int32_t)(item_end - first);
    }
    return copy_rows(s->children[0], from->children[0], first, end - first, to->children[0]);
}

static inline bool copy_values(const shape *s, const ArrowArray *from, int64_t begin, int64_t count,
                               ArrowArray *to) {
    if (s->kind == 'b') {
        uint8_t *bits = firesteel_new_booleans(to, count);
        for (int64_t i = 0; bits != NULL && i < count; i++) {
            if (firesteel_boolean_at(from, begin + i)) {
                firesteel_set_bit(bits, i);
            }
        }
        return bits != NULL;
    }
    char *values = firesteel_new_values(to, count, s->width);
    if (values != NULL && count > 0) {
        memcpy(values, (const char *)firesteel_values(from, s->width) + (size_t)begin * s->width,
               (size_t)count * s->width);
    }
    return values != NULL;
}

/* Copies the rows from `begin` on. After false, `to` may be there in part: it is released as any other. */
static inline bool copy_rows(const shape *s, const ArrowArray *from, int64_t begin, int64_t count, ArrowArray *to) {
    bool good;
    switch (s->kind) {
    case 'u': good = copy_texts(from, begin, count, to); break;
    case 'l': good = copy_list(s, from, begin, count, to); break;
    case 's':
        good = firesteel_new_struct(to, count, s->children[1] == NULL ? 1 : 2);
        for (int64_t i = 0; good && i < to->n_children; i++) {
            good = copy_rows(s->children[i], from->children[i], from->offset + begin, count, to->children[i]);
        }
        break;
    default: good = copy_values(s, from, begin, count, to); break;
    }
    for (int64_t i = 0; good && i < count; i++) {
        good = firesteel_is_valid(from, begin + i) || firesteel_set_null(to, i);
    }
    return good;
}

#endif
