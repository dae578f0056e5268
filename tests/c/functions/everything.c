/* A module that uses everything that the interface has: all types, all kinds, and all that the host offers. */
#define _POSIX_C_SOURCE 200809L

#include "copy.h"

#include <time.h>

static firesteel_status no_memory(firesteel_failure *failure) {
    return firesteel_fail(failure, FIRESTEEL_STATUS_NO_MEMORY, -1, NULL, "no memory");
}

/* ---- Functions that give their argument back, one for each type ---- */

static const shape BITS = {'b', 0, {0}}, ONE = {'w', 1, {0}}, TWO = {'w', 2, {0}}, FOUR = {'w', 4, {0}};
static const shape EIGHT = {'w', 8, {0}}, SIXTEEN = {'w', 16, {0}}, TEXTS = {'u', 0, {0}};
static const shape INTS = {'l', 0, {&FOUR}}, ENTRIES = {'s', 0, {&TEXTS, &EIGHT}}, MAP = {'l', 0, {&ENTRIES}};
static const shape STRUCT = {'s', 0, {&FOUR, &TEXTS}};

#define BIND_ARGUMENTS                                                                                        \
    const firesteel_function *function, const firesteel_task *task, size_t signature,                         \
        const ArrowSchema *arguments, const ArrowArray *constants, const uint8_t *is_constant, void **instance, \
        firesteel_failure *failure
#define CALL_ARGUMENTS                                                                                    \
    void *instance, const firesteel_task *task, const ArrowArray *arguments, ArrowArray *result,          \
        firesteel_failure *failure
#define BIND_UNUSED                                                                                       \
    (void)function, (void)task, (void)signature, (void)arguments, (void)constants, (void)is_constant,     \
        (void)instance, (void)failure
#define CALL_UNUSED (void)instance, (void)task, (void)arguments, (void)result, (void)failure

