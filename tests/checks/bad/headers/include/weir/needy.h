/* Uses a type that it does not bring along. */
size_t weir_needy(void);
