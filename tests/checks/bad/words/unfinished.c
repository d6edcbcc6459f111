/* TODO: finish this. */
