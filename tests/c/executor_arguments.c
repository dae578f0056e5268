/* Arguments of an executor, good and bad; and an executor that is never started. */
#include "check.h"

static void bad(void) {
    firesteel_executor *executor = (firesteel_executor *)1;
    firesteel_str arguments[] = {text("--driver-url"), text("spark://CoarseGrainedScheduler@localhost:1"),
                                 text("--executor-id"), text("7"), text("--no-such-option"), text("x")};

    CHECK_FAILS(firesteel_executor_new(NULL, 0, &executor, &error), FIRESTEEL_INVALID_ARGUMENT, "Usage:");
    CHECK(executor == NULL);
    CHECK_FAILS(firesteel_executor_new(arguments, 6, &executor, &error), FIRESTEEL_INVALID_ARGUMENT, "--no-such-option");
    CHECK_FAILS(firesteel_executor_new(arguments, 4, &executor, &error), FIRESTEEL_INVALID_ARGUMENT, "--app-id");
    CHECK_FAILS(firesteel_executor_new(arguments, 3, &executor, &error), FIRESTEEL_INVALID_ARGUMENT, "--executor-id");

    CHECK_FAILS(firesteel_executor_new(NULL, 4, &executor, &error), FIRESTEEL_NULL_ARGUMENT, "arguments");
    CHECK_FAILS(firesteel_executor_new(arguments, 4, NULL, &error), FIRESTEEL_NULL_ARGUMENT, "executor");
    CHECK_FAILS(firesteel_executor_new(arguments, SIZE_MAX, &executor, &error), FIRESTEEL_INVALID_ARGUMENT, "count");
    CHECK_FAILS(firesteel_executor_new((firesteel_str *)((char *)arguments + 1), 1, &executor, &error),
                FIRESTEEL_INVALID_ARGUMENT, "aligned");
    CHECK(firesteel_executor_new(NULL, 4, NULL, NULL) == FIRESTEEL_NULL_ARGUMENT);

    arguments[1].data = NULL;
    CHECK_FAILS(firesteel_executor_new(arguments, 4, &executor, &error), FIRESTEEL_NULL_ARGUMENT, "arguments[1]");
    arguments[1] = text("spark://\xff\xfe@localhost:1");
    CHECK_FAILS(firesteel_executor_new(arguments, 4, &executor, &error), FIRESTEEL_NOT_UTF8, "arguments[1]");
    arguments[1].len = SIZE_MAX;
    CHECK_FAILS(firesteel_executor_new(arguments, 4, &executor, &error), FIRESTEEL_INVALID_ARGUMENT, "arguments[1]");
}

static void null_executor(void) {
    int32_t exit_code = 7;
    firesteel_text *json = (firesteel_text *)1;
    firesteel_counters counters = {.struct_size = sizeof counters};
    CHECK_FAILS(firesteel_executor_start(NULL, &error), FIRESTEEL_NULL_ARGUMENT, "executor");
    CHECK_FAILS(firesteel_executor_wait(NULL, -1, &exit_code, &error), FIRESTEEL_NULL_ARGUMENT, "executor");
    CHECK(exit_code == 0);
    CHECK_FAILS(firesteel_executor_stop(NULL, &error), FIRESTEEL_NULL_ARGUMENT, "executor");
    CHECK_FAILS(firesteel_executor_counters(NULL, &counters, &error), FIRESTEEL_NULL_ARGUMENT, "executor");
    CHECK_FAILS(firesteel_executor_counters_json(NULL, &json, &error), FIRESTEEL_NULL_ARGUMENT, "executor");
    CHECK(json == NULL);
    firesteel_executor_free(NULL);
}

static void never_started(void) {
    firesteel_str arguments[] = {text("--driver-url"),  text("spark://CoarseGrainedScheduler@localhost:1"),
                                 text("--executor-id"), text("7"),
                                 text("--hostname"),    text("localhost"),
                                 text("--cores"),       text("1"),
                                 text("--app-id"),      text("app-7"),
                                 text("--class-path"),  text("/nowhere/*:/nowhere/else.jar")};
    firesteel_executor *executor = NULL;
    CHECK_OK(firesteel_executor_new(arguments, 12, &executor, &error));

    int32_t exit_code = 7;
    firesteel_text *json = (firesteel_text *)1;
    firesteel_counters counters = {.struct_size = sizeof counters};
    for (int round = 0; round < 2; round++) {
        CHECK_FAILS(firesteel_executor_wait(executor, -1, &exit_code, &error), FIRESTEEL_NOT_STARTED, "start");
        CHECK_FAILS(firesteel_executor_wait(executor, 0, NULL, &error), FIRESTEEL_NOT_STARTED, "start");
        CHECK_FAILS(firesteel_executor_stop(executor, &error), FIRESTEEL_NOT_STARTED, "start");
        CHECK_FAILS(firesteel_executor_counters(executor, &counters, &error), FIRESTEEL_NOT_STARTED, "start");
        CHECK_FAILS(firesteel_executor_counters_json(executor, &json, &error), FIRESTEEL_NOT_STARTED, "start");
        CHECK(exit_code == 0 && json == NULL);
        /* Fails, so that the executor is as if it had not been tried. */
        CHECK_FAILS(firesteel_executor_start(executor, &error), FIRESTEEL_CLASS_PATH, "class path");
    }
    firesteel_executor_free(executor);
}

int main(void) {
    bad();
    null_executor();
    never_started();
    return 0;
}
