//! cf-modkit-db's outbox: leased handler, 8 partitions, its profile low_latency or
//! high_throughput, connections as in the crate's own bench.
use modkit_db::outbox::{
    Batch, EnqueueMessage, HandlerResult, LeasedHandler, Outbox, OutboxProfile, Partitions,
    outbox_migrations,
};
use modkit_db::{ConnectOpts, connect_db, migration_runner::run_migrations_for_testing};
use peers::{Options, handled, measure, payload};
use std::{sync::Arc, time::Duration};

const PARTITIONS: u16 = 8;
const PROCESSORS: usize = 8;
const QUEUE: &str = "bench";

struct Handler;

#[async_trait::async_trait]
impl LeasedHandler for Handler {
    async fn handle(&self, batch: &mut Batch<'_>) -> HandlerResult {
        while let Some(message) = batch.next_msg() {
            handled(&message.payload);
            batch.ack();
        }
        HandlerResult::Success
    }
}

#[tokio::main]
async fn main() {
    let o = Options::read();
    let sequencers_and_maintenance = 3 + 2;
    let connections = match o.url.starts_with("sqlite") {
        true => 1,
        false => PROCESSORS + sequencers_and_maintenance + o.conns + 10,
    };
    let connect = ConnectOpts {
        max_conns: Some(connections as u32),
        ..Default::default()
    };
    let db = connect_db(&o.url, connect).await.unwrap();
    run_migrations_for_testing(&db, outbox_migrations())
        .await
        .unwrap();
    let profile = match o.latency {
        true => OutboxProfile::low_latency(),
        false => OutboxProfile::high_throughput(),
    };
    let handle = Outbox::builder(db.clone())
        .profile(profile)
        .processors(PROCESSORS)
        .maintenance(2, 1)
        .stats_interval(Duration::ZERO)
        .queue(QUEUE, Partitions::of(PARTITIONS))
        .leased(Handler)
        .start()
        .await
        .unwrap();
    let outbox = Arc::clone(handle.outbox());
    measure(&o, move |first, count| {
        let (outbox, db) = (Arc::clone(&outbox), db.clone());
        async move {
            let inner = Arc::clone(&outbox);
            let (_, result) = outbox
                .transaction(db, move |tx| {
                    Box::pin(async move {
                        let partition = |id: i64| (id % i64::from(PARTITIONS)) as u32;
                        if count == 1 {
                            inner
                                .enqueue(tx, QUEUE, partition(first), payload(first), "bench")
                                .await?;
                            return Ok(());
                        }
                        let items: Vec<_> = (first..first + count)
                            .map(|id| EnqueueMessage {
                                partition: partition(id),
                                payload: payload(id),
                                payload_type: "bench",
                            })
                            .collect();
                        inner.enqueue_batch(tx, QUEUE, &items).await?;
                        Ok(())
                    })
                })
                .await;
            result.unwrap();
        }
    })
    .await;
    handle.stop().await;
}
