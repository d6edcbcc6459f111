//! FlowFabric's PostgreSQL back end as a library: create, claim and complete executions,
//! one at a time, by `conns` workers.
//!
//! Nothing in that crate moves an execution from `submitted`, in which it is created, to
//! `runnable`, in which it can be claimed; an UPDATE of ours, every 10 ms, does it. A claim looks into 256 partitions in turn, two round trips each; the lane here is
//! one of partition 0, which is looked into first.
use ff_backend_postgres::{PostgresBackend, apply_migrations};
use ff_core::backend::{CapabilitySet, ClaimPolicy, Handle};
use ff_core::contracts::CreateExecutionArgs;
use ff_core::engine_backend::EngineBackend;
use ff_core::partition::{PartitionConfig, solo_partition};
use ff_core::types::*;
use peers::{Options, handled, measure, payload};
use sqlx::postgres::PgPoolOptions;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

const PUBLISH: &str = "UPDATE ff_exec_core SET lifecycle_phase = 'runnable'
    WHERE lifecycle_phase = 'submitted' AND partition_key = 0";
const PUBLISH_INTERVAL: Duration = Duration::from_millis(10);

/// Of each execution, which message it is.
static MESSAGES: LazyLock<Mutex<HashMap<String, i64>>> = LazyLock::new(Default::default);

fn message_of(handle: &Handle) -> i64 {
    let decoded = ff_core::handle_codec::decode(&handle.opaque).unwrap();
    MESSAGES.lock().unwrap()[&decoded.payload.execution_id.to_string()]
}

fn draft(id: &ExecutionId, lane: &LaneId, input: i64) -> CreateExecutionArgs {
    CreateExecutionArgs {
        execution_id: id.clone(),
        namespace: Namespace::new("bench"),
        lane_id: lane.clone(),
        execution_kind: "bench".into(),
        input_payload: payload(input),
        payload_encoding: None,
        priority: 0,
        creator_identity: "bench".into(),
        idempotency_key: None,
        tags: Default::default(),
        policy: None,
        delay_until: None,
        execution_deadline_at: None,
        partition_id: id.partition(),
        now: TimestampMs::now(),
    }
}

#[tokio::main]
async fn main() {
    let o = Options::read();
    let connections = 2 * o.conns as u32 + 4;
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .connect(&o.url)
        .await
        .unwrap();
    apply_migrations(&pool).await.unwrap();
    let config = PartitionConfig::default();
    let lane = (0..)
        .map(|i| LaneId::new(format!("bench{i}")))
        .find(|lane| solo_partition(lane, &config).index == 0)
        .unwrap();
    let backend = PostgresBackend::from_pool(pool.clone(), config.clone());
    for worker in 0..o.conns {
        let (backend, lane) = (backend.clone(), lane.clone());
        tokio::spawn(async move {
            let policy = || {
                let name = format!("worker{worker}");
                let instance = WorkerInstanceId::new(format!("{name}-1"));
                ClaimPolicy::new(WorkerId::new(name), instance, 30_000, None)
            };
            let capabilities = CapabilitySet::default();
            loop {
                let claimed = backend.claim(&lane, &capabilities, policy()).await.unwrap();
                let Some(handle) = claimed else { continue };
                backend
                    .complete(&handle, Some(vec![b'r'; 16]))
                    .await
                    .unwrap();
                handled(&payload(message_of(&handle)));
            }
        });
    }
    tokio::spawn(async move {
        loop {
            sqlx::query(PUBLISH).execute(&pool).await.unwrap();
            tokio::time::sleep(PUBLISH_INTERVAL).await;
        }
    });
    measure(&o, move |first, count| {
        let (backend, lane, config) = (backend.clone(), lane.clone(), config.clone());
        async move {
            for input in first..first + count {
                let id = ExecutionId::solo(&lane, &config);
                MESSAGES.lock().unwrap().insert(id.to_string(), input);
                backend
                    .create_execution(draft(&id, &lane, input))
                    .await
                    .unwrap();
            }
        }
    })
    .await;
}
