/* A small host: loads a library of native functions, calls them with columns made by hand, and prints what they give.
 *
 *     host [--major N] [--module-size N] [--list] LIBRARY [FUNCTION…]
 *
 * Every function is called with whole columns, with columns that have offsets, without rows, and with a constant first
 * argument; the first two must give the same. Exits with 0 if all went well, 1 if a function failed or gave what the
 * interface does not allow, 2 for mistakes of its own. */
#define _POSIX_C_SOURCE 200809L

#include "host_columns.h"

#include <dlfcn.h>
#include <errno.h>

enum { ROWS = 8, SKIP = 3, GROUPS = 3, MANY = 100, POLLS = 50, MEMORY = 64 << 20 };

static int failures;
static int polls;
static size_t reserved;
static FILE *out;

/* ---- What the host has for functions ---- */

static void host_log(const firesteel_task *task, firesteel_log_level level, firesteel_str message) {
    (void)task;
    fprintf(out, "[log %u: %.*s] ", (unsigned)level, (int)message.len, message.data);
}

/* After a while, every task is cancelled. */
static int32_t host_is_cancelled(const firesteel_task *task) {
    (void)task;
    return ++polls > POLLS;
}

static firesteel_status host_reserve(const firesteel_task *task, size_t bytes) {
    (void)task;
    if (bytes > MEMORY - reserved) {
        return FIRESTEEL_STATUS_NO_MEMORY;
    }
    reserved += bytes;
    return FIRESTEEL_STATUS_OK;
}

static void host_release(const firesteel_task *task, size_t bytes) {
    (void)task;
    reserved -= bytes;
}

static firesteel_host HOST = {
    .struct_size = sizeof(firesteel_host),
    .abi_major = FIRESTEEL_MODULE_MAJOR,
    .abi_minor = FIRESTEEL_MODULE_MINOR,
    .name = FIRESTEEL_TEXT("host.c 1.0"),
    .log = host_log,
    .is_cancelled = host_is_cancelled,
    .reserve = host_reserve,
    .release = host_release,
};

static const firesteel_task TASK = {
    .struct_size = sizeof(firesteel_task),
    .host = &HOST,
    .time_zone = FIRESTEEL_TEXT("Europe/Paris"),
    .ansi = 1,
    .stage_id = 4,
    .partition_id = 7,
    .attempt_number = 0,
    .task_attempt_id = 42,
};

/* ---- Failures ---- */

typedef struct report {
    firesteel_failure failure;
    char message[256];
} report;

static firesteel_failure *fresh(report *r) {
    memset(r, 0, sizeof *r);
    r->failure = (firesteel_failure){.struct_size = sizeof r->failure, .row = -1, .message = r->message,
                                     .message_capacity = sizeof r->message};
    return &r->failure;
}

/* Prints what a call that failed says. */
static bool went_well(firesteel_status status, const report *r) {
    static const char *const NAMES[] = {"OK", "NOT_APPLICABLE", "INVALID", "NO_MEMORY", "CANCELLED", "INTERNAL"};
    if (status == FIRESTEEL_STATUS_OK) {
        return true;
    }
    failures++;
    fprintf(out, "%s", status < 6 ? NAMES[status] : "unknown status");
    if (r->failure.row >= 0) {
        fprintf(out, ", row %lld", (long long)r->failure.row);
    }
    if (r->failure.sqlstate[0] != '\0') {
        fprintf(out, ", %.5s", r->failure.sqlstate);
    }
    size_t len = r->failure.message_len < sizeof r->message ? r->failure.message_len : sizeof r->message;
    fprintf(out, ": %.*s", (int)len, r->message);
    return false;
}

static void complain(const char *what) {
    failures++;
    fprintf(out, "bad result: %s", what);
}

/* ---- Rows ---- */

