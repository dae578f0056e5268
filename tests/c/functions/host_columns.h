/* Columns of any type word, for the host program: types read from signatures, columns made by hand, values printed. */
#ifndef HOST_COLUMNS_H
#define HOST_COLUMNS_H

#include "firesteel_functions.h"

#include <ctype.h>
#include <inttypes.h>

enum { MAX_CHILDREN = 16 };

typedef struct type {
    char kind; /* b(its), w(idth), u (texts), l(ists), s(tructs) */
    size_t width;
    char format[64];
    char name[64];
    bool not_null;
    int child_count;
    struct type *children[MAX_CHILDREN];
} type;

static inline void die(const char *what) {
    fprintf(stderr, "host: %s\n", what);
    exit(2);
}

static inline void *allocated(void *memory) {
    if (memory == NULL) {
        die("no memory");
    }
    return memory;
}

static inline void free_type(type *t) {
    for (int i = 0; i < t->child_count; i++) {
        free_type(t->children[i]);
    }
    free(t);
}

/* ---- From words ---- */

static const struct {
    const char *word;
    char kind;
    size_t width;
    const char *format;
} WORDS[] = {
    {"boolean", 'b', 0, "b"},  {"tinyint", 'w', 1, "c"}, {"smallint", 'w', 2, "s"}, {"int", 'w', 4, "i"},
    {"bigint", 'w', 8, "l"},   {"float", 'w', 4, "f"},   {"double", 'w', 8, "g"},   {"string", 'u', 0, "u"},
    {"binary", 'u', 0, "z"},   {"date", 'w', 4, "tdD"},  {"timestamp", 'w', 8, "tsu:Europe/Paris"},
    {"timestamp_ntz", 'w', 8, "tsu:"},
};

static inline char peek(const char **at) {
    while (isspace((unsigned char)**at)) {
        ++*at;
    }
    return **at;
}

static inline bool expect(const char **at, char c) {
    if (peek(at) != c) {
        return false;
    }
    ++*at;
    return true;
}

static inline size_t read_word(const char **at, char *word, size_t capacity) {
    size_t len = 0;
    peek(at);
    while ((isalnum((unsigned char)**at) || **at == '_') && len + 1 < capacity) {
        word[len++] = *(*at)++;
    }
    word[len] = '\0';
    return len;
}

static inline type *read_type(const char **at);

/* `name:type, …` until `end`. */
static inline bool read_fields(const char **at, char end, type *into) {
    while (peek(at) != end) {
        char name[64];
        if ((into->child_count > 0 && !expect(at, ',')) || read_word(at, name, sizeof name) == 0 || !expect(at, ':') ||
            into->child_count == MAX_CHILDREN) {
            return false;
        }
        type *field = read_type(at);
        if (field == NULL) {
            return false;
        }
        memcpy(field->name, name, sizeof name);
        into->children[into->child_count++] = field;
    }
    return true;
}

static inline bool read_nested(const char **at, const char *word, type *t) {
    if (strcmp(word, "decimal") == 0) {
        int precision = 0, scale = 0, used = 0;
        if (sscanf(*at, "(%d,%d)%n", &precision, &scale, &used) != 2 || used == 0) {
            return false;
        }
        *at += used;
        t->kind = 'w', t->width = 16;
        snprintf(t->format, sizeof t->format, "d:%d,%d", precision, scale);
        return true;
    }
    if (!expect(at, '<')) {
        return false;
    }
    if (strcmp(word, "struct") == 0) {
        t->kind = 's', strcpy(t->format, "+s");
        return read_fields(at, '>', t) && expect(at, '>');
    }
    bool map = strcmp(word, "map") == 0;
    if (!map && strcmp(word, "array") != 0) {
        return false;
    }
    t->kind = 'l', strcpy(t->format, map ? "+m" : "+l");
    type *item = read_type(at);
    if (item == NULL) {
        return false;
    }
    t->children[t->child_count++] = item;
    strcpy(item->name, "element");
    if (!map) {
        return expect(at, '>');
    }
    type *entries = allocated(calloc(1, sizeof *entries));
    entries->kind = 's', entries->not_null = true, strcpy(entries->format, "+s"), strcpy(entries->name, "entries");
    t->children[0] = entries;
    item->not_null = true, strcpy(item->name, "key");
    entries->children[entries->child_count++] = item;
    type *value = expect(at, ',') ? read_type(at) : NULL;
    if (value == NULL) {
        return false;
    }
    strcpy(value->name, "value");
    entries->children[entries->child_count++] = value;
    return expect(at, '>');
}

