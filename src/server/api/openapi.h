/*
 * openapi.h - the OpenAPI 3.1 document of a list of endpoints.
 *
 * It is made from the rows that the router uses and from the records that answers are
 * made of, so document and server cannot differ.
 */
#ifndef WEIR_SERVER_API_OPENAPI_H
#define WEIR_SERVER_API_OPENAPI_H

#include "server/api/endpoint.h"

void weir_openapi_append(const struct weir_endpoint *rows, size_t count,
                         struct weir_buf *json);

#endif
