/* Refused: a text with bare names at run time. */
int empty(void *connection)
{
    return weir_connection_execute_ddl(connection, "TRUNCATE {p}_log", 0);
}
