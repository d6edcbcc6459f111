#include "base/list.h"
