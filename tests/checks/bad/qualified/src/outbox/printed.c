/* Refused: the prefix without the schema. */
int empty(char *text, const char *prefix)
{
    return snprintf(text, 64, "DELETE FROM %s_log", prefix);
}
