//! What the measured programs in Rust share: arguments, messages, times, result.
//! The interface is described in ../../README.md, and is the same as that of load.h.
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::{Duration, Instant};

const PAYLOAD_SIZE: usize = 200;
const MESSAGES_MAX: usize = 1 << 23;
const WARM_UP: i64 = 400;
const WAIT_LIMIT: Duration = Duration::from_secs(120);

#[derive(Clone, Default)]
pub struct Options {
    pub url: String,
    pub latency: bool,
    pub conns: usize,
    pub batch: i64,
    pub rate: i64,
    pub seconds: i64,
}

impl Options {
    pub fn read() -> Options {
        let mut o = Options {
            conns: 1,
            batch: 1,
            seconds: 1,
            ..Default::default()
        };
        for argument in std::env::args().skip(1) {
            let (name, value) = argument.split_once('=').expect("NAME=VALUE");
            match name {
                "url" => o.url = value.into(),
                "system" => (),
                "task" => o.latency = value == "latency",
                "conns" => o.conns = value.parse().unwrap(),
                "batch" => o.batch = value.parse().unwrap(),
                "rate" => o.rate = value.parse().unwrap(),
                "seconds" => o.seconds = value.parse().unwrap(),
                _ => panic!("{name}: no such argument"),
            }
        }
        o
    }
}

static BASE: LazyLock<Instant> = LazyLock::new(Instant::now);
/// When each message was handled first; 0: not yet.
static HANDLED: LazyLock<Vec<AtomicI64>> =
    LazyLock::new(|| (0..MESSAGES_MAX).map(|_| AtomicI64::new(0)).collect());
static COUNT: AtomicI64 = AtomicI64::new(0);
static LAST: AtomicI64 = AtomicI64::new(0);
static NEXT: AtomicI64 = AtomicI64::new(0);

fn now_ns() -> i64 {
    BASE.elapsed().as_nanos() as i64 + 1
}

pub fn payload(id: i64) -> Vec<u8> {
    let head = format!("{{\"id\": {id}, \"pad\": \"");
    let pad = "x".repeat(PAYLOAD_SIZE - head.len() - 2);
    format!("{head}{pad}\"}}").into_bytes()
}

fn id_of(payload: &[u8]) -> usize {
    payload
        .iter()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(|c| c.is_ascii_digit())
        .fold(0, |id, c| id * 10 + (c - b'0') as usize)
}

/// The first line of a handler.
pub fn handled(payload: &[u8]) {
    let now = now_ns();
    if HANDLED[id_of(payload)]
        .compare_exchange(0, now, SeqCst, SeqCst)
        .is_ok()
    {
        LAST.store(now, SeqCst);
        COUNT.fetch_add(1, SeqCst);
    }
}

async fn await_all() {
    let end = Instant::now() + WAIT_LIMIT;
    while COUNT.load(SeqCst) < NEXT.load(SeqCst) {
        assert!(Instant::now() < end, "not all messages were delivered");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// `send(first, count)` is one transaction, committed when its future is ready.
pub async fn measure<S, F>(o: &Options, send: S)
where
    S: Fn(i64, i64) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    for _ in 0..(WARM_UP + o.batch - 1) / o.batch {
        send(NEXT.fetch_add(o.batch, SeqCst), o.batch).await;
    }
    await_all().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    if o.latency {
        let count = o.rate * o.seconds;
        let (first, start) = (NEXT.load(SeqCst), Instant::now());
        let mut committed = vec![];
        for i in 0..count {
            let due = start + Duration::from_secs_f64(i as f64 / o.rate as f64);
            tokio::time::sleep_until(due.into()).await;
            send(NEXT.fetch_add(1, SeqCst), 1).await;
            committed.push(now_ns());
        }
        let rate = count as f64 / start.elapsed().as_secs_f64();
        await_all().await;
        let mut ms: Vec<f64> = (0..count as usize)
            .map(|i| (HANDLED[first as usize + i].load(SeqCst) - committed[i]).max(0) as f64 / 1e6)
            .collect();
        ms.sort_by(f64::total_cmp);
        let (p50, p99) = (ms[ms.len() / 2], ms[ms.len() * 99 / 100]);
        println!("{{\"n\": {count}, \"rate\": {rate:.1}, \"p50\": {p50:.3}, \"p99\": {p99:.3}}}");
    } else {
        let (first, start, batch) = (NEXT.load(SeqCst), now_ns(), o.batch);
        let end = start + o.seconds * 1_000_000_000;
        let producers: Vec<_> = (0..o.conns)
            .map(|_| {
                let send = send.clone();
                tokio::spawn(async move {
                    while now_ns() < end {
                        send(NEXT.fetch_add(batch, SeqCst), batch).await;
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.await.unwrap();
        }
        await_all().await;
        let count = NEXT.load(SeqCst) - first;
        let seconds = (LAST.load(SeqCst) - start) as f64 / 1e9;
        println!(
            "{{\"n\": {count}, \"rate\": {:.1}}}",
            count as f64 / seconds
        );
    }
}
