/* Part of everything.c: aggregates and a partition function. */
#ifndef EVERYTHING_GROUPS_H
#define EVERYTHING_GROUPS_H

typedef struct group {
    int64_t sum, rows;
} group;

typedef struct groups {
    group *groups;
    uint32_t count;
} groups;

static firesteel_status bind_groups(BIND_ARGUMENTS) {
    BIND_UNUSED;
    *instance = calloc(1, sizeof(groups));
    return *instance == NULL ? no_memory(failure) : FIRESTEEL_STATUS_OK;
}

static void unbind_groups(void *instance) {
    free(((groups *)instance)->groups);
    free(instance);
}

static size_t size_of_groups(const void *instance) {
    return sizeof(groups) + ((const groups *)instance)->count * sizeof(group);
}

/* Groups that are not known yet begin with zeros. */
static bool grow(groups *g, uint32_t count) {
    if (count > g->count) {
        group *grown = realloc(g->groups, count * sizeof(group));
        if (grown == NULL) {
            return false;
        }
        memset(grown + g->count, 0, (count - g->count) * sizeof(group));
        g->groups = grown;
        g->count = count;
    }
    return true;
}

static firesteel_status add(group *to, int64_t sum, int64_t rows, int64_t row, firesteel_failure *failure) {
    if ((sum > 0 && to->sum > INT64_MAX - sum) || (sum < 0 && to->sum < INT64_MIN - sum)) {
        return firesteel_fail(failure, FIRESTEEL_STATUS_INVALID, row, "22003", "the sum is too large");
    }
    to->sum += sum;
    to->rows += rows;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status update_sum(void *instance, const firesteel_task *task, const ArrowArray *arguments,
                                   const uint32_t *numbers, uint32_t count, firesteel_failure *failure) {
    (void)task;
    groups *g = instance;
    if (!grow(g, count)) {
        return no_memory(failure);
    }
    firesteel_status status = FIRESTEEL_STATUS_OK;
    for (int64_t i = 0; status == FIRESTEEL_STATUS_OK && i < arguments->length; i++) {
        int64_t value = FIRESTEEL_VALUES(int64_t, arguments->children[0])[i];
        status = add(&g->groups[numbers[i]], value, 1, i, failure);
    }
    return status;
}

static firesteel_status update_count(void *instance, const firesteel_task *task, const ArrowArray *arguments,
                                     const uint32_t *numbers, uint32_t count, firesteel_failure *failure) {
    (void)task;
    groups *g = instance;
    if (!grow(g, count)) {
        return no_memory(failure);
    }
    for (int64_t i = 0; i < arguments->length; i++) {
        g->groups[numbers[i]].rows++;
    }
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status merge_groups(void *instance, const firesteel_task *task, const ArrowArray *states,
                                     const uint32_t *numbers, uint32_t count, firesteel_failure *failure) {
    (void)task;
    groups *g = instance;
    if (!grow(g, count)) {
        return no_memory(failure);
    }
    firesteel_status status = FIRESTEEL_STATUS_OK;
    for (int64_t i = 0; status == FIRESTEEL_STATUS_OK && i < states->length; i++) {
        status = add(&g->groups[numbers[i]], FIRESTEEL_VALUES(int64_t, states->children[0])[i],
                     FIRESTEEL_VALUES(int64_t, states->children[1])[i], i, failure);
    }
    return status;
}

static firesteel_status states_of_groups(void *instance, const firesteel_task *task, uint32_t count,
                                         ArrowArray *states, firesteel_failure *failure) {
    (void)task;
    groups *g = instance;
    if (!grow(g, count) || !firesteel_new_struct(states, count, 2)) {
        return no_memory(failure);
    }
    int64_t *sums = firesteel_new_values(states->children[0], count, sizeof *sums);
    int64_t *rows = firesteel_new_values(states->children[1], count, sizeof *rows);
    if (sums == NULL || rows == NULL) {
        firesteel_release(states);
        return no_memory(failure);
    }
    for (uint32_t i = 0; i < count; i++) {
        sums[i] = g->groups[i].sum;
        rows[i] = g->groups[i].rows;
    }
    return FIRESTEEL_STATUS_OK;
}

/* A sum of no rows is null. */
static firesteel_status finish(groups *g, uint32_t count, bool sums, ArrowArray *results,
                               firesteel_failure *failure) {
    int64_t *values = grow(g, count) ? firesteel_new_values(results, count, sizeof *values) : NULL;
    bool good = values != NULL;
    for (uint32_t i = 0; good && i < count; i++) {
        values[i] = sums ? g->groups[i].sum : g->groups[i].rows;
        good = !sums || g->groups[i].rows > 0 || firesteel_set_null(results, i);
    }
    if (!good) {
        firesteel_release(results);
        return no_memory(failure);
    }
    g->count = 0;
    return FIRESTEEL_STATUS_OK;
}

static firesteel_status finish_sum(void *instance, const firesteel_task *task, uint32_t count, ArrowArray *results,
                                   firesteel_failure *failure) {
    (void)task;
    return finish(instance, count, true, results, failure);
}

static firesteel_status finish_count(void *instance, const firesteel_task *task, uint32_t count, ArrowArray *results,
                                     firesteel_failure *failure) {
    (void)task;
    return finish(instance, count, false, results, failure);
}

/* The output is the input, whatever its columns are: if they are not those that the signature has, the host tells. */
static firesteel_status pass_through(void *instance, const firesteel_task *task, ArrowArrayStream *input,
                                     ArrowArrayStream *output, firesteel_failure *failure) {
    (void)instance, (void)task, (void)failure;
    *output = *input;
    input->release = NULL;
    return FIRESTEEL_STATUS_OK;
}

#endif
