/* A library as it was compiled with the header of version 1.0 of the module interface, which is beside it.
 *
 * Neither file is ever changed: every later host of major version 1 must take this library. It uses no helpers, since
 * those change. */
#include "firesteel.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(literal) {literal, sizeof(literal) - 1}

static void release_numbers(struct ArrowArray *array) {
    free((void *)array->buffers[1]);
    free(array->buffers);
    array->release = NULL;
}

static firesteel_status numbers(ArrowArray *array, int64_t length, int64_t **values) {
    const void **buffers = calloc(2, sizeof *buffers);
    *values = calloc((size_t)length + 1, sizeof **values);
    if (buffers == NULL || *values == NULL) {
        free(buffers);
        free(*values);
        return FIRESTEEL_STATUS_NO_MEMORY;
    }
    buffers[1] = *values;
    memset(array, 0, sizeof *array);
    array->length = length;
    array->n_buffers = 2;
    array->buffers = buffers;
    array->release = release_numbers;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status add_one(void *instance, const firesteel_task *task, const ArrowArray *arguments,
                                ArrowArray *result, firesteel_failure *failure) {
    const ArrowArray *column = arguments->children[0];
    int64_t *values;
    (void)instance, (void)task;
    if (numbers(result, arguments->length, &values) != FIRESTEEL_STATUS_OK) {
        return FIRESTEEL_STATUS_NO_MEMORY;
    }
    for (int64_t i = 0; i < arguments->length; i++) {
        int64_t value = ((const int64_t *)column->buffers[1])[column->offset + i];
        if (value == INT64_MAX) {
            const char message[] = "too large";
            failure->row = i;
            memcpy(failure->sqlstate, "22003", 6);
            failure->message_len =
                sizeof message - 1 < failure->message_capacity ? sizeof message - 1 : failure->message_capacity;
            memcpy(failure->message, message, failure->message_len);
            result->release(result);
            return FIRESTEEL_STATUS_INVALID;
        }
        values[i] = value + 1;
    }
    return FIRESTEEL_STATUS_OK;
}

static const firesteel_signature BIGINT = {TEXT("bigint"), TEXT("bigint")};

static const firesteel_function ADD_ONE = {
    .struct_size = sizeof(firesteel_function),
    .name = TEXT("add_one"),
    .description = TEXT("One more."),
    .kind = FIRESTEEL_KIND_SCALAR,
    .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE,
    .nulls = FIRESTEEL_NULLS_SKIPPED,
    .signatures = &BIGINT,
    .signature_count = 1,
    .execute = add_one,
};

static const firesteel_function *const FUNCTIONS[] = {&ADD_ONE};

firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                     firesteel_failure *failure) {
    const firesteel_module filled = {
        .struct_size = sizeof filled,
        .abi_major = FIRESTEEL_MODULE_MAJOR,
        .abi_minor = FIRESTEEL_MODULE_MINOR,
        .name = TEXT("frozen"),
        .version = TEXT("1.0"),
        .functions = FUNCTIONS,
        .function_count = 1,
    };
    (void)failure;
    if (host->abi_major != FIRESTEEL_MODULE_MAJOR || module->struct_size < sizeof filled) {
        return FIRESTEEL_STATUS_INTERNAL;
    }
    *module = filled;
    return FIRESTEEL_STATUS_OK;
}
