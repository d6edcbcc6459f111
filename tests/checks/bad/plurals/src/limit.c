void tell(int size)
{
    printf("it has %d bytes, must have at most %d bytes\n", size, 64);
}
