/* Versions, and errors and texts that are not there. */
#include "check.h"

int main(void) {
    CHECK(firesteel_abi_version() == FIRESTEEL_ABI_VERSION);

    firesteel_str version = firesteel_version();
    CHECK(version.len >= 5 && memchr(version.data, '.', version.len) != NULL);
    CHECK(firesteel_version().data == version.data);

    CHECK(firesteel_error_code(NULL) == FIRESTEEL_OK);
    CHECK(firesteel_error_message(NULL).len == 0);
    firesteel_error_free(NULL);

    CHECK(firesteel_text_str(NULL).len == 0);
    firesteel_text_free(NULL);

    /* Programs store these: they never change. */
    CHECK(FIRESTEEL_OK == 0 && FIRESTEEL_TIMED_OUT == 1 && FIRESTEEL_INCOMPLETE == 2);
    CHECK(FIRESTEEL_NULL_ARGUMENT == 100 && FIRESTEEL_INVALID_ARGUMENT == 101);
    CHECK(FIRESTEEL_NOT_UTF8 == 102 && FIRESTEEL_NOT_STARTED == 103);
    CHECK(FIRESTEEL_ALREADY_STARTED == 104 && FIRESTEEL_INVALID_SETTING == 105);
    CHECK(FIRESTEEL_MALFORMED == 200 && FIRESTEEL_LIMIT_EXCEEDED == 201);
    CHECK(FIRESTEEL_DRIVER_REFUSED == 202);
    CHECK(FIRESTEEL_UNSUPPORTED == 300);
    CHECK(FIRESTEEL_DRIVER_UNREACHABLE == 400 && FIRESTEEL_LOCAL_RESOURCE == 401);
    CHECK(FIRESTEEL_CLASS_PATH == 402 && FIRESTEEL_JDK == 403);
    CHECK(FIRESTEEL_INTERNAL == 500);
    CHECK(sizeof(firesteel_code) == 4);
    return 0;
}