static firesteel_status bind_data(BIND_ARGUMENTS) {
    BIND_UNUSED;
    *instance = function->data;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status same(CALL_ARGUMENTS) {
    CALL_UNUSED;
    if (!copy_rows(instance, arguments->children[0], 0, arguments->length, result)) {
        firesteel_release(result);
        return no_memory(failure);
    }
    return FIRESTEEL_STATUS_OK;
}

/* ---- A function without arguments, and one that gives another value each time ---- */

static firesteel_status answer(CALL_ARGUMENTS) {
    CALL_UNUSED;
    int32_t *values = firesteel_new_values(result, arguments->length, sizeof *values);
    if (values == NULL) {
        return no_memory(failure);
    }
    for (int64_t i = 0; i < arguments->length; i++) {
        values[i] = 42;
    }
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status bind_counter(BIND_ARGUMENTS) {
    BIND_UNUSED;
    *instance = calloc(1, sizeof(int64_t));
    return *instance == NULL ? no_memory(failure) : FIRESTEEL_STATUS_OK;
}

/* Counts from 1 on, over all batches of an instance. */
static firesteel_status counter(CALL_ARGUMENTS) {
    CALL_UNUSED;
    int64_t *values = firesteel_new_values(result, arguments->length, sizeof *values);
    if (values == NULL) {
        return no_memory(failure);
    }
    for (int64_t i = 0; i < arguments->length; i++) {
        values[i] = ++*(int64_t *)instance;
    }
    return FIRESTEEL_STATUS_OK;
}

/* ---- Overloads ---- */

static firesteel_status bind_signature(BIND_ARGUMENTS) {
    BIND_UNUSED;
    *instance = (void *)(uintptr_t)signature;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status twice(CALL_ARGUMENTS) {
    CALL_UNUSED;
    const ArrowArray *column = arguments->children[0];
    void *values = firesteel_new_values(result, arguments->length, (uintptr_t)instance == 0 ? 4 : 8);
    for (int64_t i = 0; values != NULL && i < arguments->length; i++) {
        switch ((uintptr_t)instance) {
        case 0: ((int32_t *)values)[i] = (int32_t)(2 * (uint32_t)FIRESTEEL_VALUES(int32_t, column)[i]); break;
        case 1: ((int64_t *)values)[i] = (int64_t)(2 * (uint64_t)FIRESTEEL_VALUES(int64_t, column)[i]); break;
        default: ((double *)values)[i] = 2 * FIRESTEEL_VALUES(double, column)[i]; break;
        }
    }
    return values == NULL ? no_memory(failure) : FIRESTEEL_STATUS_OK;
}

/* ---- What the host offers ---- */

/* Waits until the task is cancelled, but no more than so many milliseconds. */
static firesteel_status until_cancelled(CALL_ARGUMENTS) {
    for (int64_t i = 0; i < arguments->length; i++) {
        for (int64_t ms = 0; ms < FIRESTEEL_VALUES(int64_t, arguments->children[0])[i]; ms++) {
            if (task->host->is_cancelled(task)) {
                return firesteel_fail(failure, FIRESTEEL_STATUS_CANCELLED, i, NULL, "cancelled while waiting");
            }
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
    }
    return answer(instance, task, arguments, result, failure);
}

static firesteel_status logs(CALL_ARGUMENTS) {
    for (int64_t i = 0; i < arguments->length; i++) {
        if (firesteel_is_valid(arguments->children[0], i)) {
            firesteel_str line = firesteel_string_at(arguments->children[0], i);
            task->host->log(task, (firesteel_log_level)(FIRESTEEL_LOG_ERROR + i % 4), line);
        }
    }
    task->host->log(NULL, FIRESTEEL_LOG_INFO, firesteel_str_of("of no task"));
    return same(instance, task, arguments, result, failure);
}

/* Takes a mebibyte again and again until the host refuses. The host gets it back when the task ends. */
static firesteel_status hog(CALL_ARGUMENTS) {
    CALL_UNUSED;
    int64_t taken = 0;
    while (task->host->reserve(task, 1 << 20) == FIRESTEEL_STATUS_OK) {
        taken++;
    }
    return firesteel_fail(failure, FIRESTEEL_STATUS_NO_MEMORY, -1, NULL, "refused after %lld MiB",
                          (long long)taken);
}

/* Takes so many bytes and gives them back, for each row. */
static firesteel_status borrows(CALL_ARGUMENTS) {
    CALL_UNUSED;
    for (int64_t i = 0; i < arguments->length; i++) {
        int64_t bytes = FIRESTEEL_VALUES(int64_t, arguments->children[0])[i];
        if (bytes < 0) {
            return firesteel_fail(failure, FIRESTEEL_STATUS_INVALID, i, "22003", "%lld bytes", (long long)bytes);
        }
        if (task->host->reserve(task, (size_t)bytes) != FIRESTEEL_STATUS_OK) {
            return firesteel_fail(failure, FIRESTEEL_STATUS_NO_MEMORY, i, NULL, "no %lld bytes", (long long)bytes);
        }
        task->host->release(task, (size_t)bytes);
    }
    return same((void *)&EIGHT, task, arguments, result, failure);
}

/* The same text for all rows. */
static firesteel_status repeat(const char *text, int64_t rows, ArrowArray *result, firesteel_failure *failure) {
    firesteel_strings strings;
    if (!firesteel_strings_begin(&strings, result, rows)) {
        return no_memory(failure);
    }
    for (int64_t i = 0; i < rows; i++) {
        if (!firesteel_strings_add(&strings, firesteel_str_of(text))) {
            firesteel_release(result);
            return no_memory(failure);
        }
    }
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status task_of(CALL_ARGUMENTS) {
    CALL_UNUSED;
    char text[256];
    snprintf(text, sizeof text, "stage=%d partition=%d attempt=%d id=%lld zone=%.*s ansi=%u", (int)task->stage_id,
             (int)task->partition_id, (int)task->attempt_number, (long long)task->task_attempt_id,
             (int)task->time_zone.len, task->time_zone.data, (unsigned)task->ansi);
    return repeat(text, arguments->length, result, failure);
}

/* Says of both arguments whether they are constants, and of which value. */
static firesteel_status bind_constants(BIND_ARGUMENTS) {
    BIND_UNUSED;
    char *text = calloc(1, 128);
    if (text == NULL) {
        return no_memory(failure);
    }
    for (int i = 0; i < 2; i++) {
        size_t len = strlen(text);
        if (is_constant == NULL || constants == NULL || !is_constant[i]) {
            snprintf(text + len, 128 - len, "%sany", i == 0 ? "" : ", ");
        } else if (!firesteel_is_valid(constants->children[i], 0)) {
            snprintf(text + len, 128 - len, "%snull", i == 0 ? "" : ", ");
        } else {
            snprintf(text + len, 128 - len, "%s%lld", i == 0 ? "" : ", ",
                     (long long)FIRESTEEL_VALUES(int64_t, constants->children[i])[0]);
        }
    }
    *instance = text;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status constants_of(CALL_ARGUMENTS) {
    CALL_UNUSED;
    return repeat(instance, arguments->length, result, failure);
}

/* A failure that names the row: of the first negative number. */
static firesteel_status no_negatives(CALL_ARGUMENTS) {
    CALL_UNUSED;
    for (int64_t i = 0; i < arguments->length; i++) {
        if (FIRESTEEL_VALUES(int32_t, arguments->children[0])[i] < 0) {
            return firesteel_fail(failure, FIRESTEEL_STATUS_INVALID, i, "22023", "%d is negative",
                                  (int)FIRESTEEL_VALUES(int32_t, arguments->children[0])[i]);
        }
    }
    return same((void *)&FOUR, task, arguments, result, failure);
}

#include "everything_groups.h"

/* ---- The module ---- */

#define SIGNATURES(of, ...) static const firesteel_signature of##_SIGNATURES[] = {__VA_ARGS__};
#define OF(arguments, result) {FIRESTEEL_TEXT(arguments), FIRESTEEL_TEXT(result)}
#define FUNCTION(of, word, kind_, nulls_, ...)                                                \
    static const firesteel_function of = {.struct_size = sizeof(firesteel_function),          \
                                          .name = FIRESTEEL_TEXT(word),                       \
                                          .description = FIRESTEEL_TEXT("Test: " word "."),   \
                                          .kind = FIRESTEEL_KIND_##kind_,                     \
                                          .nulls = FIRESTEEL_NULLS_##nulls_,                  \
                                          .signatures = of##_SIGNATURES,                      \
                                          .signature_count = sizeof of##_SIGNATURES / sizeof(firesteel_signature), \
                                          __VA_ARGS__};
#define STEADY .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE
#define SCALAR(of, word, arguments, result, nulls, ...)     \
    SIGNATURES(of, OF(arguments, result))                   \
    FUNCTION(of, word, SCALAR, nulls, __VA_ARGS__)
#define SAME(of, word, type, shape_) \
    SCALAR(of, "same_" word, type, type, GIVEN, STEADY, .data = (void *)&shape_, .bind = bind_data, .execute = same)

SAME(SAME_BOOLEAN, "boolean", "boolean", BITS)
SAME(SAME_TINYINT, "tinyint", "tinyint", ONE)
SAME(SAME_SMALLINT, "smallint", "smallint", TWO)
SAME(SAME_INT, "int", "int", FOUR)
SAME(SAME_BIGINT, "bigint", "bigint", EIGHT)
SAME(SAME_FLOAT, "float", "float", FOUR)
SAME(SAME_DOUBLE, "double", "double", EIGHT)
SAME(SAME_DECIMAL, "decimal", "decimal(20,2)", SIXTEEN)
SAME(SAME_STRING, "string", "string", TEXTS)
SAME(SAME_BINARY, "binary", "binary", TEXTS)
SAME(SAME_DATE, "date", "date", FOUR)
SAME(SAME_TIMESTAMP, "timestamp", "timestamp", EIGHT)
SAME(SAME_TIMESTAMP_NTZ, "timestamp_ntz", "timestamp_ntz", EIGHT)
SAME(SAME_ARRAY, "array", "array<int>", INTS)
SAME(SAME_MAP, "map", "map<string,bigint>", MAP)
SAME(SAME_STRUCT, "struct", "struct<a:int,b:string>", STRUCT)

SCALAR(ANSWER, "answer", "", "int", GIVEN, STEADY, .execute = answer)
SCALAR(COUNTER, "counter", "", "bigint", GIVEN, .volatility = FIRESTEEL_VOLATILITY_VOLATILE, .bind = bind_counter,
       .unbind = free, .execute = counter)
SCALAR(UNTIL_CANCELLED, "until_cancelled", "bigint", "int", SKIPPED, STEADY, .execute = until_cancelled)
SCALAR(LOGS, "logs", "string", "string", GIVEN, STEADY, .data = (void *)&TEXTS, .bind = bind_data, .execute = logs)
SCALAR(HOG, "hog", "bigint", "bigint", SKIPPED, STEADY, .execute = hog)
SCALAR(BORROWS, "borrows", "bigint", "bigint", SKIPPED, STEADY, .execute = borrows)
SCALAR(TASK_OF, "task_of", "", "string", GIVEN, .volatility = FIRESTEEL_VOLATILITY_STABLE, .execute = task_of)
SCALAR(CONSTANTS_OF, "constants_of", "bigint, bigint", "string", GIVEN, STEADY, .bind = bind_constants,
       .unbind = free, .execute = constants_of)
SCALAR(NO_NEGATIVES, "no_negatives", "int", "int", SKIPPED, STEADY, .execute = no_negatives)

SIGNATURES(TWICE, OF("int", "int"), OF("bigint", "bigint"), OF("double", "double"))
FUNCTION(TWICE, "twice", SCALAR, SKIPPED, STEADY, .bind = bind_signature, .execute = twice)

SIGNATURES(SUM_OF, OF("bigint", "bigint"))
FUNCTION(SUM_OF, "sum_of", AGGREGATE, SKIPPED, STEADY, .bind = bind_groups, .unbind = unbind_groups,
         .state = FIRESTEEL_TEXT("sum:bigint, rows:bigint"), .update = update_sum, .merge = merge_groups,
         .states = states_of_groups, .finish = finish_sum, .size = size_of_groups)
SIGNATURES(COUNT_ALL, OF("", "bigint"))
FUNCTION(COUNT_ALL, "count_all", AGGREGATE, GIVEN, STEADY, .bind = bind_groups, .unbind = unbind_groups,
         .state = FIRESTEEL_TEXT("sum:bigint, rows:bigint"), .update = update_count, .merge = merge_groups,
         .states = states_of_groups, .finish = finish_count, .size = size_of_groups)
SIGNATURES(PASS_THROUGH, OF("", "id:bigint, value:string"))
FUNCTION(PASS_THROUGH, "pass_through", PARTITION, GIVEN, STEADY, .open = pass_through)

static const firesteel_function *const FUNCTIONS[] = {
    &SAME_BOOLEAN, &SAME_TINYINT, &SAME_SMALLINT, &SAME_INT,       &SAME_BIGINT,        &SAME_FLOAT,   &SAME_DOUBLE,
    &SAME_DECIMAL, &SAME_STRING,  &SAME_BINARY,   &SAME_DATE,      &SAME_TIMESTAMP,     &SAME_TIMESTAMP_NTZ,
    &SAME_ARRAY,   &SAME_MAP,     &SAME_STRUCT,   &ANSWER,         &COUNTER,            &TWICE,        &UNTIL_CANCELLED,
    &LOGS,         &HOG,          &BORROWS,       &TASK_OF,        &CONSTANTS_OF,       &NO_NEGATIVES, &SUM_OF,
    &COUNT_ALL,    &PASS_THROUGH,
};

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    firesteel_str name = FIRESTEEL_TEXT("everything"), version = FIRESTEEL_TEXT("1.0");
    return firesteel_fill_module(host, module, failure, name, version, FUNCTIONS,
                                 sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
