#include "outbox/sqlite/log.h"
