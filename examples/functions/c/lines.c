/* A partition function and a table function, both with streams: `parse_pairs` and `sequence_of`.
 *
 *     cc -std=c11 -O2 -shared -fPIC -Iinclude examples/functions/c/lines.c -o liblines.so
 *
 * `parse_pairs` makes of lines such as `k=v;k2=v2` a row for each pair; `k` alone has a null value. It reads a batch
 * of its input whenever it is asked for a batch, so that it needs no more memory for large partitions.
 * `sequence_of(3)` is 1, 2, 3. */
#include "firesteel_functions.h"

#include <errno.h>

enum { BATCH_ROWS = 4096 };

/* What both streams keep. The task outlives the stream. */
typedef struct stream_state {
    ArrowArrayStream input;
    const firesteel_task *task;
    int64_t lines; /* parse_pairs: lines so far, nulls counted */
    ArrowArray calls; /* sequence_of: the batch of arguments, once it was read */
    int64_t call; /* the row of it that is worked on, */
    int64_t next; /* and the next number that it gives */
    char error[256];
} stream_state;

static int fail(stream_state *state, int code, const char *message) {
    snprintf(state->error, sizeof state->error, "%s", message);
    return code;
}

static int no_memory(stream_state *state) { return fail(state, ENOMEM, "no memory for a batch"); }

static const char *last_error(ArrowArrayStream *stream) {
    stream_state *state = stream->private_data;
    return state->error[0] == '\0' ? NULL : state->error;
}

static void release(ArrowArrayStream *stream) {
    stream_state *state = stream->private_data;
    state->input.release(&state->input);
    firesteel_release(&state->calls);
    free(state);
    stream->release = NULL;
}

/* Takes the input over, last of all: after a failure it must still be the host's. */
static firesteel_status open_stream(const firesteel_task *task, ArrowArrayStream *input, ArrowArrayStream *output,
                                    firesteel_failure *failure,
                                    int (*get_schema)(ArrowArrayStream *, ArrowSchema *),
                                    int (*get_next)(ArrowArrayStream *, ArrowArray *)) {
    stream_state *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return firesteel_fail(failure, FIRESTEEL_STATUS_NO_MEMORY, -1, NULL, "no memory for a stream");
    }
    state->task = task;
    state->input = *input;
    input->release = NULL;
    *output = (ArrowArrayStream){get_schema, get_next, last_error, release, state};
    return FIRESTEEL_STATUS_OK;
}

/* The next batch of the input; its `release` is NULL at the end. */
static int read_input(stream_state *state, ArrowArray *batch) {
    batch->release = NULL;
    int code = state->input.get_next(&state->input, batch);
    if (code != 0) {
        const char *why = state->input.get_last_error(&state->input);
        return fail(state, code, why == NULL ? "the input failed" : why);
    }
    return 0;
}

/* ---- parse_pairs ---- */

static int pairs_schema(ArrowArrayStream *stream, ArrowSchema *schema) {
    if (!firesteel_new_schema(schema, "+s", "", 3)) {
        return no_memory(stream->private_data);
    }
    if (!firesteel_new_schema(schema->children[0], "u", "key", 0) ||
        !firesteel_new_schema(schema->children[1], "u", "value", 0) ||
        !firesteel_new_schema(schema->children[2], "l", "line", 0)) {
        schema->release(schema);
        return no_memory(stream->private_data);
    }
    return 0;
}

/* The first pair of a text, which is left with the rest. */
static firesteel_str next_pair(firesteel_str *rest) {
    firesteel_str pair = *rest;
    const char *end = rest->len == 0 ? NULL : memchr(rest->data, ';', rest->len);
    if (end == NULL) {
        *rest = (firesteel_str){NULL, 0};
        return pair;
    }
    pair.len = (size_t)(end - rest->data);
    rest->data += pair.len + 1;
    rest->len -= pair.len + 1;
    return pair;
}

static int64_t pairs_in(const ArrowArray *lines) {
    int64_t pairs = 0;
    for (int64_t i = 0; i < lines->length; i++) {
        firesteel_str rest = firesteel_is_valid(lines, i) ? firesteel_string_at(lines, i) : (firesteel_str){NULL, 0};
        while (rest.len > 0) {
            pairs += next_pair(&rest).len > 0;
        }
    }
    return pairs;
}

static int parse_line(stream_state *state, firesteel_str rest, firesteel_strings *keys, firesteel_strings *values,
                      int64_t *lines) {
    while (rest.len > 0) {
        firesteel_str pair = next_pair(&rest);
        if (pair.len == 0) {
            continue;
        }
        const char *equals = memchr(pair.data, '=', pair.len);
        firesteel_str key = {pair.data, equals == NULL ? pair.len : (size_t)(equals - pair.data)};
        bool good = true;
        lines[keys->row] = state->lines;
        if (equals == NULL) {
            good = firesteel_strings_add_null(values);
        } else {
            firesteel_str value = {equals + 1, pair.len - key.len - 1};
            good = firesteel_strings_add(values, value);
        }
        if (!good || !firesteel_strings_add(keys, key)) {
            return no_memory(state);
        }
    }
    return 0;
}

