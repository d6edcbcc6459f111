static const struct weir_sql SQL = {.name = "bury process", .text = "SELECT vigil"};
