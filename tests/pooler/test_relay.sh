#!/usr/bin/env bash
# tests/crash/test_relay.sh, with a PgBouncer in transaction mode in front of the server.
export WEIR_POOLER=1 WEIR_ENGINES=postgresql
exec "$(dirname "$0")/../crash/test_relay.sh"
