#include "db/url.h"
