/* Functions that break the rules of the interface, one rule each. Those of single rows take an int and give one. */
#include "one_function.h"

#include <errno.h>

#define CALL_ARGUMENTS                                                                           \
    void *instance, const firesteel_task *task, const ArrowArray *arguments, ArrowArray *result, \
        firesteel_failure *failure

/* A good result, or what the function spoils. */
static firesteel_status ones(int64_t rows, ArrowArray *result, firesteel_failure *failure) {
    ArrowArray like = {.length = rows};
    return execute_one(NULL, NULL, &like, result, failure);
}

static firesteel_status too_few(CALL_ARGUMENTS) {
    (void)instance, (void)task;
    return ones(arguments->length > 0 ? arguments->length - 1 : 0, result, failure);
}

static firesteel_status too_many(CALL_ARGUMENTS) {
    (void)instance, (void)task;
    return ones(arguments->length + 1, result, failure);
}

/* An array of strings where one of ints should be. */
static firesteel_status wrong_buffers(CALL_ARGUMENTS) {
    (void)instance, (void)task, (void)failure;
    firesteel_strings strings;
    if (!firesteel_strings_begin(&strings, result, arguments->length)) {
        return FIRESTEEL_STATUS_NO_MEMORY;
    }
    for (int64_t i = 0; i < arguments->length; i++) {
        firesteel_strings_add(&strings, firesteel_str_of("1"));
    }
    return FIRESTEEL_STATUS_OK;
}

/* The arguments' own buffers, not to be released by anybody: a result that is not the function's to give. */
static firesteel_status no_release(CALL_ARGUMENTS) {
    (void)instance, (void)task, (void)failure;
    *result = *arguments->children[0];
    result->release = NULL;
    return FIRESTEEL_STATUS_OK;
}

/* Legal: a result that begins after three rows of its buffers. Gives 1 for each row. */
static firesteel_status with_offset(CALL_ARGUMENTS) {
    (void)instance, (void)task;
    firesteel_status status = ones(arguments->length + 3, result, failure);
    if (status == FIRESTEEL_STATUS_OK) {
        memset((void *)(uintptr_t)result->buffers[1], 0, 3 * sizeof(int32_t));
        result->offset = 3;
        result->length = arguments->length;
    }
    return status;
}

static firesteel_status negative_length(CALL_ARGUMENTS) {
    (void)instance, (void)task;
    firesteel_status status = ones(arguments->length, result, failure);
    result->length = -1;
    return status;
}

static void release_with_dictionary(ArrowArray *array) {
    firesteel_release(array->dictionary);
    free(array->dictionary);
    firesteel_release_made(array);
}

static firesteel_status dictionary_set(CALL_ARGUMENTS) {
    (void)instance, (void)task;
    firesteel_status status = ones(arguments->length, result, failure);
    if (status == FIRESTEEL_STATUS_OK) {
        result->dictionary = calloc(1, sizeof(ArrowArray));
        if (result->dictionary != NULL) {
            ones(2, result->dictionary, failure);
        }
        result->release = release_with_dictionary;
    }
    return status;
}