typedef struct call {
    const firesteel_function *function;
    size_t signature;
    type *arguments, *result, *state;
    int64_t offset; /* of the columns */
    bool constant; /* the first argument is the same for all rows */
} call;

/* The number of which an argument's value is made. The last call of a table function is for many rows. */
static int64_t number_of(const call *c, int column, int64_t row) {
    if (c->function->kind == FIRESTEEL_KIND_TABLE && row == ROWS - 1) {
        return 1000;
    }
    return c->constant && column == 0 ? 2 : row + column;
}

/* Whether the function is to be called for a row. */
static bool is_called(const call *c, int64_t row) {
    for (int i = 0; c->function->nulls == FIRESTEEL_NULLS_SKIPPED && i < c->arguments->child_count; i++) {
        if (is_null(c->arguments->children[i], number_of(c, i, row))) {
            return false;
        }
    }
    return true;
}

/* Arguments of those rows from `begin` to `end` that the function is called for. */
static void make_arguments(const call *c, int64_t begin, int64_t end, ArrowArray *arguments) {
    int64_t numbers[SKIP + MANY], count = 0;
    int64_t rows[MANY];
    for (int64_t row = begin; row < end; row++) {
        if (is_called(c, row)) {
            rows[count++] = row;
        }
    }
    if (!firesteel_new_struct(arguments, count, c->arguments->child_count)) {
        die("no memory");
    }
    for (int i = 0; i < c->arguments->child_count; i++) {
        for (int64_t k = 0; k < c->offset; k++) {
            numbers[k] = 90 + k;
        }
        for (int64_t k = 0; k < count; k++) {
            numbers[c->offset + k] = number_of(c, i, rows[k]);
        }
        ArrowArray *column = arguments->children[i];
        make_column(c->arguments->children[i], numbers, c->offset + count, column);
        column->offset = c->offset;
        column->length = count;
        column->null_count = -1;
    }
}

static bool bind(const call *c, void **instance) {
    ArrowSchema schema;
    ArrowArray constants;
    uint8_t is_constant[MAX_CHILDREN] = {c->constant};
    report r;
    *instance = NULL;
    if (c->function->bind == NULL) {
        return true;
    }
    make_schema(c->arguments, &schema);
    call one = *c;
    one.offset = 0;
    /* A row that no function skips. */
    int64_t row = 0;
    while (!is_called(&one, row)) {
        row++;
    }
    make_arguments(&one, row, row + 1, &constants);
    for (int i = 0; i < c->arguments->child_count; i++) {
        if (!is_constant[i] && !firesteel_set_null(constants.children[i], 0)) {
            die("no memory");
        }
    }
    firesteel_status status = c->function->bind(c->function, &TASK, c->signature, &schema, &constants, is_constant,
                                                instance, fresh(&r));
    schema.release(&schema);
    constants.release(&constants);
    return went_well(status, &r);
}

static void unbind(const call *c, void *instance) {
    if (c->function->unbind != NULL) {
        c->function->unbind(instance);
    }
}

/* ---- Scalar functions ---- */

static void run_scalar(const call *c, int64_t rows) {
    void *instance;
    ArrowArray arguments, result = {0};
    report r;
    if (!bind(c, &instance)) {
        return;
    }
    make_arguments(c, 0, rows, &arguments);
    if (went_well(c->function->execute(instance, &TASK, &arguments, &result, fresh(&r)), &r)) {
        const char *wrong = fault(c->result, &result);
        wrong = wrong == NULL && result.length != arguments.length ? "another number of rows" : wrong;
        if (wrong != NULL) {
            complain(wrong);
        }
        for (int64_t row = 0, at = 0; wrong == NULL && row < rows; row++) {
            fputs(row == 0 ? "" : ", ", out);
            if (is_called(c, row)) {
                print_value(out, c->result, &result, at++);
            } else {
                fputs("null", out);
            }
        }
    }
    firesteel_release(&result);
    arguments.release(&arguments);
    unbind(c, instance);
}

