#include <base/list.h>
