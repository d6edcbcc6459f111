#include "outbox/postgres/cut.h"
