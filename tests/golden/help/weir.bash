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
            /serve) command=serve ;;
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
            /submit) command=submit ;;
            /work) command=work ;;
            /supervise) command=supervise ;;
            /execution) command=execution ;;
            execution/get) command=execution/get ;;
            execution/list) command=execution/list ;;
            execution/result) command=execution/result ;;
            execution/claim) command=execution/claim ;;
            execution/renew) command=execution/renew ;;
            execution/progress) command=execution/progress ;;
            execution/complete) command=execution/complete ;;
            execution/fail) command=execution/fail ;;
            execution/delay) command=execution/delay ;;
            execution/abandon) command=execution/abandon ;;
            execution/suspend) command=execution/suspend ;;
            execution/waitpoint) command=execution/waitpoint ;;
            execution/waitpoints) command=execution/waitpoints ;;
            execution/signal) command=execution/signal ;;
            execution/signals) command=execution/signals ;;
            execution/approve) command=execution/approve ;;
            execution/resume) command=execution/resume ;;
            execution/cancel) command=execution/cancel ;;
            execution/revoke) command=execution/revoke ;;
            execution/prioritise) command=execution/prioritise ;;
            execution/replay) command=execution/replay ;;
            /flow) command=flow ;;
            flow/create) command=flow/create ;;
            flow/add) command=flow/add ;;
            flow/edge) command=flow/edge ;;
            flow/show) command=flow/show ;;
            flow/list) command=flow/list ;;
            flow/cancel) command=flow/cancel ;;
            /budget) command=budget ;;
            budget/create) command=budget/create ;;
            budget/change) command=budget/change ;;
            budget/report) command=budget/report ;;
            budget/release) command=budget/release ;;
            budget/reset) command=budget/reset ;;
            budget/show) command=budget/show ;;
            budget/list) command=budget/list ;;
            /key) command=key ;;
            key/rotate) command=key/rotate ;;
            /token) command=token ;;
            token/create) command=token/create ;;
            token/list) command=token/list ;;
            token/rotate) command=token/rotate ;;
            token/revoke) command=token/revoke ;;
            /audit) command=audit ;;
            audit/list) command=audit/list ;;
            /doctor) command=doctor ;;
            /bench) command=bench ;;
            /help) command=help ;;
            /version) command=version ;;
        esac
    done
    case $command in
        '')
            words='demo migrate queue enqueue relay serve status subscription dlq submit work supervise execution flow budget key token audit doctor bench help version '
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
        serve)
            words=''
            options='--config --set --check --print-config --db --prefix --json --quiet --help'
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
        submit)
            words=''
            options='--lane --kind --input --key --priority --delay --deadline --retries --backoff --backoff-max --attempt-timeout --reclaims --replays --capability --tag --budget --namespace --id --lines --key-field --batch --partitions --db --prefix --json --quiet --help'
            ;;
        work)
            words=''
            options='--exec --lane --capability --lease --worker --instance --concurrency --prefetch --delay --drain --grace --no-supervise --retention --partitions --db --prefix --json --quiet --help'
            ;;
        supervise)
            words=''
            options='--retention --namespace --tag --interval --grace --partitions --db --prefix --json --quiet --help'
            ;;
        execution)
            words='get list result claim renew progress complete fail delay abandon suspend waitpoint waitpoints signal signals approve resume cancel revoke prioritise replay '
            options='--db --prefix --json --quiet --help'
            ;;
        execution/get)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        execution/list)
            words=''
            options='--state --lane --kind --namespace --flow --tag --limit --after --db --prefix --json --quiet --help'
            ;;
        execution/result)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        execution/claim)
            words=''
            options='--lane --capability --lease --worker --instance --count --wait --input-to --db --prefix --json --quiet --help'
            ;;
        execution/renew)
            words=''
            options='--lease --db --prefix --json --quiet --help'
            ;;
        execution/progress)
            words=''
            options='--percent --text --db --prefix --json --quiet --help'
            ;;
        execution/complete)
            words=''
            options='--result --db --prefix --json --quiet --help'
            ;;
        execution/fail)
            words=''
            options='--reason --for-good --db --prefix --json --quiet --help'
            ;;
        execution/delay)
            words=''
            options='--for --db --prefix --json --quiet --help'
            ;;
        execution/abandon)
            words=''
            options='--reason --db --prefix --json --quiet --help'
            ;;
        execution/suspend)
            words=''
            options='--until --waitpoint --timeout --on-timeout --reason --resume-delay --db --prefix --json --quiet --help'
            ;;
        execution/waitpoint)
            words=''
            options='--expires --db --prefix --json --quiet --help'
            ;;
        execution/waitpoints)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        execution/signal)
            words=''
            options='--name --token --token-file --source --source-type --payload --key --db --prefix --json --quiet --help'
            ;;
        execution/signals)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        execution/approve)
            words=''
            options='--name --source --source-type --payload --key --db --prefix --json --quiet --help'
            ;;
        execution/resume)
            words=''
            options='--delay --db --prefix --json --quiet --help'
            ;;
        execution/cancel)
            words=''
            options='--reason --db --prefix --json --quiet --help'
            ;;
        execution/revoke)
            words=''
            options='--instance --epoch --db --prefix --json --quiet --help'
            ;;
        execution/prioritise)
            words=''
            options='--priority --db --prefix --json --quiet --help'
            ;;
        execution/replay)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        flow)
            words='create add edge show list cancel '
            options='--db --prefix --json --quiet --help'
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
        flow/list)
            words=''
            options='--namespace --limit --after --db --prefix --json --quiet --help'
            ;;
        flow/cancel)
            words=''
            options='--reason --members --db --prefix --json --quiet --help'
            ;;
        budget)
            words='create change report release reset show list '
            options='--db --prefix --json --quiet --help'
            ;;
        budget/create)
            words=''
            options='--hard --soft --period --scope-type --scope --db --prefix --json --quiet --help'
            ;;
        budget/change)
            words=''
            options='--hard --soft --period --db --prefix --json --quiet --help'
            ;;
        budget/report)
            words=''
            options='--for --key --db --prefix --json --quiet --help'
            ;;
        budget/release)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        budget/reset)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        budget/show)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        budget/list)
            words=''
            options='--limit --after --db --prefix --json --quiet --help'
            ;;
        key)
            words='rotate '
            options='--db --prefix --json --quiet --help'
            ;;
        key/rotate)
            words=''
            options='--secret-file --grace --db --prefix --json --quiet --help'
            ;;
        token)
            words='create list rotate revoke '
            options='--db --prefix --json --quiet --help'
            ;;
        token/create)
            words=''
            options='--name --scope --database --queue --lane --namespace --expires --db --prefix --json --quiet --help'
            ;;
        token/list)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        token/rotate)
            words=''
            options='--overlap --db --prefix --json --quiet --help'
            ;;
        token/revoke)
            words=''
            options='--db --prefix --json --quiet --help'
            ;;
        audit)
            words='list '
            options='--db --prefix --json --quiet --help'
            ;;
        audit/list)
            words=''
            options='--who --action --target --since --limit --after --db --prefix --json --quiet --help'
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
            words='demo migrate queue enqueue relay serve status subscription dlq submit work supervise execution flow budget key token audit doctor bench help version '
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
        serve/--config | serve/-c) words='FILE' ;;
        serve/--set) words='' ;;
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
        submit/--lane | submit/-l) words='' ;;
        submit/--kind | submit/-k) words='' ;;
        submit/--input | submit/-i) words='' ;;
        submit/--key | submit/-K) words='' ;;
        submit/--priority | submit/-p) words='' ;;
        submit/--delay) words='' ;;
        submit/--deadline) words='' ;;
        submit/--retries | submit/-r) words='' ;;
        submit/--backoff) words='' ;;
        submit/--backoff-max) words='' ;;
        submit/--attempt-timeout) words='' ;;
        submit/--reclaims) words='' ;;
        submit/--replays) words='' ;;
        submit/--capability) words='' ;;
        submit/--tag) words='' ;;
        submit/--budget) words='' ;;
        submit/--namespace | submit/-n) words='' ;;
        submit/--id) words='' ;;
        submit/--key-field) words='' ;;
        submit/--batch) words='' ;;
        submit/--partitions) words='' ;;
        work/--exec | work/-x) words='' ;;
        work/--lane | work/-l) words='' ;;
        work/--capability) words='' ;;
        work/--lease) words='' ;;
        work/--worker) words='' ;;
        work/--instance) words='' ;;
        work/--concurrency | work/-c) words='' ;;
        work/--prefetch) words='' ;;
        work/--delay) words='' ;;
        work/--grace) words='' ;;
        work/--retention) words='' ;;
        work/--partitions) words='' ;;
        supervise/--retention) words='' ;;
        supervise/--namespace) words='' ;;
        supervise/--tag) words='' ;;
        supervise/--interval) words='' ;;
        supervise/--grace) words='' ;;
        supervise/--partitions) words='' ;;
        execution/list/--state | execution/list/-s) words='' ;;
        execution/list/--lane | execution/list/-l) words='' ;;
        execution/list/--kind | execution/list/-k) words='' ;;
        execution/list/--namespace | execution/list/-n) words='' ;;
        execution/list/--flow | execution/list/-f) words='' ;;
        execution/list/--tag) words='' ;;
        execution/list/--limit | execution/list/-m) words='' ;;
        execution/list/--after) words='' ;;
        execution/claim/--lane | execution/claim/-l) words='' ;;
        execution/claim/--capability) words='' ;;
        execution/claim/--lease) words='' ;;
        execution/claim/--worker) words='' ;;
        execution/claim/--instance) words='' ;;
        execution/claim/--count | execution/claim/-c) words='' ;;
        execution/claim/--wait) words='' ;;
        execution/claim/--input-to) words='FILE' ;;
        execution/renew/--lease | execution/renew/-l) words='' ;;
        execution/progress/--percent | execution/progress/-p) words='' ;;
        execution/progress/--text | execution/progress/-t) words='' ;;
        execution/complete/--result | execution/complete/-r) words='' ;;
        execution/fail/--reason | execution/fail/-R) words='' ;;
        execution/delay/--for | execution/delay/-f) words='' ;;
        execution/abandon/--reason | execution/abandon/-R) words='' ;;
        execution/suspend/--until | execution/suspend/-u) words='' ;;
        execution/suspend/--waitpoint | execution/suspend/-w) words='' ;;
        execution/suspend/--timeout | execution/suspend/-t) words='' ;;
        execution/suspend/--on-timeout) words='' ;;
        execution/suspend/--reason | execution/suspend/-R) words='' ;;
        execution/suspend/--resume-delay) words='' ;;
        execution/waitpoint/--expires | execution/waitpoint/-e) words='' ;;
        execution/signal/--name | execution/signal/-n) words='' ;;
        execution/signal/--token | execution/signal/-t) words='' ;;
        execution/signal/--token-file) words='FILE' ;;
        execution/signal/--source | execution/signal/-s) words='' ;;
        execution/signal/--source-type) words='' ;;
        execution/signal/--payload | execution/signal/-p) words='' ;;
        execution/signal/--key | execution/signal/-K) words='' ;;
        execution/approve/--name | execution/approve/-n) words='' ;;
        execution/approve/--source | execution/approve/-s) words='' ;;
        execution/approve/--source-type) words='' ;;
        execution/approve/--payload | execution/approve/-p) words='' ;;
        execution/approve/--key | execution/approve/-K) words='' ;;
        execution/resume/--delay | execution/resume/-d) words='' ;;
        execution/cancel/--reason | execution/cancel/-R) words='' ;;
        execution/revoke/--instance) words='' ;;
        execution/revoke/--epoch) words='' ;;
        execution/prioritise/--priority | execution/prioritise/-p) words='' ;;
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
        flow/list/--namespace | flow/list/-n) words='' ;;
        flow/list/--limit | flow/list/-m) words='' ;;
        flow/list/--after) words='' ;;
        flow/cancel/--reason | flow/cancel/-R) words='' ;;
        flow/cancel/--members) words='all pending none' ;;
        budget/create/--hard) words='' ;;
        budget/create/--soft) words='' ;;
        budget/create/--period) words='' ;;
        budget/create/--scope-type) words='' ;;
        budget/create/--scope) words='' ;;
        budget/change/--hard) words='' ;;
        budget/change/--soft) words='' ;;
        budget/change/--period) words='' ;;
        budget/report/--for | budget/report/-f) words='' ;;
        budget/report/--key | budget/report/-K) words='' ;;
        budget/list/--limit | budget/list/-m) words='' ;;
        budget/list/--after) words='' ;;
        key/rotate/--secret-file) words='FILE' ;;
        key/rotate/--grace | key/rotate/-g) words='' ;;
        token/create/--name | token/create/-n) words='' ;;
        token/create/--scope | token/create/-s) words='' ;;
        token/create/--database) words='' ;;
        token/create/--queue | token/create/-Q) words='' ;;
        token/create/--lane) words='' ;;
        token/create/--namespace) words='' ;;
        token/create/--expires | token/create/-e) words='' ;;
        token/rotate/--overlap | token/rotate/-o) words='' ;;
        audit/list/--who | audit/list/-w) words='' ;;
        audit/list/--action | audit/list/-a) words='' ;;
        audit/list/--target | audit/list/-t) words='' ;;
        audit/list/--since) words='' ;;
        audit/list/--limit | audit/list/-l) words='' ;;
        audit/list/--after) words='' ;;
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
