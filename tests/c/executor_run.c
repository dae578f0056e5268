/* An executor of a real driver. Arguments: who ends it ("driver" or "host"), then the executor's own. Standard input is read to
 * its end before the host ends the executor, and before the end by the driver is expected. */
#include "check.h"

static void read_counters(const firesteel_executor *executor, int stopped, int32_t exit_code) {
    firesteel_counters counters = {.struct_size = sizeof counters, .exit_code = 99};
    CHECK_OK(firesteel_executor_counters(executor, &counters, &error));
    CHECK(counters.struct_size == sizeof counters);
    CHECK(counters.ms_to_registered != FIRESTEEL_UNKNOWN);
    CHECK(counters.peak_rss_bytes > 1000000);
    CHECK(counters.stopped == (uint32_t)stopped && counters.exit_code == exit_code);

    firesteel_text *json = NULL;
    CHECK_OK(firesteel_executor_counters_json(executor, &json, &error));
    firesteel_str report = firesteel_text_str(json);
    CHECK(contains(report, "\"ms_to_registered\":") && contains(report, "\"jvm_started\":"));
    printf("%.*s\n", (int)report.len, report.data);
    fflush(stdout);
    firesteel_text_free(json);

    CHECK_FAILS(firesteel_executor_counters(executor, NULL, &error), FIRESTEEL_NULL_ARGUMENT, "counters");
    CHECK_FAILS(firesteel_executor_counters_json(executor, NULL, &error), FIRESTEEL_NULL_ARGUMENT, "json");
    counters.struct_size = 0;
    CHECK_FAILS(firesteel_executor_counters(executor, &counters, &error), FIRESTEEL_INVALID_ARGUMENT, "struct_size");
    counters.struct_size = SIZE_MAX;
    CHECK_FAILS(firesteel_executor_counters(executor, &counters, &error), FIRESTEEL_INVALID_ARGUMENT, "struct_size");
}

int main(int argc, char **argv) {
    CHECK(argc > 2);
    int by_host = strcmp(argv[1], "host") == 0;
    size_t count = (size_t)argc - 2;
    firesteel_str *arguments = malloc(count * sizeof *arguments);
    CHECK(arguments != NULL);
    for (size_t i = 0; i < count; i++) {
        arguments[i] = text(argv[i + 2]);
    }
    firesteel_executor *executor = NULL;
    CHECK_OK(firesteel_executor_new(arguments, count, &executor, &error));
    free(arguments);

    CHECK_OK(firesteel_executor_start(executor, &error));
    CHECK_FAILS(firesteel_executor_start(executor, &error), FIRESTEEL_ALREADY_STARTED, "before");
    int32_t exit_code = 99;
    CHECK(firesteel_executor_wait(executor, 0, &exit_code, NULL) == FIRESTEEL_TIMED_OUT && exit_code == 0);
    read_counters(executor, 0, 0);

    while (getchar() != EOF) {
    }
    if (by_host) {
        CHECK_OK(firesteel_executor_stop(executor, &error));
        CHECK_OK(firesteel_executor_stop(executor, &error));
    }
    CHECK_OK(firesteel_executor_wait(executor, 120000, &exit_code, &error));
    CHECK(exit_code == 0);
    CHECK_OK(firesteel_executor_wait(executor, -1, NULL, &error));
    CHECK_OK(firesteel_executor_stop(executor, &error));
    read_counters(executor, 1, 0);
    firesteel_executor_free(executor);
    return 0;
}
