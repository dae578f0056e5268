/* Part of bad_calls.c: an aggregate, and partition functions with streams. Their input is `value:int`, as their output
 * should be. */
#ifndef BAD_CALLS_GROUPS_H
#define BAD_CALLS_GROUPS_H

static firesteel_status take_nothing(void *instance, const firesteel_task *task, const ArrowArray *rows,
                                     const uint32_t *groups, uint32_t count, firesteel_failure *failure) {
    (void)instance, (void)task, (void)rows, (void)groups, (void)count, (void)failure;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status give_states(void *instance, const firesteel_task *task, uint32_t count, ArrowArray *states,
                                    firesteel_failure *failure) {
    (void)instance, (void)task;
    if (!firesteel_new_struct(states, count, 1)) {
        return FIRESTEEL_STATUS_NO_MEMORY;
    }
    return ones(count, states->children[0], failure);
}

static firesteel_status give_too_few(void *instance, const firesteel_task *task, uint32_t count, ArrowArray *results,
                                     firesteel_failure *failure) {
    (void)instance, (void)task;
    return ones(count - 1, results, failure);
}

/* ---- Streams: the private data is the input, in memory of the stream's own ---- */

static const firesteel_signature VALUES = {FIRESTEEL_TEXT("value:int"), FIRESTEEL_TEXT("value:int")};

static int schema_of(ArrowSchema *schema, const char *format) {
    if (!firesteel_new_schema(schema, "+s", "", 1)) {
        return ENOMEM;
    }
    return firesteel_new_schema(schema->children[0], format, "value", 0) ? 0 : ENOMEM;
}

static int int_schema(ArrowArrayStream *stream, ArrowSchema *schema) {
    (void)stream;
    return schema_of(schema, "i");
}

static int string_schema(ArrowArrayStream *stream, ArrowSchema *schema) {
    (void)stream;
    return schema_of(schema, "u");
}

static int next_of_input(ArrowArrayStream *stream, ArrowArray *rows) {
    ArrowArrayStream *input = stream->private_data;
    return input->get_next(input, rows);
}

static int next_fails(ArrowArrayStream *stream, ArrowArray *rows) {
    (void)stream, (void)rows;
    return EINVAL;
}

static int next_one(ArrowArrayStream *stream, ArrowArray *rows) {
    (void)stream;
    if (!firesteel_new_struct(rows, 1, 1)) {
        return ENOMEM;
    }
    return ones(1, rows->children[0], NULL) == FIRESTEEL_STATUS_OK ? 0 : ENOMEM;
}

static int next_none(ArrowArrayStream *stream, ArrowArray *rows) {
    (void)stream;
    rows->release = NULL;
    return 0;
}

static const char *the_error(ArrowArrayStream *stream) {
    (void)stream;
    return "the third wheel came off";
}

static void release_stream(ArrowArrayStream *stream) {
    ArrowArrayStream *input = stream->private_data;
    if (input != NULL && input->release != NULL) {
        input->release(input);
    }
    free(input);
    stream->release = NULL;
}

static firesteel_status open_with(ArrowArrayStream *input, ArrowArrayStream *output,
                                  int (*get_schema)(ArrowArrayStream *, ArrowSchema *),
                                  int (*get_next)(ArrowArrayStream *, ArrowArray *)) {
    ArrowArrayStream *own = malloc(sizeof *own);
    if (own == NULL) {
        return FIRESTEEL_STATUS_NO_MEMORY;
    }
    *own = *input;
    input->release = NULL;
    *output = (ArrowArrayStream){get_schema, get_next, the_error, release_stream, own};
    return FIRESTEEL_STATUS_OK;
}

#define OPEN_ARGUMENTS                                                                                \
    void *instance, const firesteel_task *task, ArrowArrayStream *input, ArrowArrayStream *output,    \
        firesteel_failure *failure
#define OPEN_UNUSED (void)instance, (void)task, (void)input, (void)output, (void)failure

/* The first batch is an error with a text. */
static firesteel_status stream_fails(OPEN_ARGUMENTS) {
    OPEN_UNUSED;
    return open_with(input, output, int_schema, next_fails);
}

/* Says that its column is of strings. */
static firesteel_status stream_other_schema(OPEN_ARGUMENTS) {
    OPEN_UNUSED;
    return open_with(input, output, string_schema, next_of_input);
}

static int next_strings(ArrowArrayStream *stream, ArrowArray *rows) {
    (void)stream;
    firesteel_strings strings;
    if (!firesteel_new_struct(rows, 1, 1) || !firesteel_strings_begin(&strings, rows->children[0], 1)) {
        return ENOMEM;
    }
    return firesteel_strings_add(&strings, firesteel_str_of("1")) ? 0 : ENOMEM;
}

/* Says what it should, and gives strings. */
static firesteel_status stream_other_rows(OPEN_ARGUMENTS) {
    OPEN_UNUSED;
    return open_with(input, output, int_schema, next_strings);
}

/* Gives one row after another, whatever its input has. */
static firesteel_status stream_endless(OPEN_ARGUMENTS) {
    OPEN_UNUSED;
    return open_with(input, output, int_schema, next_one);
}

/* Says that all is well, and gives no stream. */
static firesteel_status stream_untouched(OPEN_ARGUMENTS) {
    OPEN_UNUSED;
    return FIRESTEEL_STATUS_OK;
}

/* Releases its input unread, where the host has it, and gives no rows: odd, but nothing is wrong with it. */
static firesteel_status stream_drops_input(OPEN_ARGUMENTS) {
    OPEN_UNUSED;
    input->release(input);
    *output = (ArrowArrayStream){int_schema, next_none, the_error, release_stream, NULL};
    return FIRESTEEL_STATUS_OK;
}

/* Releases its input and fails: after a failure it should still be the host's. */
static firesteel_status stream_drops_and_fails(OPEN_ARGUMENTS) {
    OPEN_UNUSED;
    input->release(input);
    return firesteel_fail(failure, FIRESTEEL_STATUS_INVALID, -1, NULL, "dropped its input");
}

#endif
