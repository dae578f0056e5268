/* A module with a function whose signature nobody can read. */
#include "one_function.h"

static const firesteel_signature NONSENSE = {FIRESTEEL_TEXT("array<int, text"), FIRESTEEL_TEXT("int")};

static const firesteel_function UNREADABLE = {
    .struct_size = sizeof(firesteel_function),
    .name = FIRESTEEL_TEXT("unreadable"),
    .kind = FIRESTEEL_KIND_SCALAR,
    .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE,
    .nulls = FIRESTEEL_NULLS_GIVEN,
    .signatures = &NONSENSE,
    .signature_count = 1,
    .execute = execute_one,
};

static const firesteel_function *const FUNCTIONS[] = {&ONE, &UNREADABLE};

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    firesteel_str name = FIRESTEEL_TEXT("bad_signature"), version = FIRESTEEL_TEXT("1.0");
    return firesteel_fill_module(host, module, failure, name, version, FUNCTIONS, 2);
}
