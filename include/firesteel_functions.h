/* Helpers for libraries of native functions in C: C11, nothing but inline functions. It is C++17, too, but see
 * firesteel_functions.hpp. The rules are in docs/functions.md, the interface itself is in firesteel.h. */
#ifndef FIRESTEEL_FUNCTIONS_H
#define FIRESTEEL_FUNCTIONS_H

#include "firesteel.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GNUC__
#define FIRESTEEL_PRINTF(at, first) __attribute__((format(printf, at, first)))
#define FIRESTEEL_VISIBLE __attribute__((visibility("default")))
#else
#define FIRESTEEL_PRINTF(at, first)
#define FIRESTEEL_VISIBLE
#endif

#ifdef __cplusplus
#define FIRESTEEL_EXPORT extern "C" FIRESTEEL_VISIBLE
#else
/* Before the definition of firesteel_module_v1. */
#define FIRESTEEL_EXPORT FIRESTEEL_VISIBLE
#endif

/* Initialises a firesteel_str, also a static one, with a literal: firesteel_str s = FIRESTEEL_TEXT("int"); */
#define FIRESTEEL_TEXT(literal) {literal, sizeof(literal) - 1}

static inline firesteel_str firesteel_str_of(const char *text) {
    firesteel_str str = {text, strlen(text)};
    return str;
}

/* ---- Failures ---- */

/* The longest beginning of a text that fits and does not end within a character. */
static inline size_t firesteel_cut(const char *text, size_t len, size_t capacity) {
    if (len <= capacity) {
        return len;
    }
    size_t cut = capacity;
    while (cut > 0 && ((unsigned char)text[cut] & 0xC0) == 0x80) {
        cut--;
    }
    return cut;
}

/* Says what went wrong, and gives `status` back: return firesteel_fail(failure, FIRESTEEL_STATUS_INVALID, row,
 * "22012", "division of %d by zero", n). `row` is -1 if no row is at fault; `sqlstate` may be NULL. */
FIRESTEEL_PRINTF(5, 6)
static inline firesteel_status firesteel_fail(firesteel_failure *failure, firesteel_status status, int64_t row,
                                              const char *sqlstate, const char *format, ...) {
    if (failure == NULL) {
        return status;
    }
    failure->row = row;
    memset(failure->sqlstate, 0, sizeof failure->sqlstate);
    if (sqlstate != NULL) {
        size_t len = strlen(sqlstate);
        memcpy(failure->sqlstate, sqlstate, len < 5 ? len : 5);
    }
    failure->message_len = 0;
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int len = vsnprintf(NULL, 0, format, values);
    /* vsnprintf ends texts with a NUL, for which `message` need not have room. */
    char *text = len < 0 ? NULL : (char *)malloc((size_t)len + 1);
    if (text != NULL) {
        vsnprintf(text, (size_t)len + 1, format, again);
        failure->message_len = firesteel_cut(text, (size_t)len, failure->message_capacity);
        if (failure->message_len > 0) {
            memcpy(failure->message, text, failure->message_len);
        }
        free(text);
    }
    va_end(again);
    va_end(values);
    return status;
}

/* ---- The module ---- */

/* What firesteel_module_v1 does: refuses hosts of another major version, and fills in no more than the host has. */
static inline firesteel_status firesteel_fill_module(const firesteel_host *host, firesteel_module *module,
                                                     firesteel_failure *failure, firesteel_str name,
                                                     firesteel_str version,
                                                     const firesteel_function *const *functions, size_t count) {
    if (host->abi_major != FIRESTEEL_MODULE_MAJOR) {
        return firesteel_fail(failure, FIRESTEEL_STATUS_INVALID, -1, NULL,
                              "module %.*s is for version %u of the module interface, the host has version %u",
                              (int)name.len, name.data, (unsigned)FIRESTEEL_MODULE_MAJOR,
                              (unsigned)host->abi_major);
    }
    firesteel_module filled;
    memset(&filled, 0, sizeof filled);
    filled.abi_major = FIRESTEEL_MODULE_MAJOR;
    filled.abi_minor = FIRESTEEL_MODULE_MINOR;
    filled.name = name;
    filled.version = version;
    filled.functions = functions;
    filled.function_count = count;
    filled.struct_size = module->struct_size < sizeof filled ? module->struct_size : sizeof filled;
    memcpy(module, &filled, filled.struct_size);
    return FIRESTEEL_STATUS_OK;
}

