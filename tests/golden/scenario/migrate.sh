# shellcheck shell=bash
# on: sqlite postgresql mariadb
# Tables, roles, and a database that was restored.
also migrate
weir migrate --prefix other
weir migrate --prefix third --json
weir migrate --prefix fourth --dry-run
weir migrate --payload-max 100000 --json
weir migrate --payload-max 1
weir migrate --payload-max x
weir migrate --dry-run --json --prefix other
also migrate --restored --dry-run
also migrate --restored --yes
weir migrate --with-holes
weir migrate extra

note 'roles'
if [ "$engine" = sqlite ]; then
    weir migrate --roles
    weir migrate --roles --json
else
    roles=$(own_prefix)
    weir migrate --quiet --prefix "$roles"
    also migrate --roles --dry-run --prefix "$roles"
    weir migrate --roles --json --prefix "$roles"
    also migrate --roles --prefix "$roles"
    weir migrate --roles --dry-run --prefix "$roles"
fi
