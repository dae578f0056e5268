/* A driver that nobody can reach. Arguments: its address, then the executor's own. */
#include "check.h"

int main(int argc, char **argv) {
    CHECK(argc > 2);
    firesteel_str arguments[64];
    size_t count = (size_t)argc - 2;
    CHECK(count <= 64);
    for (size_t i = 0; i < count; i++) {
        arguments[i] = text(argv[i + 2]);
    }
    firesteel_executor *executor = NULL;
    CHECK_OK(firesteel_executor_new(arguments, count, &executor, &error));
    /* A start that failed may be repeated; it has not made a started executor. */
    for (int round = 0; round < 2; round++) {
        CHECK_FAILS(firesteel_executor_start(executor, &error), FIRESTEEL_DRIVER_UNREACHABLE, argv[1]);
        CHECK_FAILS(firesteel_executor_wait(executor, 0, NULL, &error), FIRESTEEL_NOT_STARTED, "start");
    }
    CHECK(firesteel_executor_start(executor, NULL) == FIRESTEEL_DRIVER_UNREACHABLE);
    firesteel_executor_free(executor);
    return 0;
}
