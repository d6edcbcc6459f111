void tell(int count)
{
    printf("%d message%s\n", count, count == 1 ? "" : "s");
}
