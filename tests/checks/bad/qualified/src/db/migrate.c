/* Fine: a migration sees to it where bare names lead. */
int make(void *connection)
{
    return weir_connection_execute_ddl(connection, "CREATE TABLE {p}_log (id bigint)", 0);
}
