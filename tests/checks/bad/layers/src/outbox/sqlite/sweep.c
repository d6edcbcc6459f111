#include "db/sqlite/space.h"
#include "outbox/sqlite/log.h"
