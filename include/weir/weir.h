/*
 * weir.h - the outbox and executions.
 *
 * For applications that do not want to choose. Each header also stands by itself. The
 * worker runtime below them is in weir/runtime.h.
 */
#ifndef WEIR_H
#define WEIR_H

#include <weir/api.h>
#include <weir/audit.h>
#include <weir/batch.h>
#include <weir/budget.h>
#include <weir/context.h>
#include <weir/db.h>
#include <weir/dead_letter.h>
#include <weir/error.h>
#include <weir/execution.h>
#include <weir/execution_supervisor.h>
#include <weir/execution_worker.h>
#include <weir/executions.h>
#include <weir/flow.h>
#include <weir/inspect.h>
#include <weir/log.h>
#include <weir/message.h>
#include <weir/metrics.h>
#include <weir/outbox.h>
#include <weir/relay.h>
#include <weir/status.h>
#include <weir/subscription.h>
#include <weir/suspension.h>
#include <weir/time.h>
#include <weir/token.h>
#include <weir/version.h>

#endif
