/*
 * runtime.h - the worker runtime by itself.
 *
 * For applications that run workers of their own: executors, wards, workers and what
 * they wait for, scans, statistics, and the simulation for tests. The outbox and
 * executions are built on it and need none of it from the application: those are in
 * weir/weir.h.
 */
#ifndef WEIR_RUNTIME_H
#define WEIR_RUNTIME_H

#include <weir/assert.h>
#include <weir/context.h>
#include <weir/directive.h>
#include <weir/error.h>
#include <weir/executor.h>
#include <weir/failures.h>
#include <weir/gate.h>
#include <weir/heap.h>
#include <weir/listener.h>
#include <weir/log.h>
#include <weir/notifier.h>
#include <weir/poker.h>
#include <weir/reporter.h>
#include <weir/scanner.h>
#include <weir/sim.h>
#include <weir/stats.h>
#include <weir/status.h>
#include <weir/time.h>
#include <weir/ward.h>
#include <weir/worker.h>

#endif
