/* A good module whose structs are shorter than the host's, as those of older libraries are: its function ends before
 * the fields of aggregates, in memory of its own of just that size, so that valgrind tells who reads on. */
#include "one_function.h"

#include <stddef.h>

static const firesteel_function *functions[1];

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    firesteel_str name = FIRESTEEL_TEXT("older"), version = FIRESTEEL_TEXT("1.0");
    size_t size = offsetof(firesteel_function, state);
    firesteel_function *shorter = malloc(size);
    if (shorter == NULL) {
        return firesteel_fail(failure, FIRESTEEL_STATUS_NO_MEMORY, -1, NULL, "no memory");
    }
    memcpy(shorter, &ONE, size);
    memcpy(shorter, &size, sizeof size); /* struct_size is its first field */
    functions[0] = shorter;
    return firesteel_fill_module(host, module, failure, name, version, functions, 1);
}
