/* A library that is no module: its symbol is of a later major version. */
#include "firesteel_functions.h"

FIRESTEEL_EXPORT firesteel_status firesteel_module_v2(void);

FIRESTEEL_EXPORT firesteel_status firesteel_module_v2(void) { return FIRESTEEL_STATUS_OK; }