/* NULL if it is none. */
static inline type *read_type(const char **at) {
    char word[64];
    read_word(at, word, sizeof word);
    type *t = allocated(calloc(1, sizeof *t));
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (strcmp(word, WORDS[i].word) == 0) {
            t->kind = WORDS[i].kind, t->width = WORDS[i].width;
            strcpy(t->format, WORDS[i].format);
            return t;
        }
    }
    if (!read_nested(at, word, t)) {
        free_type(t);
        return NULL;
    }
    return t;
}

/* The types of a text as a struct, with names (`name:type, …`) or without. */
static inline type *read_types(firesteel_str text, bool names) {
    char *copy = allocated(calloc(1, text.len + 1));
    memcpy(copy, text.data, text.len);
    const char *at = copy;
    type *all = allocated(calloc(1, sizeof *all));
    all->kind = 's', all->not_null = true, strcpy(all->format, "+s");
    bool good = !names || read_fields(&at, '\0', all);
    while (good && !names && peek(&at) != '\0') {
        type *next = (all->child_count == 0 || expect(&at, ',')) ? read_type(&at) : NULL;
        good = next != NULL && all->child_count < MAX_CHILDREN;
        if (good) {
            snprintf(next->name, sizeof next->name, "_%d", all->child_count);
            all->children[all->child_count++] = next;
        }
    }
    free(copy);
    if (!good) {
        free_type(all);
        return NULL;
    }
    return all;
}

static inline void make_schema(const type *t, ArrowSchema *schema) {
    if (!firesteel_new_schema(schema, t->format, t->name, t->child_count)) {
        die("no memory");
    }
    schema->flags = t->not_null ? 0 : ARROW_FLAG_NULLABLE;
    for (int i = 0; i < t->child_count; i++) {
        make_schema(t->children[i], schema->children[i]);
    }
}

/* ---- Columns by hand: a value is made of a number, from 0 on ---- */

static inline bool is_null(const type *t, int64_t number) { return !t->not_null && number % 9 == 5; }

static inline firesteel_str text_of(int64_t number) {
    static const char *const TEXTS[] = {"the quick brown fox", "", "a=1;b=2", "na\xC3\xAFve caf\xC3\xA9  x", "k=v",
                                        " jumps over ", "lazy=dog;k2=v=2;"};
    return firesteel_str_of(TEXTS[number % 7]);
}

static inline void write_value(const type *t, int64_t number, char *to) {
    static const double NUMBERS[] = {48.8566, 2.3522, 40.7128, -74.006, -33.8688, 151.2093, 0, 1.5};
    int64_t whole = number * 7 - 10;
    float single = (float)NUMBERS[number % 8];
    switch (t->format[0]) {
    case 'f': memcpy(to, &single, sizeof single); break;
    case 'g': memcpy(to, &NUMBERS[number % 8], sizeof(double)); break;
    case 'd': memset(to + 8, whole < 0 ? 0xFF : 0, 8); memcpy(to, &whole, 8); break;
    default: memcpy(to, &whole, t->width); break; /* little-endian */
    }
}

static inline void make_column(const type *t, const int64_t *numbers, int64_t count, ArrowArray *array);

static inline void make_children(const type *t, const int64_t *numbers, int64_t count, ArrowArray *array) {
    int64_t *inner = allocated(calloc((size_t)count * 2 + 1, sizeof *inner));
    if (t->kind == 's') {
        for (int c = 0; c < t->child_count; c++) {
            for (int64_t i = 0; i < count; i++) {
                inner[i] = numbers[i] + c;
            }
            make_column(t->children[c], inner, count, array->children[c]);
        }
    } else {
        int32_t *offsets = allocated(calloc((size_t)count + 1, sizeof *offsets));
        int32_t items = 0;
        for (int64_t i = 0; i < count; i++) {
            for (int64_t k = 0; !is_null(t, numbers[i]) && k < numbers[i] % 3; k++) {
                inner[items++] = numbers[i] + 2 * k;
            }
            offsets[i + 1] = items;
        }
        array->buffers[1] = offsets;
        make_column(t->children[0], inner, items, array->children[0]);
    }
    free(inner);
}

/* A column of the values of these numbers. */
static inline void make_column(const type *t, const int64_t *numbers, int64_t count, ArrowArray *array) {
    bool good = true;
    if (t->kind == 'u') {
        firesteel_strings strings;
        good = firesteel_strings_begin(&strings, array, count);
        for (int64_t i = 0; good && i < count; i++) {
            good = firesteel_strings_add(&strings, text_of(numbers[i]));
        }
    } else if (t->kind == 'b') {
        uint8_t *bits = firesteel_new_booleans(array, count);
        for (int64_t i = 0; bits != NULL && i < count; i++) {
            if (numbers[i] % 2 == 1) {
                firesteel_set_bit(bits, i);
            }
        }
    } else if (t->kind == 'w') {
        char *values = firesteel_new_values(array, count, t->width);
        for (int64_t i = 0; values != NULL && i < count; i++) {
            write_value(t, numbers[i], values + (size_t)i * t->width);
        }
    } else {
        good = firesteel_new_array(array, count, t->kind == 's' ? 1 : 2, t->child_count);
        if (good) {
            make_children(t, numbers, count, array);
        }
    }
    for (int64_t i = 0; good && i < count; i++) {
        good = !is_null(t, numbers[i]) || firesteel_set_null(array, i);
    }
    if (!good || array->release == NULL) {
        die("no memory");
    }
}

