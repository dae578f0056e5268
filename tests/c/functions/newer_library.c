/* A good module of a later minor version: its function has fields that the host does not know, its module would have,
 * too, but it fills in no more than the host has room for. */
#include "one_function.h"

typedef struct newer_function {
    firesteel_function known;
    firesteel_str unknown;
    void *more[4];
} newer_function;

typedef struct newer_module {
    firesteel_module known;
    firesteel_str unknown;
} newer_module;

static newer_function newer;
static const firesteel_function *functions[1];

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    newer_module mine = {.known = {.struct_size = sizeof mine}, .unknown = FIRESTEEL_TEXT("of a later version")};
    firesteel_str name = FIRESTEEL_TEXT("newer"), version = FIRESTEEL_TEXT("1.0");
    newer.known = ONE;
    newer.known.struct_size = sizeof newer;
    newer.unknown = mine.unknown;
    memset(newer.more, 0xAB, sizeof newer.more);
    functions[0] = &newer.known;
    firesteel_status status = firesteel_fill_module(host, &mine.known, failure, name, version, functions, 1);
    mine.known.abi_minor = FIRESTEEL_MODULE_MINOR + 7;
    mine.known.struct_size = module->struct_size < sizeof mine ? module->struct_size : sizeof mine;
    memcpy(module, &mine, mine.known.struct_size);
    return status;
}
