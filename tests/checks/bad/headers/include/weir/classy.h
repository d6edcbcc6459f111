/* Fine as C, but `class` is a keyword of C++. */
int weir_classy(int class);
