/* A module that cannot begin, and says why. */
#include "firesteel_functions.h"

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    (void)host, (void)module;
    return firesteel_fail(failure, FIRESTEEL_STATUS_INVALID, -1, NULL, "no licence for %s", "the model of 2019");
}
