/* A function `one(int) -> int` that gives 1 for each row, for the libraries whose module is what matters. */
#ifndef ONE_FUNCTION_H
#define ONE_FUNCTION_H

#include "firesteel_functions.h"

static inline firesteel_status execute_one(void *instance, const firesteel_task *task, const ArrowArray *arguments,
                                           ArrowArray *result, firesteel_failure *failure) {
    (void)instance, (void)task;
    int32_t *values = firesteel_new_values(result, arguments->length, sizeof *values);
    if (values == NULL) {
        return firesteel_fail(failure, FIRESTEEL_STATUS_NO_MEMORY, -1, NULL, "no memory");
    }
    for (int64_t i = 0; i < arguments->length; i++) {
        values[i] = 1;
    }
    return FIRESTEEL_STATUS_OK;
}

static const firesteel_signature INT_TO_INT = {FIRESTEEL_TEXT("int"), FIRESTEEL_TEXT("int")};

static const firesteel_function ONE = {
    .struct_size = sizeof(firesteel_function),
    .name = FIRESTEEL_TEXT("one"),
    .description = FIRESTEEL_TEXT("Test: always 1."),
    .kind = FIRESTEEL_KIND_SCALAR,
    .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE,
    .nulls = FIRESTEEL_NULLS_GIVEN,
    .signatures = &INT_TO_INT,
    .signature_count = 1,
    .execute = execute_one,
};

#endif