/* ---- Reading columns ----
 * A column is a child of the arguments. Rows count from 0; the column's offset is added here. What is read of a row
 * that is null may be anything. */

static inline bool firesteel_bit(const void *bits, int64_t at) {
    return (((const uint8_t *)bits)[at / 8] >> (at % 8)) & 1;
}

/* Whether a row has a value, and not null. */
static inline bool firesteel_is_valid(const ArrowArray *column, int64_t row) {
    return column->n_buffers == 0 || column->buffers[0] == NULL ||
           firesteel_bit(column->buffers[0], column->offset + row);
}

/* The first row's value in a column whose values have `width` bytes; NULL if the column has no rows. */
static inline const void *firesteel_values(const ArrowArray *column, size_t width) {
    const char *values = (const char *)column->buffers[1];
    return values == NULL ? NULL : values + (size_t)column->offset * width;
}

/* const double *x = FIRESTEEL_VALUES(double, arguments->children[0]); */
#define FIRESTEEL_VALUES(type, column) ((const type *)firesteel_values((column), sizeof(type)))

/* A row of a column of booleans. */
static inline bool firesteel_boolean_at(const ArrowArray *column, int64_t row) {
    return firesteel_bit(column->buffers[1], column->offset + row);
}

/* A row of a column of strings or binaries. */
static inline firesteel_str firesteel_string_at(const ArrowArray *column, int64_t row) {
    const int32_t *offsets = (const int32_t *)column->buffers[1] + column->offset + row;
    firesteel_str text = {NULL, (size_t)(offsets[1] - offsets[0])};
    if (text.len > 0) {
        text.data = (const char *)column->buffers[2] + offsets[0];
    }
    return text;
}

/* A row of a column of arrays or maps: it has the rows `*begin` to `*end` of `column->children[0]`. */
static inline void firesteel_list_at(const ArrowArray *column, int64_t row, int64_t *begin, int64_t *end) {
    const int32_t *offsets = (const int32_t *)column->buffers[1] + column->offset + row;
    *begin = offsets[0];
    *end = offsets[1];
}

/* ---- Making arrays and schemas ----
 * What gives a bool gives false if there is no memory, and leaves nothing behind. */

/* Releases an array, if there is one. */
static inline void firesteel_release(ArrowArray *array) {
    if (array->release != NULL) {
        array->release(array);
    }
}

static inline void firesteel_release_made(ArrowArray *array) {
    for (int64_t i = 0; i < array->n_buffers; i++) {
        free((void *)(uintptr_t)array->buffers[i]);
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        firesteel_release(array->children[i]);
        free(array->children[i]);
    }
    free(array->private_data);
    array->release = NULL;
}

/* Any array: `buffers` (at most 3) are NULL, to be set to memory of malloc, and children are empty, to be filled in. */
static inline bool firesteel_new_array(ArrowArray *array, int64_t length, int64_t buffers, int64_t children) {
    memset(array, 0, sizeof *array);
    void **made = (void **)calloc(3 + (size_t)children, sizeof(void *));
    if (made == NULL) {
        return false;
    }
    array->length = length;
    array->n_buffers = buffers;
    array->buffers = (const void **)made;
    array->children = (struct ArrowArray **)(made + 3);
    array->private_data = made;
    array->release = firesteel_release_made;
    for (int64_t i = 0; i < children; i++) {
        array->children[i] = (ArrowArray *)calloc(1, sizeof(ArrowArray));
        if (array->children[i] == NULL) {
            array->release(array);
            return false;
        }
        array->n_children = i + 1;
    }
    return true;
}

/* An array of structs, without nulls. Its children are empty: whoever calls fills them in, with as many rows. */
static inline bool firesteel_new_struct(ArrowArray *array, int64_t length, int64_t children) {
    return firesteel_new_array(array, length, 1, children);
}

/* Room for `length` values of `width` bytes, all of them zero and none of them null. NULL if there is no memory. */
static inline void *firesteel_new_values(ArrowArray *array, int64_t length, size_t width) {
    if (!firesteel_new_array(array, length, 2, 0)) {
        return NULL;
    }
    array->buffers[1] = calloc((size_t)length + 1, width);
    if (array->buffers[1] == NULL) {
        array->release(array);
        return NULL;
    }
    return (void *)(uintptr_t)array->buffers[1];
}

/* Room for `length` booleans as bits, for firesteel_set_bit; all false and none null. NULL if there is no memory. */
static inline uint8_t *firesteel_new_booleans(ArrowArray *array, int64_t length) {
    uint8_t *bits = (uint8_t *)firesteel_new_values(array, (length + 7) / 8, 1);
    array->length = length;
    return bits;
}

