/* The helpers of firesteel_functions.h, where the other programs do not reach: texts that are cut, arrays of bits. */
#include "firesteel_functions.h"

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

/* The message "é" + "nn…" in so much room, which is memory of just that size. */
static void check_message(size_t capacity, size_t expected) {
    char *room = malloc(capacity > 0 ? capacity : 1);
    firesteel_failure failure = {.struct_size = sizeof failure, .row = -1, .message = room,
                                 .message_capacity = capacity};
    CHECK(room != NULL);
    CHECK(firesteel_fail(&failure, FIRESTEEL_STATUS_INVALID, 5, "22012", "a\xC3\xA9 %s\xE2\x82\xAC", "b") ==
          FIRESTEEL_STATUS_INVALID);
    CHECK(failure.message_len == expected);
    CHECK(memcmp(room, "a\xC3\xA9 b\xE2\x82\xAC", expected) == 0);
    CHECK(failure.row == 5 && strcmp(failure.sqlstate, "22012") == 0);
    free(room);
}

static void messages(void) {
    check_message(0, 0);
    check_message(1, 1);
    check_message(2, 1); /* not half of an é */
    check_message(3, 3);
    check_message(5, 5);
    check_message(6, 5); /* nor parts of a € */
    check_message(7, 5);
    check_message(8, 8);
    check_message(100, 8);

    firesteel_failure none = {.struct_size = sizeof none, .sqlstate = "xxxxx", .row = 3};
    firesteel_fail(&none, FIRESTEEL_STATUS_INTERNAL, -1, NULL, "%d", 1);
    CHECK(none.message_len == 0 && none.row == -1 && none.sqlstate[0] == '\0');
    firesteel_fail(&none, FIRESTEEL_STATUS_INTERNAL, -1, "longer than five", "%d", 1);
    CHECK(strcmp(none.sqlstate, "longe") == 0);
    CHECK(firesteel_fail(NULL, FIRESTEEL_STATUS_INTERNAL, -1, NULL, "%d", 1) == FIRESTEEL_STATUS_INTERNAL);
}

static void arrays(void) {
    ArrowArray array;
    uint8_t *bits = firesteel_new_booleans(&array, 11);
    CHECK(bits != NULL && array.length == 11);
    firesteel_set_bit(bits, 0);
    firesteel_set_bit(bits, 10);
    CHECK(firesteel_set_null(&array, 9) && firesteel_set_null(&array, 9) && array.null_count == 1);
    CHECK(firesteel_is_valid(&array, 8) && !firesteel_is_valid(&array, 9) && firesteel_is_valid(&array, 10));
    CHECK(firesteel_boolean_at(&array, 0) && !firesteel_boolean_at(&array, 1) && firesteel_boolean_at(&array, 10));
    array.offset = 3;
    CHECK(!firesteel_is_valid(&array, 6) && firesteel_boolean_at(&array, 7));
    array.release(&array);
    CHECK(array.release == NULL);
    firesteel_release(&array);

    /* Children that are never filled in are no mistake. */
    CHECK(firesteel_new_struct(&array, 0, 4));
    array.release(&array);
    ArrowSchema schema;
    CHECK(firesteel_new_schema(&schema, "+s", "rows", 4) && strcmp(schema.name, "rows") == 0);
    schema.release(&schema);

    /* More memory than there is. */
    CHECK(firesteel_new_values(&array, INT64_MAX / 16, 8) == NULL && array.release == NULL);
}

static void strings(void) {
    ArrowArray array;
    firesteel_strings strings;
    char text[100];
    memset(text, 'x', sizeof text);
    CHECK(firesteel_strings_begin(&strings, &array, 50));
    for (size_t i = 0; i < 49; i++) {
        CHECK(firesteel_strings_add(&strings, (firesteel_str){text, 2 * i}));
    }
    CHECK(firesteel_strings_add_null(&strings) && strings.row == 50);
    CHECK(firesteel_string_at(&array, 48).len == 96 && firesteel_string_at(&array, 0).data == NULL);
    CHECK(!firesteel_is_valid(&array, 49) && firesteel_string_at(&array, 49).len == 0);
    CHECK(!firesteel_strings_add(&strings, (firesteel_str){text, INT32_MAX})); /* too long: not read */
    array.release(&array);
}

int main(void) {
    messages();
    arrays();
    strings();
    return 0;
}
