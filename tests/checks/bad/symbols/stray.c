/* A function with linkage that is not ours by name. */
int weir_fine(void);
int helper(void);

__attribute__((visibility("default"))) int weir_fine(void)
{
    return 1;
}

__attribute__((visibility("default"))) int helper(void)
{
    return 2;
}
