# bash completion for weir; made by `weir help --bash`.

# The words of the line itself: bash has cut URLs at their colons.
_weir_queues() {
    local i line shared=()
    read -ra line <<<"$COMP_LINE"
    for ((i = 1; i < ${#line[@]}; i++)); do
        case ${line[i]} in
            --db=* | --prefix=*) shared+=("${line[i]}") ;;
            --db | --prefix) shared+=("${line[i]}" "${line[i + 1]}") ;;
        esac
    done
    "${COMP_WORDS[0]}" queue list --quiet "${shared[@]}" 2>/dev/null
}

_weir() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command='' options='' words='' i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case $command/${COMP_WORDS[i]} in
            /demo) command=demo ;;
            /migrate) command=migrate ;;
            /queue) command=queue ;;
            queue/add) command=queue/add ;;
            queue/set) command=queue/set ;;
            queue/list) command=queue/list ;;
            queue/pause) command=queue/pause ;;
            queue/resume) command=queue/resume ;;
            queue/remove) command=queue/remove ;;
            /enqueue) command=enqueue ;;
            /relay) command=relay ;;
            /status) command=status ;;
            /subscription) command=subscription ;;
            subscription/list) command=subscription/list ;;
            subscription/pause) command=subscription/pause ;;
            subscription/resume) command=subscription/resume ;;
            subscription/seek) command=subscription/seek ;;
            subscription/remove) command=subscription/remove ;;
            /dlq) command=dlq ;;
            dlq/list) command=dlq/list ;;
            dlq/show) command=dlq/show ;;
            dlq/claim) command=dlq/claim ;;
            dlq/resolve) command=dlq/resolve ;;
            dlq/reject) command=dlq/reject ;;
            dlq/requeue) command=dlq/requeue ;;
            dlq/discard) command=dlq/discard ;;
            dlq/cleanup) command=dlq/cleanup ;;
            /flow) command=flow ;;
            flow/submit) command=flow/submit ;;
            flow/get) command=flow/get ;;
            flow/result) command=flow/result ;;
            flow/list) command=flow/list ;;
            flow/claim) command=flow/claim ;;
            flow/renew) command=flow/renew ;;
            flow/progress) command=flow/progress ;;
            flow/complete) command=flow/complete ;;
            flow/fail) command=flow/fail ;;
            flow/delay) command=flow/delay ;;
            flow/abandon) command=flow/abandon ;;
            flow/suspend) command=flow/suspend ;;
            flow/waitpoint) command=flow/waitpoint ;;
            flow/cancel) command=flow/cancel ;;
            flow/revoke) command=flow/revoke ;;
            flow/prioritise) command=flow/prioritise ;;
            flow/replay) command=flow/replay ;;
            flow/waitpoints) command=flow/waitpoints ;;
            flow/signal) command=flow/signal ;;
            flow/signals) command=flow/signals ;;
            flow/approve) command=flow/approve ;;
            flow/resume) command=flow/resume ;;
            flow/key) command=flow/key ;;
            flow/key/rotate) command=flow/key/rotate ;;
            flow/budget) command=flow/budget ;;
            flow/budget/create) command=flow/budget/create ;;
            flow/budget/change) command=flow/budget/change ;;
            flow/budget/report) command=flow/budget/report ;;
            flow/budget/release) command=flow/budget/release ;;
            flow/budget/reset) command=flow/budget/reset ;;
            flow/budget/show) command=flow/budget/show ;;
            flow/budget/list) command=flow/budget/list ;;
            flow/create) command=flow/create ;;
            flow/add) command=flow/add ;;
            flow/edge) command=flow/edge ;;
            flow/show) command=flow/show ;;
            flow/graphs) command=flow/graphs ;;
            flow/work) command=flow/work ;;
            flow/supervise) command=flow/supervise ;;
            /doctor) command=doctor ;;
            /bench) command=bench ;;
            /help) command=help ;;
            /version) command=version ;;
        esac
    done
    case $command in
        '')
            words='demo migrate queue enqueue relay status subscription dlq flow doctor bench help version '
            options='--version --db --prefix --json --quiet --help'
            ;;
        demo)
            words=''
            options='--flow --seconds --rate --dir --db --prefix --json --quiet --help'
            ;;
        migrate)
            words=''
            options='--dry-run --payload-max --restored --with-holes --yes --roles --db --prefix --json --quiet --help'
            ;;
        queue)
            words='add set list pause resume remove '
            options='--db --prefix --json --quiet --help'
            ;;
        queue/add)
            words=''
            options='--partitions --unread --backlog-max --attempts-max --dead-letter-retention --retain --db --prefix --json --quiet --help'
            ;;
        queue/set)
            words='QUEUE'
            options='--unread --backlog-max --attempts-max --dead-letter-retention --retain --db --prefix --json --quiet --help'
            ;;
        queue/list)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        queue/pause)
            words='QUEUE'
            options='--db --prefix --json --quiet --help'
            ;;
        queue/resume)
            words='QUEUE'
            options='--db --prefix --json --quiet --help'
            ;;
        queue/remove)
            words='QUEUE'
            options='--force --dry-run --yes --db --prefix --json --quiet --help'
            ;;
        enqueue)
            words='QUEUE'
            options='--key --partition --type --header --file --lines --batch --key-field --type-field --payload-field --binary --size-max --db --prefix --json --quiet --help'
            ;;
        relay)
            words=''
            options='--queue --to --as --drain --from --batch --handlers --lease --permissions --grace --db --prefix --json --quiet --help'
            ;;
        status)
            words='QUEUE'
            options='--all --watch --db --prefix --json --quiet --help'
            ;;
        subscription)
            words='list pause resume seek remove '
            options='--db --prefix --json --quiet --help'
            ;;
        subscription/list)
            words='QUEUE'
            options='--db --prefix --json --quiet --help'
            ;;
        subscription/pause)
            words='QUEUE'
            options='--db --prefix --json --quiet --help'
            ;;
        subscription/resume)
            words='QUEUE'
            options='--db --prefix --json --quiet --help'
            ;;
        subscription/seek)
            words='QUEUE'
            options='--to --partition --dry-run --db --prefix --json --quiet --help'
            ;;
        subscription/remove)
            words='QUEUE'
            options='--force --dry-run --yes --db --prefix --json --quiet --help'
            ;;
        dlq)
            words='list show claim resolve reject requeue discard cleanup '
            options='--db --prefix --json --quiet --help'
            ;;
        dlq/list)
            words=''
            options='--status --queue --subscription --partition --key --type --since --before --limit --after --db --prefix --json --quiet --help'
            ;;
        dlq/show)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        dlq/claim)
            words=''
            options='--for --queue --subscription --partition --key --type --since --before --limit --db --prefix --json --quiet --help'
            ;;
        dlq/resolve)
            words=''
            options='--token --db --prefix --json --quiet --help'
            ;;
        dlq/reject)
            words=''
            options='--token --reason --db --prefix --json --quiet --help'
            ;;
        dlq/requeue)
            words=''
            options='--all --token --dry-run --yes --queue --subscription --partition --key --type --since --before --limit --db --prefix --json --quiet --help'
            ;;
        dlq/discard)
            words=''
            options='--all --token --dry-run --yes --queue --subscription --partition --key --type --since --before --limit --db --prefix --json --quiet --help'
            ;;
        dlq/cleanup)
            words=''
            options='--dry-run --yes --queue --subscription --partition --key --type --since --before --limit --db --prefix --json --quiet --help'
            ;;
        flow)
            words='submit get result list claim renew progress complete fail delay abandon suspend waitpoint cancel revoke prioritise replay waitpoints signal signals approve resume key budget create add edge show graphs work supervise '
            options='--db --prefix --json --quiet --help'
            ;;
        flow/submit)
            words=''
            options='--lane --kind --input --key --priority --delay --deadline --retries --backoff --backoff-max --attempt-timeout --reclaims --replays --capability --tag --budget --namespace --id --lines --key-field --batch --partitions --db --prefix --json --quiet --help'
            ;;
        flow/get)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow/result)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow/list)
            words=''
            options='--state --lane --kind --namespace --flow --tag --limit --after --db --prefix --json --quiet --help'
            ;;
        flow/claim)
            words=''
            options='--lane --capability --lease --worker --instance --count --wait --input-to --db --prefix --json --quiet --help'
            ;;
        flow/renew)
            words=''
            options='--lease --db --prefix --json --quiet --help'
            ;;
        flow/progress)
            words=''
            options='--percent --text --db --prefix --json --quiet --help'
            ;;
        flow/complete)
            words=''
            options='--result --db --prefix --json --quiet --help'
            ;;
        flow/fail)
            words=''
            options='--reason --for-good --db --prefix --json --quiet --help'
            ;;
        flow/delay)
            words=''
            options='--for --db --prefix --json --quiet --help'
            ;;
        flow/abandon)
            words=''
            options='--reason --db --prefix --json --quiet --help'
            ;;
        flow/suspend)
            words=''
            options='--until --waitpoint --timeout --on-timeout --reason --resume-delay --db --prefix --json --quiet --help'
            ;;
        flow/waitpoint)
            words=''
            options='--expires --db --prefix --json --quiet --help'
            ;;
        flow/cancel)
            words=''
            options='--reason --flow --members --db --prefix --json --quiet --help'
            ;;
        flow/revoke)
            words=''
            options='--instance --epoch --db --prefix --json --quiet --help'
            ;;
        flow/prioritise)
            words=''
            options='--priority --db --prefix --json --quiet --help'
            ;;
        flow/replay)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow/waitpoints)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow/signal)
            words=''
            options='--name --token --token-file --source --source-type --payload --key --db --prefix --json --quiet --help'
            ;;
        flow/signals)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow/approve)
            words=''
            options='--name --source --source-type --payload --key --db --prefix --json --quiet --help'
            ;;
        flow/resume)
            words=''
            options='--delay --db --prefix --json --quiet --help'
            ;;
        flow/key)
            words='rotate '
            options='--db --prefix --json --quiet --help'
            ;;
        flow/key/rotate)
            words=''
            options='--secret-file --grace --db --prefix --json --quiet --help'
            ;;
        flow/budget)
            words='create change report release reset show list '
            options='--db --prefix --json --quiet --help'
            ;;
        flow/budget/create)
            words=''
            options='--hard --soft --period --scope-type --scope --db --prefix --json --quiet --help'
            ;;
        flow/budget/change)
            words=''
            options='--hard --soft --period --db --prefix --json --quiet --help'
            ;;
        flow/budget/report)
            words=''
            options='--for --key --db --prefix --json --quiet --help'
            ;;
        flow/budget/release)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow/budget/reset)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow/budget/show)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow/budget/list)
            words=''
            options='--limit --after --db --prefix --json --quiet --help'
            ;;
        flow/create)
            words=''
            options='--kind --namespace --id --db --prefix --json --quiet --help'
            ;;
        flow/add)
            words=''
            options='--from --lane --kind --input --key --priority --delay --deadline --retries --backoff --backoff-max --attempt-timeout --reclaims --replays --capability --tag --budget --namespace --name --id --after --join --cancel-remaining --pass-data --revision --partitions --db --prefix --json --quiet --help'
            ;;
        flow/edge)
            words=''
            options='--join --cancel-remaining --pass-data --revision --partitions --db --prefix --json --quiet --help'
            ;;
        flow/show)
            words=''
            options='--watch --fold --ids --db --prefix --json --quiet --help'
            ;;
        flow/graphs)
            words=''
            options='--namespace --limit --after --db --prefix --json --quiet --help'
            ;;
        flow/work)
            words=''
            options='--exec --lane --capability --lease --worker --instance --concurrency --prefetch --delay --drain --grace --no-supervise --retention --partitions --db --prefix --json --quiet --help'
            ;;
        flow/supervise)
            words=''
            options='--retention --namespace --tag --interval --grace --partitions --db --prefix --json --quiet --help'
            ;;
        doctor)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        bench)
            words=''
            options='--messages --batch --size --producers --handlers --seconds --db --prefix --json --quiet --help'
            ;;
        help)
            words='demo migrate queue enqueue relay status subscription dlq flow doctor bench help version '
            options='--man --bash --help'
            ;;
        version)
            words=''
            options='--help'
            ;;
    esac
    case $command/$before in
        */--db | */--prefix) words='' ;;
        demo/--seconds | demo/-s) words='' ;;
        demo/--rate | demo/-r) words='' ;;
        demo/--dir) words='' ;;
        migrate/--payload-max) words='' ;;
        queue/add/--partitions | queue/add/-p) words='' ;;
        queue/add/--unread) words='keep drop' ;;
        queue/add/--backlog-max) words='' ;;
        queue/add/--attempts-max) words='' ;;
        queue/add/--dead-letter-retention) words='' ;;
        queue/add/--retain) words='' ;;
        queue/set/--unread) words='keep drop' ;;
        queue/set/--backlog-max) words='' ;;
        queue/set/--attempts-max) words='' ;;
        queue/set/--dead-letter-retention) words='' ;;
        queue/set/--retain) words='' ;;
        enqueue/--key | enqueue/-k) words='' ;;
        enqueue/--partition | enqueue/-p) words='' ;;
        enqueue/--type | enqueue/-t) words='' ;;
        enqueue/--header) words='' ;;
        enqueue/--file) words='FILE' ;;
        enqueue/--batch) words='' ;;
        enqueue/--key-field) words='' ;;
        enqueue/--type-field) words='' ;;
        enqueue/--payload-field) words='' ;;
        enqueue/--size-max) words='' ;;
        relay/--queue | relay/-Q) words='QUEUE' ;;
        relay/--to | relay/-t) words='' ;;
        relay/--as | relay/-a) words='' ;;
        relay/--from) words='beginning now' ;;
        relay/--batch) words='' ;;
        relay/--handlers) words='' ;;
        relay/--lease) words='' ;;
        relay/--permissions) words='' ;;
        relay/--grace) words='' ;;
        status/--watch | status/-w) words='' ;;
        subscription/seek/--to | subscription/seek/-t) words='' ;;
        subscription/seek/--partition | subscription/seek/-p) words='' ;;
        dlq/list/--status) words='' ;;
        dlq/list/--queue | dlq/list/-Q) words='QUEUE' ;;
        dlq/list/--subscription | dlq/list/-s) words='' ;;
        dlq/list/--partition | dlq/list/-p) words='' ;;
        dlq/list/--key) words='' ;;
        dlq/list/--type) words='' ;;
        dlq/list/--since) words='' ;;
        dlq/list/--before) words='' ;;
        dlq/list/--limit | dlq/list/-l) words='' ;;
        dlq/list/--after) words='' ;;
        dlq/claim/--for) words='' ;;
        dlq/claim/--queue | dlq/claim/-Q) words='QUEUE' ;;
        dlq/claim/--subscription | dlq/claim/-s) words='' ;;
        dlq/claim/--partition | dlq/claim/-p) words='' ;;
        dlq/claim/--key) words='' ;;
        dlq/claim/--type) words='' ;;
        dlq/claim/--since) words='' ;;
        dlq/claim/--before) words='' ;;
        dlq/claim/--limit | dlq/claim/-l) words='' ;;
        dlq/resolve/--token | dlq/resolve/-t) words='' ;;
        dlq/reject/--token | dlq/reject/-t) words='' ;;
        dlq/reject/--reason | dlq/reject/-r) words='' ;;
        dlq/requeue/--token | dlq/requeue/-t) words='' ;;
        dlq/requeue/--queue | dlq/requeue/-Q) words='QUEUE' ;;
        dlq/requeue/--subscription | dlq/requeue/-s) words='' ;;
        dlq/requeue/--partition | dlq/requeue/-p) words='' ;;
        dlq/requeue/--key) words='' ;;
        dlq/requeue/--type) words='' ;;
        dlq/requeue/--since) words='' ;;
        dlq/requeue/--before) words='' ;;
        dlq/requeue/--limit | dlq/requeue/-l) words='' ;;
        dlq/discard/--token | dlq/discard/-t) words='' ;;
        dlq/discard/--queue | dlq/discard/-Q) words='QUEUE' ;;
        dlq/discard/--subscription | dlq/discard/-s) words='' ;;
        dlq/discard/--partition | dlq/discard/-p) words='' ;;
        dlq/discard/--key) words='' ;;
        dlq/discard/--type) words='' ;;
        dlq/discard/--since) words='' ;;
        dlq/discard/--before) words='' ;;
        dlq/discard/--limit | dlq/discard/-l) words='' ;;
        dlq/cleanup/--queue | dlq/cleanup/-Q) words='QUEUE' ;;
        dlq/cleanup/--subscription | dlq/cleanup/-s) words='' ;;
        dlq/cleanup/--partition | dlq/cleanup/-p) words='' ;;
        dlq/cleanup/--key) words='' ;;
        dlq/cleanup/--type) words='' ;;
        dlq/cleanup/--since) words='' ;;
        dlq/cleanup/--before) words='' ;;
        dlq/cleanup/--limit | dlq/cleanup/-l) words='' ;;
        flow/submit/--lane | flow/submit/-l) words='' ;;
        flow/submit/--kind | flow/submit/-k) words='' ;;
        flow/submit/--input | flow/submit/-i) words='' ;;
        flow/submit/--key | flow/submit/-K) words='' ;;
        flow/submit/--priority | flow/submit/-p) words='' ;;
        flow/submit/--delay) words='' ;;
        flow/submit/--deadline) words='' ;;
        flow/submit/--retries | flow/submit/-r) words='' ;;
        flow/submit/--backoff) words='' ;;
        flow/submit/--backoff-max) words='' ;;
        flow/submit/--attempt-timeout) words='' ;;
        flow/submit/--reclaims) words='' ;;
        flow/submit/--replays) words='' ;;
        flow/submit/--capability) words='' ;;
        flow/submit/--tag) words='' ;;
        flow/submit/--budget) words='' ;;
        flow/submit/--namespace | flow/submit/-n) words='' ;;
        flow/submit/--id) words='' ;;
        flow/submit/--key-field) words='' ;;
        flow/submit/--batch) words='' ;;
        flow/submit/--partitions) words='' ;;
        flow/list/--state | flow/list/-s) words='' ;;
        flow/list/--lane | flow/list/-l) words='' ;;
        flow/list/--kind | flow/list/-k) words='' ;;
        flow/list/--namespace | flow/list/-n) words='' ;;
        flow/list/--flow | flow/list/-f) words='' ;;
        flow/list/--tag) words='' ;;
        flow/list/--limit | flow/list/-m) words='' ;;
        flow/list/--after) words='' ;;
        flow/claim/--lane | flow/claim/-l) words='' ;;
        flow/claim/--capability) words='' ;;
        flow/claim/--lease) words='' ;;
        flow/claim/--worker) words='' ;;
        flow/claim/--instance) words='' ;;
        flow/claim/--count | flow/claim/-c) words='' ;;
        flow/claim/--wait) words='' ;;
        flow/claim/--input-to) words='FILE' ;;
        flow/renew/--lease | flow/renew/-l) words='' ;;
        flow/progress/--percent | flow/progress/-p) words='' ;;
        flow/progress/--text | flow/progress/-t) words='' ;;
        flow/complete/--result | flow/complete/-r) words='' ;;
        flow/fail/--reason | flow/fail/-R) words='' ;;
        flow/delay/--for | flow/delay/-f) words='' ;;
        flow/abandon/--reason | flow/abandon/-R) words='' ;;
        flow/suspend/--until | flow/suspend/-u) words='' ;;
        flow/suspend/--waitpoint | flow/suspend/-w) words='' ;;
        flow/suspend/--timeout | flow/suspend/-t) words='' ;;
        flow/suspend/--on-timeout) words='' ;;
        flow/suspend/--reason | flow/suspend/-R) words='' ;;
        flow/suspend/--resume-delay) words='' ;;
        flow/waitpoint/--expires | flow/waitpoint/-e) words='' ;;
        flow/cancel/--reason | flow/cancel/-R) words='' ;;
        flow/cancel/--flow | flow/cancel/-f) words='' ;;
        flow/cancel/--members) words='all pending none' ;;
        flow/revoke/--instance) words='' ;;
        flow/revoke/--epoch) words='' ;;
        flow/prioritise/--priority | flow/prioritise/-p) words='' ;;
        flow/signal/--name | flow/signal/-n) words='' ;;
        flow/signal/--token | flow/signal/-t) words='' ;;
        flow/signal/--token-file) words='FILE' ;;
        flow/signal/--source | flow/signal/-s) words='' ;;
        flow/signal/--source-type) words='' ;;
        flow/signal/--payload | flow/signal/-p) words='' ;;
        flow/signal/--key | flow/signal/-K) words='' ;;
        flow/approve/--name | flow/approve/-n) words='' ;;
        flow/approve/--source | flow/approve/-s) words='' ;;
        flow/approve/--source-type) words='' ;;
        flow/approve/--payload | flow/approve/-p) words='' ;;
        flow/approve/--key | flow/approve/-K) words='' ;;
        flow/resume/--delay | flow/resume/-d) words='' ;;
        flow/key/rotate/--secret-file) words='FILE' ;;
        flow/key/rotate/--grace | flow/key/rotate/-g) words='' ;;
        flow/budget/create/--hard) words='' ;;
        flow/budget/create/--soft) words='' ;;
        flow/budget/create/--period) words='' ;;
        flow/budget/create/--scope-type) words='' ;;
        flow/budget/create/--scope) words='' ;;
        flow/budget/change/--hard) words='' ;;
        flow/budget/change/--soft) words='' ;;
        flow/budget/change/--period) words='' ;;
        flow/budget/report/--for | flow/budget/report/-f) words='' ;;
        flow/budget/report/--key | flow/budget/report/-K) words='' ;;
        flow/budget/list/--limit | flow/budget/list/-m) words='' ;;
        flow/budget/list/--after) words='' ;;
        flow/create/--kind | flow/create/-k) words='' ;;
        flow/create/--namespace | flow/create/-n) words='' ;;
        flow/create/--id) words='' ;;
        flow/add/--from | flow/add/-f) words='FILE' ;;
        flow/add/--lane | flow/add/-l) words='' ;;
        flow/add/--kind | flow/add/-k) words='' ;;
        flow/add/--input | flow/add/-i) words='' ;;
        flow/add/--key | flow/add/-K) words='' ;;
        flow/add/--priority | flow/add/-p) words='' ;;
        flow/add/--delay) words='' ;;
        flow/add/--deadline) words='' ;;
        flow/add/--retries | flow/add/-r) words='' ;;
        flow/add/--backoff) words='' ;;
        flow/add/--backoff-max) words='' ;;
        flow/add/--attempt-timeout) words='' ;;
        flow/add/--reclaims) words='' ;;
        flow/add/--replays) words='' ;;
        flow/add/--capability) words='' ;;
        flow/add/--tag) words='' ;;
        flow/add/--budget) words='' ;;
        flow/add/--namespace | flow/add/-n) words='' ;;
        flow/add/--name) words='' ;;
        flow/add/--id) words='' ;;
        flow/add/--after | flow/add/-a) words='' ;;
        flow/add/--join) words='' ;;
        flow/add/--revision) words='' ;;
        flow/add/--partitions) words='' ;;
        flow/edge/--join) words='' ;;
        flow/edge/--revision) words='' ;;
        flow/edge/--partitions) words='' ;;
        flow/show/--watch | flow/show/-w) words='' ;;
        flow/show/--fold) words='' ;;
        flow/graphs/--namespace | flow/graphs/-n) words='' ;;
        flow/graphs/--limit | flow/graphs/-m) words='' ;;
        flow/graphs/--after) words='' ;;
        flow/work/--exec | flow/work/-x) words='' ;;
        flow/work/--lane | flow/work/-l) words='' ;;
        flow/work/--capability) words='' ;;
        flow/work/--lease) words='' ;;
        flow/work/--worker) words='' ;;
        flow/work/--instance) words='' ;;
        flow/work/--concurrency | flow/work/-c) words='' ;;
        flow/work/--prefetch) words='' ;;
        flow/work/--delay) words='' ;;
        flow/work/--grace) words='' ;;
        flow/work/--retention) words='' ;;
        flow/work/--partitions) words='' ;;
        flow/supervise/--retention) words='' ;;
        flow/supervise/--namespace) words='' ;;
        flow/supervise/--tag) words='' ;;
        flow/supervise/--interval) words='' ;;
        flow/supervise/--grace) words='' ;;
        flow/supervise/--partitions) words='' ;;
        bench/--messages) words='' ;;
        bench/--batch) words='' ;;
        bench/--size) words='' ;;
        bench/--producers) words='' ;;
        bench/--handlers) words='' ;;
        bench/--seconds) words='' ;;
    esac
    case $words in
        FILE) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        *)
            [ "$words" != QUEUE ] || words=$(_weir_queues)
            [[ $current != -* ]] || words=$options
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
            ;;
    esac
}
complete -F _weir weir
