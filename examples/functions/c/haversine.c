/* Distances on the globe: a module of two scalar functions.
 *
 *     cc -std=c11 -O2 -shared -fPIC -Iinclude examples/functions/c/haversine.c -lm -o libgeo.so
 *
 *     select haversine(48.8566, 2.3522, 40.7128, -74.0060)    -- Paris to New York: 5837 km */
#include "firesteel_functions.h"

#include <math.h>

static const double KM = 6371.0088;
static const double MILES = 3958.7613;

/* What both functions have in common; their data is the radius, which is the instance, too. */
static firesteel_status bind(const firesteel_function *function, const firesteel_task *task, size_t signature,
                             const ArrowSchema *arguments, const ArrowArray *constants,
                             const uint8_t *is_constant, void **instance, firesteel_failure *failure) {
    (void)task, (void)signature, (void)arguments, (void)constants, (void)is_constant, (void)failure;
    *instance = function->data;
    return FIRESTEEL_STATUS_OK;
}

/* Rows with nulls are not among them: the host leaves them out. */
static firesteel_status execute(void *instance, const firesteel_task *task, const ArrowArray *arguments,
                                ArrowArray *result, firesteel_failure *failure) {
    (void)task;
    const double radius = *(const double *)instance;
    const double to_radians = 3.14159265358979323846 / 180.0;
    const double *lat1 = FIRESTEEL_VALUES(double, arguments->children[0]);
    const double *lon1 = FIRESTEEL_VALUES(double, arguments->children[1]);
    const double *lat2 = FIRESTEEL_VALUES(double, arguments->children[2]);
    const double *lon2 = FIRESTEEL_VALUES(double, arguments->children[3]);
    double *distance = firesteel_new_values(result, arguments->length, sizeof(double));
    if (distance == NULL) {
        return firesteel_fail(failure, FIRESTEEL_STATUS_NO_MEMORY, -1, NULL, "no memory for %lld distances",
                              (long long)arguments->length);
    }
    for (int64_t i = 0; i < arguments->length; i++) {
        double lat = sin((lat2[i] - lat1[i]) * to_radians / 2);
        double lon = sin((lon2[i] - lon1[i]) * to_radians / 2);
        double a = lat * lat + cos(lat1[i] * to_radians) * cos(lat2[i] * to_radians) * lon * lon;
        /* Rounding can bring opposite points a little over 1. */
        distance[i] = 2 * radius * asin(sqrt(a > 1 ? 1 : a));
    }
    return FIRESTEEL_STATUS_OK;
}

static const firesteel_signature SIGNATURE = {
    .arguments = FIRESTEEL_TEXT("double, double, double, double"),
    .result = FIRESTEEL_TEXT("double"),
};

static const firesteel_function HAVERSINE = {
    .struct_size = sizeof(firesteel_function),
    .name = FIRESTEEL_TEXT("haversine"),
    .description = FIRESTEEL_TEXT("Distance in km of two points, given as latitude and longitude in degrees."),
    .kind = FIRESTEEL_KIND_SCALAR,
    .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE,
    .nulls = FIRESTEEL_NULLS_SKIPPED,
    .signatures = &SIGNATURE,
    .signature_count = 1,
    .data = (void *)&KM,
    .bind = bind,
    .execute = execute,
};

static const firesteel_function HAVERSINE_MILES = {
    .struct_size = sizeof(firesteel_function),
    .name = FIRESTEEL_TEXT("haversine_miles"),
    .description = FIRESTEEL_TEXT("Distance in miles of two points, given as latitude and longitude in degrees."),
    .kind = FIRESTEEL_KIND_SCALAR,
    .volatility = FIRESTEEL_VOLATILITY_IMMUTABLE,
    .nulls = FIRESTEEL_NULLS_SKIPPED,
    .signatures = &SIGNATURE,
    .signature_count = 1,
    .data = (void *)&MILES,
    .bind = bind,
    .execute = execute,
};

static const firesteel_function *const FUNCTIONS[] = {&HAVERSINE, &HAVERSINE_MILES};

FIRESTEEL_EXPORT firesteel_status firesteel_module_v1(const firesteel_host *host, firesteel_module *module,
                                                      firesteel_failure *failure) {
    firesteel_str name = FIRESTEEL_TEXT("geo"), version = FIRESTEEL_TEXT("1.0");
    return firesteel_fill_module(host, module, failure, name, version, FUNCTIONS, 2);
}
