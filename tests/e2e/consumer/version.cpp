// The same in C++.
#include <iostream>

#include <weir/version.h>

int main()
{
    std::cout << weir_version_string() << '\n';
}