/* ---- What came back ---- */

/* What is wrong with an array; NULL if nothing is. */
static inline const char *fault(const type *t, const ArrowArray *array) {
    static const struct {
        char kind;
        int64_t buffers;
    } BUFFERS[] = {{'b', 2}, {'w', 2}, {'u', 3}, {'l', 2}, {'s', 1}};
    if (array->release == NULL) {
        return "no release";
    }
    if (array->length < 0 || array->offset < 0) {
        return "negative length or offset";
    }
    if (array->dictionary != NULL) {
        return "a dictionary";
    }
    for (size_t i = 0; i < sizeof BUFFERS / sizeof *BUFFERS; i++) {
        if (BUFFERS[i].kind == t->kind && BUFFERS[i].buffers != array->n_buffers) {
            return "buffers of another type";
        }
    }
    if (array->n_children != t->child_count) {
        return "children of another type";
    }
    const int32_t *offsets = t->kind == 'u' || t->kind == 'l' ? array->buffers[1] : NULL;
    for (int64_t i = array->offset; offsets != NULL && i < array->offset + array->length; i++) {
        if (offsets[i] < 0 || offsets[i] > offsets[i + 1]) {
            return "offsets that fall";
        }
    }
    for (int i = 0; i < t->child_count; i++) {
        const ArrowArray *child = array->children[i];
        const char *inner = fault(t->children[i], child);
        int64_t needed = t->kind == 's' ? array->offset + array->length
                         : offsets == NULL ? 0 : offsets[array->offset + array->length];
        if (inner != NULL || child->length < needed) {
            return inner != NULL ? inner : "a child that is too short";
        }
    }
    return NULL;
}

static inline bool same_schema(const type *t, const ArrowSchema *schema, bool named) {
    bool same = strcmp(t->format, schema->format) == 0 && schema->n_children == t->child_count &&
                (!named || strcmp(t->name, schema->name) == 0);
    for (int i = 0; same && i < t->child_count; i++) {
        same = same_schema(t->children[i], schema->children[i], t->kind == 's');
    }
    return same;
}

static inline void print_number(FILE *out, const type *t, const char *from) {
    int8_t tiny;
    int16_t small;
    int32_t middle;
    int64_t big;
    float single;
    double real;
    switch (t->format[0]) {
    case 'f': memcpy(&single, from, 4); fprintf(out, "%.6g", (double)single); return;
    case 'g': memcpy(&real, from, 8); fprintf(out, "%.10g", real); return;
    default: break;
    }
    switch (t->width) {
    case 1: memcpy(&tiny, from, 1); big = tiny; break;
    case 2: memcpy(&small, from, 2); big = small; break;
    case 4: memcpy(&middle, from, 4); big = middle; break;
    default: memcpy(&big, from, 8); break;
    }
    fprintf(out, "%" PRId64, big);
}

static inline void print_value(FILE *out, const type *t, const ArrowArray *array, int64_t row) {
    if (!firesteel_is_valid(array, row)) {
        fputs("null", out);
    } else if (t->kind == 'b') {
        fputs(firesteel_boolean_at(array, row) ? "true" : "false", out);
    } else if (t->kind == 'w') {
        print_number(out, t, (const char *)firesteel_values(array, t->width) + (size_t)row * t->width);
    } else if (t->kind == 'u') {
        firesteel_str text = firesteel_string_at(array, row);
        fprintf(out, "\"%.*s\"", (int)text.len, text.data == NULL ? "" : text.data);
    } else if (t->kind == 's') {
        for (int i = 0; i < t->child_count; i++) {
            fputs(i == 0 ? "{" : ", ", out);
            print_value(out, t->children[i], array->children[i], array->offset + row);
        }
        fputs("}", out);
    } else {
        int64_t begin, end;
        firesteel_list_at(array, row, &begin, &end);
        fputs("[", out);
        for (int64_t i = begin; i < end; i++) {
            fputs(i == begin ? "" : ", ", out);
            print_value(out, t->children[0], array->children[0], i);
        }
        fputs("]", out);
    }
}

#endif
