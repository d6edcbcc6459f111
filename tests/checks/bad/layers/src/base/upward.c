#include "ward/ward.h"