static firesteel_status untouched(CALL_ARGUMENTS) {
    (void)instance, (void)task, (void)arguments, (void)result, (void)failure;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status status_99(CALL_ARGUMENTS) {
    (void)instance, (void)task, (void)arguments, (void)result, (void)failure;
    return 99;
}

/* Fills all of the message's room with what is no UTF-8, claims that there is more, and gives a SQLSTATE without a
 * NUL and a row that is not there. */
static firesteel_status long_message(CALL_ARGUMENTS) {
    (void)instance, (void)task, (void)result;
    memset(failure->message, 0xC3, failure->message_capacity);
    failure->message_len = failure->message_capacity + 1000;
    memset(failure->sqlstate, 'Z', sizeof failure->sqlstate);
    failure->row = arguments->length + 5;
    return FIRESTEEL_STATUS_INVALID;
}

/* Fails, and gives a result all the same, which would leak if the host did not release it. */
static firesteel_status failed_with_result(CALL_ARGUMENTS) {
    (void)instance, (void)task;
    ones(arguments->length, result, failure);
    return firesteel_fail(failure, FIRESTEEL_STATUS_INVALID, 0, NULL, "failed, and gave a result");
}

/* Never ends, and asks nobody whether it should. */
static firesteel_status spin(CALL_ARGUMENTS) {
    (void)instance, (void)task, (void)arguments, (void)result, (void)failure;
    static volatile int for_ever = 1;
    while (for_ever) {
    }
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status crash(CALL_ARGUMENTS) {
    (void)instance, (void)task, (void)arguments, (void)result, (void)failure;
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status abort_me(CALL_ARGUMENTS) {
    (void)instance, (void)task, (void)arguments, (void)result, (void)failure;
    abort();
}

#include "bad_calls_groups.h"

/* ---- The module ---- */

#define FUNCTION(of, word, ...)                                          \
    static const firesteel_function of = {                               \
        .struct_size = sizeof(firesteel_function),                       \
        .name = FIRESTEEL_TEXT(word),                                    \
        .description = FIRESTEEL_TEXT("Test: " word "."),                \
        .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE,                    \
        .nulls = FIRESTEEL_NULLS_GIVEN,                                  \
        .signature_count = 1,                                            \
        __VA_ARGS__,                                                     \
    };
#define SCALAR(of, function) \
    FUNCTION(of, #function, .kind = FIRESTEEL_KIND_SCALAR, .signatures = &INT_TO_INT, .execute = function)
#define STREAM(of, function) \
    FUNCTION(of, #function, .kind = FIRESTEEL_KIND_PARTITION, .signatures = &VALUES, .open = function)

SCALAR(TOO_FEW, too_few)
SCALAR(TOO_MANY, too_many)
SCALAR(WRONG_BUFFERS, wrong_buffers)
SCALAR(NO_RELEASE, no_release)
SCALAR(WITH_OFFSET, with_offset)
SCALAR(NEGATIVE_LENGTH, negative_length)
SCALAR(DICTIONARY_SET, dictionary_set)
SCALAR(UNTOUCHED, untouched)
SCALAR(STATUS_99, status_99)
SCALAR(LONG_MESSAGE, long_message)
SCALAR(FAILED_WITH_RESULT, failed_with_result)
SCALAR(SPIN, spin)
SCALAR(CRASH, crash)
SCALAR(ABORT_ME, abort_me)
FUNCTION(WRONG_GROUPS, "wrong_groups", .kind = FIRESTEEL_KIND_AGGREGATE, .signatures = &INT_TO_INT,
         .state = FIRESTEEL_TEXT("rows:int"), .update = take_nothing, .merge = take_nothing, .states = give_states,
         .finish = give_too_few)
STREAM(STREAM_FAILS, stream_fails)
STREAM(STREAM_OTHER_SCHEMA, stream_other_schema)
STREAM(STREAM_OTHER_ROWS, stream_other_rows)
STREAM(STREAM_ENDLESS, stream_endless)
STREAM(STREAM_UNTOUCHED, stream_untouched)
STREAM(STREAM_DROPS_INPUT, stream_drops_input)
STREAM(STREAM_DROPS_AND_FAILS, stream_drops_and_fails)

static const firesteel_function *const FUNCTIONS[] = {
    &TOO_FEW,       &TOO_MANY,           &WRONG_BUFFERS,        &NO_RELEASE,         &WITH_OFFSET,
    &DICTIONARY_SET, &UNTOUCHED,         &STATUS_99,            &LONG_MESSAGE,       &FAILED_WITH_RESULT,
    &SPIN,          &CRASH,              &ABORT_ME,             &WRONG_GROUPS,       &STREAM_FAILS,
    &STREAM_OTHER_SCHEMA, &STREAM_OTHER_ROWS, &STREAM_ENDLESS,  &STREAM_UNTOUCHED,   &STREAM_DROPS_INPUT,
    &STREAM_DROPS_AND_FAILS, &NEGATIVE_LENGTH,
};

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    firesteel_str name = FIRESTEEL_TEXT("bad_calls"), version = FIRESTEEL_TEXT("1.0");
    return firesteel_fill_module(host, module, failure, name, version, FUNCTIONS,
                                 sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