/* ---- Aggregates: two instances of half of the rows each, of which the first takes the states of the second ---- */

static bool update(const call *c, void *instance, int64_t begin, int64_t end) {
    ArrowArray arguments;
    uint32_t groups[MANY];
    int64_t count = 0;
    report r;
    for (int64_t row = begin; row < end; row++) {
        if (is_called(c, row)) {
            groups[count++] = (uint32_t)(row % (GROUPS - 1)); /* the last group has no rows */
        }
    }
    make_arguments(c, begin, end, &arguments);
    firesteel_status status = c->function->update(instance, &TASK, &arguments, groups, GROUPS, fresh(&r));
    arguments.release(&arguments);
    return went_well(status, &r);
}

static bool merge(const call *c, void *to, void *from) {
    ArrowArray states = {0};
    report r;
    uint32_t groups[GROUPS] = {0, 1, 2};
    bool good = went_well(c->function->states(from, &TASK, GROUPS, &states, fresh(&r)), &r);
    const char *wrong = good ? fault(c->state, &states) : NULL;
    wrong = good && wrong == NULL && states.length != GROUPS ? "another number of states" : wrong;
    if (wrong != NULL) {
        complain(wrong);
        good = false;
    }
    good = good && went_well(c->function->merge(to, &TASK, &states, groups, GROUPS, fresh(&r)), &r);
    firesteel_release(&states);
    return good;
}

static void run_aggregate(const call *c, int64_t rows) {
    void *first, *second;
    ArrowArray results = {0};
    report r;
    if (!bind(c, &first)) {
        return;
    }
    if (!bind(c, &second)) {
        unbind(c, first);
        return;
    }
    bool good = update(c, first, 0, rows / 2) && update(c, second, rows / 2, rows) && merge(c, first, second);
    if (good && c->function->size != NULL && c->function->size(first) > 1 << 20) {
        complain("a size of more than 1 MiB");
    }
    if (good && went_well(c->function->finish(first, &TASK, GROUPS, &results, fresh(&r)), &r)) {
        const char *wrong = fault(c->result, &results);
        wrong = wrong == NULL && results.length != GROUPS ? "another number of groups" : wrong;
        if (wrong != NULL) {
            complain(wrong);
        }
        for (int64_t i = 0; wrong == NULL && i < GROUPS; i++) {
            fputs(i == 0 ? "" : ", ", out);
            print_value(out, c->result, &results, i);
        }
    }
    firesteel_release(&results);
    unbind(c, first);
    unbind(c, second);
}

/* ---- Partition and table functions ---- */

typedef struct feed {
    const call *c;
    int64_t at, end, step;
} feed;

static int feed_schema(ArrowArrayStream *stream, ArrowSchema *schema) {
    make_schema(((feed *)stream->private_data)->c->arguments, schema);
    return 0;
}

static int feed_next(ArrowArrayStream *stream, ArrowArray *rows) {
    feed *f = stream->private_data;
    rows->release = NULL;
    if (f->at < f->end) {
        int64_t end = f->at + f->step < f->end ? f->at + f->step : f->end;
        make_arguments(f->c, f->at, end, rows);
        f->at = end;
    }
    return 0;
}

static const char *feed_error(ArrowArrayStream *stream) {
    (void)stream;
    return NULL;
}

static void feed_release(ArrowArrayStream *stream) {
    free(stream->private_data);
    stream->release = NULL;
}

static void print_rows(const type *t, const ArrowArray *rows, int64_t *printed) {
    for (int64_t i = 0; i < rows->length; i++) {
        if ((*printed)++ < 24) {
            print_value(out, t, rows, i);
            fputs(" ", out);
        } else if (i == rows->length - 1) {
            fputs("… ", out);
            print_value(out, t, rows, i);
            fputs(" ", out);
        }
    }
}

