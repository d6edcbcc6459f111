/* Prints a partition: a call that needs the libraries that weir itself needs. */
#include <stdio.h>

#include <weir/weir.h>

int main(void)
{
    printf("%d\n", (int)weir_partition_of_key("order-1", 7, 64));
    return 0;
}
