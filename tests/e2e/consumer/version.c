/* The smallest program that needs both a header and the library. */
#include <stdio.h>

#include <weir/version.h>

int main(void)
{
    puts(weir_version_string());
    return 0;
}
