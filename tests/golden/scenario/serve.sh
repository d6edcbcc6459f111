# shellcheck shell=bash
# on: sqlite postgresql mariadb
# What the server says of its configuration. What it answers is in tests/cli/test_serve.sh.
(
    # Variables of the run name no key of the configuration, which would be a mistake.
    for name in "${!WEIR_@}"; do
        [ "$name" = WEIR_DB ] || export -n "${name?}"
    done
    weir serve --check
    weir serve --check --set http.idle_timeout=75
    weir serve --check --set http.idle_timeot=75s
    weir serve --check --set http.listen=nowhere
    weir serve --check --config none.ini
    weir serve --listen 127.0.0.1:80
)