static int parse_batch(stream_state *state, const ArrowArray *batch, ArrowArray *pairs) {
    const ArrowArray *column = batch->children[0];
    int64_t count = pairs_in(column);
    firesteel_strings keys, values;
    if (!firesteel_new_struct(pairs, count, 3)) {
        return no_memory(state);
    }
    int64_t *lines = firesteel_new_values(pairs->children[2], count, sizeof *lines);
    if (lines == NULL || !firesteel_strings_begin(&keys, pairs->children[0], count) ||
        !firesteel_strings_begin(&values, pairs->children[1], count)) {
        pairs->release(pairs);
        return no_memory(state);
    }
    for (int64_t i = 0; i < column->length; i++) {
        state->lines++;
        int code = 0;
        if (firesteel_is_valid(column, i)) {
            code = parse_line(state, firesteel_string_at(column, i), &keys, &values, lines);
        }
        if (code != 0) {
            pairs->release(pairs);
            return code;
        }
    }
    return 0;
}

static int next_pairs(ArrowArrayStream *stream, ArrowArray *pairs) {
    stream_state *state = stream->private_data;
    ArrowArray batch;
    int code = read_input(state, &batch);
    if (code != 0 || batch.release == NULL) {
        pairs->release = NULL;
        return code;
    }
    code = parse_batch(state, &batch, pairs);
    batch.release(&batch);
    return code;
}

static firesteel_status open_pairs(void *instance, const firesteel_task *task, ArrowArrayStream *input,
                                   ArrowArrayStream *output, firesteel_failure *failure) {
    (void)instance;
    return open_stream(task, input, output, failure, pairs_schema, next_pairs);
}

/* ---- sequence_of ---- */

static int numbers_schema(ArrowArrayStream *stream, ArrowSchema *schema) {
    if (!firesteel_new_schema(schema, "+s", "", 2)) {
        return no_memory(stream->private_data);
    }
    if (!firesteel_new_schema(schema->children[0], "l", "call", 0) ||
        !firesteel_new_schema(schema->children[1], "+s", "row", 1) ||
        !firesteel_new_schema(schema->children[1]->children[0], "l", "n", 0)) {
        schema->release(schema);
        return no_memory(stream->private_data);
    }
    return 0;
}

/* A batch of one call: at most BATCH_ROWS numbers, up to `last`. */
static int give_numbers(stream_state *state, int64_t last, ArrowArray *batch) {
    int64_t count = last - state->next + 1 < BATCH_ROWS ? last - state->next + 1 : BATCH_ROWS;
    if (!firesteel_new_struct(batch, count, 2)) {
        return no_memory(state);
    }
    int64_t *calls = firesteel_new_values(batch->children[0], count, sizeof *calls);
    if (calls == NULL || !firesteel_new_struct(batch->children[1], count, 1)) {
        batch->release(batch);
        return no_memory(state);
    }
    int64_t *numbers = firesteel_new_values(batch->children[1]->children[0], count, sizeof *numbers);
    if (numbers == NULL) {
        batch->release(batch);
        return no_memory(state);
    }
    for (int64_t i = 0; i < count; i++) {
        calls[i] = state->call;
        numbers[i] = state->next + i;
    }
    state->next += count;
    return 0;
}

static int next_numbers(ArrowArrayStream *stream, ArrowArray *batch) {
    stream_state *state = stream->private_data;
    batch->release = NULL;
    if (state->task->host->is_cancelled(state->task)) {
        return fail(state, ECANCELED, "the task was cancelled");
    }
    if (state->next == 0) {
        state->next = 1;
        int code = read_input(state, &state->calls);
        if (code != 0) {
            return code;
        }
    }
    if (state->calls.release == NULL) {
        return 0;
    }
    const int64_t *last = FIRESTEEL_VALUES(int64_t, state->calls.children[0]);
    while (state->call < state->calls.length && state->next > last[state->call]) {
        state->call++;
        state->next = 1;
    }
    return state->call == state->calls.length ? 0 : give_numbers(state, last[state->call], batch);
}

static firesteel_status open_numbers(void *instance, const firesteel_task *task, ArrowArrayStream *input,
                                     ArrowArrayStream *output, firesteel_failure *failure) {
    (void)instance;
    return open_stream(task, input, output, failure, numbers_schema, next_numbers);
}

/* ---- The module ---- */

static const firesteel_signature OF_PAIRS = {
    .arguments = FIRESTEEL_TEXT("value:string"),
    .result = FIRESTEEL_TEXT("key:string, value:string, line:bigint"),
};

static const firesteel_function PARSE_PAIRS = {
    .struct_size = sizeof(firesteel_function),
    .name = FIRESTEEL_TEXT("parse_pairs"),
    .description = FIRESTEEL_TEXT("The pairs of lines such as k=v;k2=v2."),
    .kind = FIRESTEEL_KIND_PARTITION,
    .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE,
    .nulls = FIRESTEEL_NULLS_GIVEN,
    .signatures = &OF_PAIRS,
    .signature_count = 1,
    .open = open_pairs,
};

static const firesteel_signature OF_NUMBERS = {
    .arguments = FIRESTEEL_TEXT("bigint"),
    .result = FIRESTEEL_TEXT("n:bigint"),
};

static const firesteel_function SEQUENCE_OF = {
    .struct_size = sizeof(firesteel_function),
    .name = FIRESTEEL_TEXT("sequence_of"),
    .description = FIRESTEEL_TEXT("The numbers from 1 to n."),
    .kind = FIRESTEEL_KIND_TABLE,
    .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE,
    .nulls = FIRESTEEL_NULLS_SKIPPED,
    .signatures = &OF_NUMBERS,
    .signature_count = 1,
    .open = open_numbers,
};

static const firesteel_function *const FUNCTIONS[] = {&PARSE_PAIRS, &SEQUENCE_OF};

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    firesteel_str name = FIRESTEEL_TEXT("lines"), version = FIRESTEEL_TEXT("1.0");
    return firesteel_fill_module(host, module, failure, name, version, FUNCTIONS, 2);
}
