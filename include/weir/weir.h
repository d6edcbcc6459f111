/*
 * weir.h - all of weir.
 *
 * For applications that do not want to choose. Each header also stands by itself.
 */
#ifndef WEIR_H
#define WEIR_H

#include <weir/api.h>
#include <weir/assert.h>
#include <weir/batch.h>
#include <weir/budget.h>
#include <weir/context.h>
#include <weir/db.h>
#include <weir/dead_letter.h>
#include <weir/directive.h>
#include <weir/error.h>
#include <weir/execution.h>
#include <weir/executor.h>
#include <weir/failures.h>
#include <weir/flow.h>
#include <weir/flow_supervisor.h>
#include <weir/flow_worker.h>
#include <weir/gate.h>
#include <weir/graph.h>
#include <weir/heap.h>
#include <weir/inspect.h>
#include <weir/listener.h>
#include <weir/log.h>
#include <weir/message.h>
#include <weir/metrics.h>
#include <weir/notifier.h>
#include <weir/outbox.h>
#include <weir/poker.h>
#include <weir/relay.h>
#include <weir/reporter.h>
#include <weir/scanner.h>
#include <weir/sim.h>
#include <weir/stats.h>
#include <weir/status.h>
#include <weir/subscription.h>
#include <weir/suspension.h>
#include <weir/time.h>
#include <weir/version.h>
#include <weir/ward.h>
#include <weir/worker.h>

#endif
