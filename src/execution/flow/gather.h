/*
 * gather.h - what picked members are given by those before them.
 *
 * Most executions are given their own input, which comes with their rows. To a member
 * of a flow results may have been passed (passed.h): one stands in place of its input,
 * several are composed with it (composition.h). That is read before anything is
 * claimed, since a member whose results are too large to be given to a worker is not
 * claimed, but fails.
 *
 * Where no picked row has data edges there is no statement.
 */
#ifndef WEIR_EXECUTION_FLOW_GATHER_H
#define WEIR_EXECUTION_FLOW_GATHER_H

#include "execution/store/store.h"

struct weir_executions;

/*
 * Of each loaded row with data edges, `input` is what its worker is given and
 * `gathered` is true; or `too_large` is: it would have more than WEIR_JOINED_SIZE_MAX
 * bytes. When that takes much memory for all of them, the last ones are neither, and
 * are not to be claimed this time. The rows are locked.
 */
WEIR_CHECKED enum weir_status weir_gather(struct weir_executions *executions,
                                          struct weir_connection *connection,
                                          struct weir_execution_records *records,
                                          struct weir_error *error);

#endif
