//! Barrier stages: workers that wait for each other through the driver.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use firesteel::task::{TaskContext, TaskError};
use javaser::Catalog;
use javaser::types::Typed;
use testkit::{NEWEST, OLDEST, VERSIONS, is_since};
use wire::envelope::RequestEnvelope;
use wire::frame::{Frame, MAX_FRAME};
use wire::messages::{RequestToSync, reply};

use crate::bench::{Bench, elements, with_all};

/// Plays the driver for one executor: answers each request as `answer` says, `None` not at all. Gives the requests.
fn play(
    driver: &TcpListener,
    count: usize,
    answer: impl Fn(&RequestToSync) -> Option<Vec<u8>>,
) -> Vec<RequestToSync> {
    let (mut socket, _) = driver.accept().unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut buffer = BytesMut::new();
    let mut requests = Vec::new();
    while requests.len() < count {
        let Some(frame) = Frame::decode(&mut buffer, MAX_FRAME).unwrap() else {
            let mut bytes = [0; 65536];
            let read = socket.read(&mut bytes).unwrap();
            assert!(read > 0);
            buffer.extend_from_slice(&bytes[..read]);
            continue;
        };
        let Frame::RpcRequest { request_id, body } = frame else {
            panic!("{frame:?}");
        };
        let envelope = RequestEnvelope::read(&body).unwrap();
        assert_eq!(envelope.endpoint, "barrierSync");
        let request = RequestToSync::decode(&envelope.content).unwrap();
        if let Some(answer) = answer(&request) {
            let mut out = BytesMut::new();
            let body = answer.into();
            Frame::RpcResponse { request_id, body }.encode(&mut out);
            socket.write_all(&out).unwrap();
        }
        requests.push(request);
    }
    requests
}

fn strings(values: &[&str], catalog: &Catalog) -> Vec<u8> {
    javaser::to_vec(&Typed::new("[Ljava/lang/String;", values), catalog).unwrap()
}

fn context(bench: &Bench) -> Arc<TaskContext> {
    Arc::new(TaskContext {
        is_barrier: true,
        ..Arc::into_inner(bench.context()).unwrap()
    })
}

fn tasks_wait_for_each_other(bench: &Bench) {
    let context = context(bench);
    let catalog = Arc::clone(&context.blocks.catalog);
    let requests = std::thread::scope(|scope| {
        let driver = scope.spawn(|| {
            play(&bench.driver, 2, |request| {
                let gathered = ["from 0", "é"];
                let all = RequestToSync::request_method(true) == request.request_method;
                Some(strings(if all { &gathered } else { &["", ""] }, &catalog))
            })
        });
        let output = bench.run_function(&bench.function("barrier"), &[], &context);
        assert_eq!(output.unwrap(), ["['from 0', 'é']"]);
        driver.join().unwrap()
    });
    let expected = |epoch: i32| RequestToSync {
        num_tasks: 2,
        stage_id: 3,
        stage_attempt_id: 0,
        task_attempt_id: 1 << 33,
        barrier_epoch: epoch,
        partition_id: 1,
        message: ["", "from 1"][epoch as usize].to_owned(),
        request_method: RequestToSync::request_method(epoch == 1),
    };
    assert_eq!(requests, [expected(0), expected(1)]);
}

#[test]
fn tasks_of_a_barrier_stage_wait_for_each_other() {
    with_all(&[], tasks_wait_for_each_other);
    let unix = [("spark.python.unix.domain.socket.enabled", "true")];
    for version in VERSIONS
        .into_iter()
        .filter(|version| is_since(version, "4.1"))
    {
        tasks_wait_for_each_other(&Bench::new(version, &unix));
    }
}

#[test]
fn a_refused_barrier_fails_the_function() {
    let bench = Bench::new(NEWEST, &[]);
    let context = context(&bench);
    let catalog = Arc::clone(&context.blocks.catalog);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            play(&bench.driver, 1, |_| {
                let class = "org.apache.spark.SparkException";
                Some(reply::rpc_failure(class, "not enough slots", &catalog).unwrap())
            })
        });
        let error = bench.run_function(&bench.function("barrier"), &[], &context);
        let Err(TaskError::Python(traceback)) = error else {
            panic!("{error:?}");
        };
        assert!(traceback.contains("task.barrier()"), "{traceback}");
    });
}

#[test]
fn a_task_can_be_killed_while_it_waits() {
    let bench = Bench::new(OLDEST, &[]);
    let context = context(&bench);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // While the driver is still there: that it goes ends the wait, too.
            play(&bench.driver, 1, |_| {
                context.cancellation.cancel("another task failed");
                None
            });
        });
        let output = bench
            .workers
            .run(&bench.function("barrier"), 1, elements(&[]), &context);
        let error = output.unwrap().next().unwrap();
        assert_eq!(error, Err(TaskError::Killed("another task failed".into())));
    });
}
