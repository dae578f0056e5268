/* A module of another major version, which did not look at the host's. */
#include "one_function.h"

static const firesteel_function *const FUNCTIONS[] = {&ONE};

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    firesteel_str name = FIRESTEEL_TEXT("bad_major"), version = FIRESTEEL_TEXT("1.0");
    firesteel_status status = firesteel_fill_module(host, module, failure, name, version, FUNCTIONS, 1);
    module->abi_major = FIRESTEEL_MODULE_MAJOR + 1;
    return status;
}
