/*
 * grants.h - what roles are to have on the tables of executions, where it is not what
 * they have on every table (outbox/roles.h).
 *
 *               runtime         producer                        viewer
 *   term        read, append    read, append                    read
 *   execution   read, write     append; number, id and digest   read
 *   input       read, write     append                          numbers alone
 *   result      read, write                                     numbers alone
 *   tag         read, write     append                          read
 *   idempotency read, write     read, take                      read
 *   flow        read, write     read, append, count members     read
 *   edge        read, write     append                          read
 *   edge_group  read, write     append                          read
 *   budget      read, write     read                            read
 *   spent       read, write     append                          read
 *   signal      read, write                                     all but the payloads
 *   secret      read, write                                     all but the secrets
 *   awaited     read, set       read                            read
 *   others      read, write                                     read
 *
 * A producer submits: it sees that something is there, and for what it was used before,
 * and neither what it is nor how it stands. So it makes flows of new members; adding
 * edges between old ones needs the right to read them.
 */
#ifndef WEIR_EXECUTION_GRANTS_H
#define WEIR_EXECUTION_GRANTS_H

#include "outbox/roles.h"

extern const struct weir_role_right weir_executions_grants[];
extern const size_t weir_executions_right_count;

#endif