static void read_stream(const type *t, ArrowArrayStream *stream) {
    ArrowSchema schema = {0};
    int64_t printed = 0;
    if (stream->get_schema(stream, &schema) != 0 || schema.release == NULL) {
        complain("no schema");
        return;
    }
    bool same = same_schema(t, &schema, false);
    schema.release(&schema);
    if (!same) {
        complain("another schema than declared");
        return;
    }
    for (int batches = 0;; batches++) {
        ArrowArray rows = {0};
        int code = stream->get_next(stream, &rows);
        if (code != 0) {
            const char *why = stream->get_last_error(stream);
            failures++;
            fprintf(out, "error %s: %s", strerror(code), why == NULL ? "no reason" : why);
            return;
        }
        if (rows.release == NULL) {
            fprintf(out, "%lld rows in %d batches", (long long)printed, batches);
            return;
        }
        const char *wrong = batches > MANY ? "a stream that does not end" : fault(t, &rows);
        if (wrong != NULL) {
            complain(wrong);
            firesteel_release(&rows);
            return;
        }
        print_rows(t, &rows, &printed);
        rows.release(&rows);
    }
}

static void run_stream(const call *c, int64_t rows) {
    void *instance;
    report r;
    if (!bind(c, &instance)) {
        return;
    }
    bool table = c->function->kind == FIRESTEEL_KIND_TABLE;
    feed *f = allocated(calloc(1, sizeof *f));
    *f = (feed){c, 0, rows, table ? MANY : 3};
    ArrowArrayStream input = {feed_schema, feed_next, feed_error, feed_release, f}, output = {0};
    if (went_well(c->function->open(instance, &TASK, &input, &output, fresh(&r)), &r)) {
        if (output.release == NULL) {
            complain("no stream");
        } else {
            read_stream(c->result, &output);
            output.release(&output);
        }
    }
    if (input.release != NULL) {
        input.release(&input);
    }
    unbind(c, instance);
}

/* ---- All of it ---- */

/* The result of a table function: `call` and `row`. */
static type *with_call(type *row) {
    type *both = read_types((firesteel_str)FIRESTEEL_TEXT("call:bigint"), true);
    strcpy(row->name, "row");
    both->children[both->child_count++] = row;
    return both;
}

static void run(call c, int64_t rows, const char *how, char **printed) {
    size_t size;
    FILE *to = out;
    out = allocated(open_memstream(printed, &size));
    polls = 0, reserved = 0;
    switch (c.function->kind) {
    case FIRESTEEL_KIND_SCALAR: run_scalar(&c, rows); break;
    case FIRESTEEL_KIND_AGGREGATE: run_aggregate(&c, rows); break;
    default: run_stream(&c, rows); break;
    }
    fclose(out);
    out = to;
    if (how != NULL) {
        fprintf(out, "  %s: %s\n", how, *printed);
    }
}

static void run_all(call c) {
    char *plain, *sliced, *empty, *constant;
    run(c, ROWS, "rows", &plain);
    c.offset = SKIP;
    run(c, ROWS, NULL, &sliced);
    if (c.function->volatility != FIRESTEEL_VOLATILITY_VOLATILE && strcmp(plain, sliced) != 0) {
        fprintf(out, "  other result with offsets: %s\n", sliced);
        failures++;
    }
    c.offset = 0;
    run(c, 0, "no rows", &empty);
    if (c.arguments->child_count > 0 && c.function->kind == FIRESTEEL_KIND_SCALAR) {
        c.constant = true;
        run(c, 2, "constant", &constant);
        free(constant);
    }
    free(plain), free(sliced), free(empty);
}