static inline void firesteel_set_bit(uint8_t *bits, int64_t at) {
    bits[at / 8] = (uint8_t)(bits[at / 8] | (1 << (at % 8)));
}

/* Makes a row of an array null that was made here. */
static inline bool firesteel_set_null(ArrowArray *array, int64_t row) {
    if (array->buffers[0] == NULL) {
        size_t bytes = ((size_t)array->length + 7) / 8;
        void *bits = malloc(bytes);
        if (bits == NULL) {
            return false;
        }
        memset(bits, 0xFF, bytes);
        array->buffers[0] = bits;
    }
    uint8_t *bits = (uint8_t *)(uintptr_t)array->buffers[0];
    if (firesteel_bit(bits, row)) {
        bits[row / 8] = (uint8_t)(bits[row / 8] & ~(1 << (row % 8)));
        array->null_count++;
    }
    return true;
}

/* Writes an array of strings, row by row. */
typedef struct firesteel_strings {
    ArrowArray *array;
    int64_t row;
    size_t capacity;
} firesteel_strings;

/* Begins an array of `length` strings in `array`, which is released as any other, also if it is not complete. */
static inline bool firesteel_strings_begin(firesteel_strings *strings, ArrowArray *array, int64_t length) {
    strings->array = array;
    strings->row = 0;
    strings->capacity = 64;
    if (!firesteel_new_array(array, length, 3, 0)) {
        return false;
    }
    array->buffers[1] = calloc((size_t)length + 1, sizeof(int32_t));
    array->buffers[2] = malloc(strings->capacity);
    if (array->buffers[1] == NULL || array->buffers[2] == NULL) {
        array->release(array);
        return false;
    }
    return true;
}

/* The next string. False if there is no memory, or if all of them have more than 2 GiB. */
static inline bool firesteel_strings_add(firesteel_strings *strings, firesteel_str text) {
    int32_t *offsets = (int32_t *)(uintptr_t)strings->array->buffers[1];
    size_t begin = (size_t)offsets[strings->row];
    if (text.len > (size_t)INT32_MAX - begin) {
        return false;
    }
    size_t end = begin + text.len;
    if (end > strings->capacity) {
        size_t capacity = end > strings->capacity * 2 ? end : strings->capacity * 2;
        void *grown = realloc((void *)(uintptr_t)strings->array->buffers[2], capacity);
        if (grown == NULL) {
            return false;
        }
        strings->array->buffers[2] = grown;
        strings->capacity = capacity;
    }
    if (text.len > 0) {
        memcpy((char *)(uintptr_t)strings->array->buffers[2] + begin, text.data, text.len);
    }
    offsets[++strings->row] = (int32_t)end;
    return true;
}

/* A null for the next string. */
static inline bool firesteel_strings_add_null(firesteel_strings *strings) {
    firesteel_str none = {NULL, 0};
    return firesteel_set_null(strings->array, strings->row) && firesteel_strings_add(strings, none);
}

static inline void firesteel_release_made_schema(ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
        free(schema->children[i]);
    }
    free(schema->private_data);
    schema->release = NULL;
}

/* A schema, of Arrow's formats: "l" is bigint, "u" string, "+s" struct; docs/functions.md has all. Children are empty,
 * to be filled in. Both texts are copied. */
static inline bool firesteel_new_schema(ArrowSchema *schema, const char *format, const char *name,
                                        int64_t children) {
    memset(schema, 0, sizeof *schema);
    size_t format_size = strlen(format) + 1, name_size = strlen(name) + 1;
    size_t pointers = (size_t)children * sizeof(struct ArrowSchema *);
    char *made = (char *)malloc(pointers + format_size + name_size);
    if (made == NULL) {
        return false;
    }
    schema->children = (struct ArrowSchema **)(void *)made;
    schema->format = (const char *)memcpy(made + pointers, format, format_size);
    schema->name = (const char *)memcpy(made + pointers + format_size, name, name_size);
    schema->flags = ARROW_FLAG_NULLABLE;
    schema->private_data = made;
    schema->release = firesteel_release_made_schema;
    for (int64_t i = 0; i < children; i++) {
        schema->children[i] = (ArrowSchema *)calloc(1, sizeof(ArrowSchema));
        if (schema->children[i] == NULL) {
            schema->release(schema);
            return false;
        }
        schema->n_children = i + 1;
    }
    return true;
}

#endif
