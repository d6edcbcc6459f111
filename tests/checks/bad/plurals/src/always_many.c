void tell(long count)
{
    printf("%" PRId64
           " messages in %.2f s\n",
           count, 1.0);
}