static void run_function(const firesteel_function *function, bool list) {
    bool streams = function->kind >= FIRESTEEL_KIND_PARTITION;
    for (size_t i = 0; i < function->signature_count; i++) {
        firesteel_str arguments = function->signatures[i].arguments, result = function->signatures[i].result;
        fprintf(out, "%.*s(%.*s) -> %.*s\n", (int)function->name.len, function->name.data, (int)arguments.len,
                arguments.data, (int)result.len, result.data);
        call c = {.function = function, .signature = i};
        bool any = arguments.len == 0 && function->kind == FIRESTEEL_KIND_PARTITION;
        c.arguments = any ? read_types((firesteel_str)FIRESTEEL_TEXT("id:bigint, value:string"), true)
                          : read_types(arguments, function->kind == FIRESTEEL_KIND_PARTITION);
        c.result = read_types(result, streams);
        c.state = function->kind == FIRESTEEL_KIND_AGGREGATE ? read_types(function->state, true) : NULL;
        if (c.arguments == NULL || c.result == NULL || c.result->child_count == 0 ||
            (function->kind == FIRESTEEL_KIND_AGGREGATE && c.state == NULL)) {
            fputs("  a signature that cannot be read\n", out);
            failures++;
        } else if (!list) {
            type *whole = c.result;
            if (!streams) {
                c.result = whole->children[0];
            } else if (function->kind == FIRESTEEL_KIND_TABLE) {
                c.result = whole = with_call(whole);
            }
            run_all(c);
            c.result = whole;
        }
        type *made[] = {c.arguments, c.result, c.state};
        for (int k = 0; k < 3; k++) {
            if (made[k] != NULL) {
                free_type(made[k]);
            }
        }
    }
}

static bool is_asked_for(const firesteel_function *function, char **names) {
    for (char **name = names; *name != NULL; name++) {
        if (strlen(*name) == function->name.len && memcmp(*name, function->name.data, function->name.len) == 0) {
            return true;
        }
    }
    return *names == NULL;
}

static int run_library(const char *path, size_t module_size, bool list, char **names) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        die(dlerror());
    }
    firesteel_module_function get;
    *(void **)&get = dlsym(library, "firesteel_module_v1");
    if (get == NULL) {
        fputs("no firesteel_module_v1\n", out);
        return 1;
    }
    /* No larger than it says, so that valgrind sees what is written behind it. */
    firesteel_module *module = allocated(calloc(1, module_size));
    module->struct_size = module_size;
    report r;
    if (!went_well(get(&HOST, module, fresh(&r)), &r)) {
        fputs("\n", out);
        free(module);
        return 1;
    }
    if (module->abi_major != FIRESTEEL_MODULE_MAJOR) {
        fprintf(out, "a module of version %u\n", (unsigned)module->abi_major);
        failures++;
    } else if (module_size < sizeof *module) {
        fprintf(out, "filled %zu bytes\n", module->struct_size);
    } else {
        fprintf(out, "module %.*s %.*s, version %u.%u\n", (int)module->name.len, module->name.data,
                (int)module->version.len, module->version.data, (unsigned)module->abi_major,
                (unsigned)module->abi_minor);
        for (size_t i = 0; i < module->function_count; i++) {
            if (is_asked_for(module->functions[i], names)) {
                run_function(module->functions[i], list);
            }
        }
    }
    free(module);
    return failures == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    size_t module_size = sizeof(firesteel_module);
    bool list = false;
    out = stdout;
    char **at = argv + 1;
    for (; at < argv + argc && strncmp(*at, "--", 2) == 0; at++) {
        if (strcmp(*at, "--list") == 0) {
            list = true;
        } else if (strcmp(*at, "--major") == 0 && at[1] != NULL) {
            HOST.abi_major = (uint32_t)atoi(*++at);
        } else if (strcmp(*at, "--module-size") == 0 && at[1] != NULL) {
            module_size = (size_t)atoi(*++at);
        } else {
            die("unknown option");
        }
    }
    if (*at == NULL || module_size < sizeof(size_t)) {
        die("host [--major N] [--module-size N] [--list] LIBRARY [FUNCTION…]");
    }
    return run_library(*at, module_size, list, at + 1);
}
