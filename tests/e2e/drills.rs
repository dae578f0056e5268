//! Executors started by hand against one driver: how they end, work beside plain Spark's executors, and stand
//! strangers.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Distribution, NEWEST, each_version};

use crate::hold::Hold;
use crate::places;
use crate::process::{Running, one_at_a_time, wait_for};
use crate::report;

each_version!(executors_by_hand, super::drills);

fn drills(version: &'static str) {
    if !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    testkit::firesteel();
    let mut hold = Hold::start(
        &distribution,
        "drills",
        &[
            "spark.serializer=org.apache.spark.serializer.KryoSerializer",
            "spark.io.compression.codec=zstd",
            "spark.shuffle.readHostLocalDisk=false",
            "spark.network.maxRemoteBlockSizeFetchToMem=512k",
            "spark.executor.heartbeatInterval=2s",
            // The counts below are of delegated tasks.
            "spark.firesteel.lanes=jvm",
        ],
    );
    idle_executors_stop(&mut hold, &distribution);
    hold.restart();
    mixed_fleet(&mut hold, &distribution);
}

/// The same task outcome whichever executor runs the gated job.
fn gated_answer() -> String {
    let pairs: Vec<String> = (0..20).rev().map(|key| format!("({key},50)")).collect();
    format!("[{}]", pairs.join(", "))
}

/// Two executors that never get a task: alike in the driver's eyes, and gone with code 0 when the driver stops.
fn idle_executors_stop(hold: &mut Hold, distribution: &Distribution) {
    let mut native = hold.add_executor(distribution, &testkit::firesteel(), "0", &[]);
    let mut plain = hold.add_executor(distribution, &testkit::jdk(), "1", &["0"]);
    // Storage memory depends on the heap as the collector counts it, which Firesteel must know without a JVM.
    let small: [(&str, &Path); 2] = [("2", &testkit::firesteel()), ("3", &testkit::jdk())];
    let others = small.map(|(id, java_home)| {
        let mut command = hold.executor_command(java_home, &distribution.class_path(), id);
        command.env("JDK_JAVA_OPTIONS", "-XX:+UseSerialGC -Xms300m");
        Running::start(&mut command, &hold.work, &format!("executor-{id}"), false)
    });
    hold.wait_for_executors(&["0", "1", "2", "3"]);
    for (one, other) in [("0", "1"), ("2", "3")] {
        for key in ["active", "cores", "max_memory"] {
            assert_eq!(
                hold.executor(one)[key],
                hold.executor(other)[key],
                "{key} of executors {one} and {other}"
            );
        }
    }
    assert_ne!(
        hold.executor("0")["max_memory"],
        hold.executor("2")["max_memory"]
    );
    paths_as_names(hold, distribution.version);
    let dump = hold.ask(json!({"do": "threads", "id": "0"}));
    assert_eq!(
        dump["status"], 200,
        "a thread dump of an executor without a JVM"
    );
    assert!(dump["threads"].as_u64() > Some(1), "{dump}");
    hold.restart();
    assert_eq!(native.exit_code(20), 0, "{}", native.log());
    // Spark's own executor ends with 1 if it has not yet made its `Executor`.
    assert!([0, 1].contains(&plain.exit_code(20)), "{}", plain.log());
    let [mut small_native, mut small_plain] = others;
    assert_eq!(small_native.exit_code(20), 0, "{}", small_native.log());
    assert!(
        [0, 1].contains(&small_plain.exit_code(20)),
        "{}",
        small_plain.log()
    );
    let report = report::read(&hold.reports(), "0");
    report::check_all_delegated(&report, distribution.version, 0, 0);
    assert_eq!(report["jvm_started"], false, "no task, no JVM");
    assert_eq!(report["exit_code"], 0);
    let resident = report["peak_rss_bytes"].as_u64().expect("a number");
    assert!(
        resident < 64 << 20,
        "{resident} bytes resident without a task"
    );
}

/// One executor of each kind in one job; strangers at the block port; a duplicate; the ends by SIGTERM and by a lost
/// driver.
fn mixed_fleet(hold: &mut Hold, distribution: &Distribution) {
    let mut native = hold.add_executor(distribution, &testkit::firesteel(), "0", &[]);
    let mut plain = hold.add_executor(distribution, &testkit::jdk(), "1", &["0"]);

    assert_eq!(
        hold.ask(json!({"do": "squares", "count": 1000})),
        "332833500 of 1000"
    );
    let mut counts: Vec<(u64, u64)> =
        serde_json::from_value(hold.ask(json!({"do": "counts", "tasks": 8}))).unwrap();
    counts.sort_unstable();
    assert_eq!(counts, [(0, 34), (1, 33), (2, 33)]);
    for (level, size) in [
        ("MEMORY_ONLY", 1000),
        ("MEMORY_ONLY_SER", 900_000),
        ("DISK_ONLY", 700_000),
    ] {
        let lines = hold.ask(json!({"do": "far_blocks", "level": level, "size": size}));
        let lines = lines.as_array().expect("lines");
        assert_eq!(
            lines.len(),
            1,
            "every task reads the same blocks: {lines:?}"
        );
    }

    hold.ask(json!({"do": "gated", "name": "strangers"}));
    strangers(hold, &native);
    paths_as_names(hold, distribution.version);
    assert_eq!(
        hold.ask(json!({"do": "ungate", "name": "strangers"})),
        gated_answer()
    );
    assert_eq!(hold.executor("0")["failed"], 0, "no task was affected");

    let mut duplicate = Running::start(
        &mut hold.executor_command(&testkit::firesteel(), &distribution.class_path(), "0"),
        &hold.work.clone(),
        "executor-duplicate",
        false,
    );
    assert_eq!(duplicate.exit_code(30), 1);
    assert!(
        duplicate.log().contains("Duplicate executor ID: 0"),
        "{}",
        duplicate.log()
    );

    let counted = hold.executor("0");
    native.signal(Signal::TERM);
    plain.signal(Signal::TERM);
    assert_eq!(
        (native.exit_code(20), plain.exit_code(20)),
        (143, 143),
        "Firesteel, plain: {}",
        native.log()
    );
    let number = |key: &str| counted[key].as_u64().expect("a count");
    let report = report::read(&hold.reports(), "0");
    report::check_all_delegated(
        &report,
        distribution.version,
        number("finished"),
        number("failed"),
    );
    hold.wait_for_executors(&[]);

    let mut native = hold.add_executor(distribution, &testkit::firesteel(), "2", &[]);
    let mut plain = hold.add_executor(distribution, &testkit::jdk(), "3", &["2"]);
    hold.ask(json!({"do": "gated", "name": "lost driver"}));
    hold.kill();
    // Spark's executor, once it is at work, leaves with 0 even then: the 1 that it gives to `exitExecutor` goes
    // nowhere.
    assert_eq!(
        (native.exit_code(10), plain.exit_code(10)),
        (0, 0),
        "Firesteel, plain: {}",
        native.log()
    );
    assert!(native.log().contains("Shutting down"), "{}", native.log());
    assert!(!native.log().contains("panicked at"), "{}", native.log());
}

/// A frame of the transport protocol: its length counts the eight bytes of itself.
fn frame(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = (9 + rest.len() as i64).to_be_bytes().to_vec();
    bytes.push(kind);
    bytes.extend_from_slice(rest);
    bytes
}

/// What a stranger sends, and what becomes of the connection.
struct Attack {
    name: &'static str,
    bytes: Vec<u8>,
    /// Frame types of which one must come back; empty: the executor must close the connection, with a word in its log.
    replies: &'static [u8],
}

fn attacks() -> Vec<Attack> {
    let attack = |name, bytes, replies| Attack {
        name,
        bytes,
        replies,
    };
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    let garbage: Vec<u8> = std::iter::once(0x7f)
        .chain((0..4095).map(|_| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            noise.to_le_bytes()[0]
        }))
        .collect();
    let mut eight_exabytes = i64::MAX.to_be_bytes().to_vec();
    eight_exabytes.push(3);
    let mut truncated = frame(3, &[0; 91]);
    truncated.truncate(20);
    let mut rpc = 1_i64.to_be_bytes().to_vec();
    rpc.extend_from_slice(&5_i32.to_be_bytes());
    rpc.extend_from_slice(b"hello");
    let mut chunk = 77_i64.to_be_bytes().to_vec();
    chunk.extend_from_slice(&3_i32.to_be_bytes());
    let mut stream = 13_i32.to_be_bytes().to_vec();
    stream.extend_from_slice(b"../etc/passwd");
    let mut upload = 1_i64.to_be_bytes().to_vec();
    upload.extend_from_slice(&i32::MAX.to_be_bytes());
    vec![
        attack("garbage", garbage, &[]),
        attack(
            "a web browser",
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            &[],
        ),
        attack("8 EB", eight_exabytes, &[]),
        attack("a negative length", (-5_i64).to_be_bytes().to_vec(), &[]),
        attack("an unknown frame type", frame(99, &[0; 30]), &[]),
        attack("a truncated frame", truncated, &[]),
        attack(
            "an upload whose header claims 2 GB",
            frame(10, &upload),
            &[],
        ),
        attack("a request that is no message", frame(3, &rpc), &[5]),
        attack("a chunk of no stream", frame(0, &chunk), &[2]),
        attack("a stream of no block", frame(6, &stream), &[8]),
    ]
}

/// Uploads of blocks whose names are paths: none of them reaches a store, be it ours or the JVM's.
fn paths_as_names(hold: &mut Hold, version: &str) {
    let outside = hold.work.join("outside");
    let text = outside.to_str().expect("a text");
    let fixture = testkit::fixtures().join("upload-metadata.json");
    let fixture = std::fs::read_to_string(fixture).unwrap();
    let metadata = serde_json::from_str::<Value>(&fixture).unwrap()[version].clone();
    let metadata = testkit::from_hex(metadata.as_str().unwrap());
    let mut socket = TcpStream::connect(block_server(hold)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let app_id = hold.hello.app_id.clone();
    let mut upload = |app_id: &str, name: &str| {
        let mut body = vec![1];
        for part in [
            app_id.as_bytes(),
            b"0",
            name.as_bytes(),
            &metadata,
            b"theirs",
        ] {
            body.extend((part.len() as u32).to_be_bytes());
            body.extend(part);
        }
        let mut rpc = 7_i64.to_be_bytes().to_vec();
        rpc.extend((body.len() as u32).to_be_bytes());
        rpc.extend(body);
        socket.write_all(&frame(3, &rpc)).unwrap();
        let mut length = [0; 8];
        socket.read_exact(&mut length).unwrap();
        let mut reply = vec![0; u64::from_be_bytes(length) as usize - 8];
        socket.read_exact(&mut reply).unwrap();
        String::from_utf8_lossy(&reply).into_owned()
    };
    for name in [
        text,
        &format!("test_{text}"),
        "test_/a",
        "test_/../../../../outside",
        &format!("broadcast_1_{text}"),
        "rdd_1_1/../../../outside",
        "test_a\0",
    ] {
        let reply = upload(&app_id, name);
        assert!(reply.contains("UnrecognizedBlockId"), "{name:?}: {reply}");
        assert!(!outside.exists(), "{name:?} was written");
    }
    let reply = upload("another-app", "test_a");
    assert!(
        reply.contains("has no blocks of application another-app"),
        "{reply}"
    );
}

/// Where the first executor serves blocks.
fn block_server(hold: &mut Hold) -> SocketAddr {
    let view: Value = hold.executor("0");
    let port = view["host_port"]
        .as_str()
        .and_then(|text| text.rsplit(':').next())
        .expect("a port");
    format!("127.0.0.1:{port}").parse().unwrap()
}

/// Sends every attack over a connection of its own.
fn strangers(hold: &mut Hold, executor: &Running) {
    let address = block_server(hold);
    for attack in attacks() {
        let mut socket = TcpStream::connect(address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let own = socket.local_addr().unwrap();
        // The executor may close before everything is written.
        let _ = socket.write_all(&attack.bytes);
        if attack.name == "a truncated frame" {
            socket.shutdown(Shutdown::Write).unwrap();
        }
        let mut reply = [0_u8; 9];
        if attack.replies.is_empty() {
            match socket.read(&mut reply) {
                Ok(0) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
                other => panic!(
                    "{}: expected a closed connection, got {other:?}",
                    attack.name
                ),
            }
            // One clear line that names the peer.
            let lines = wait_for(&format!("a log line about {}", attack.name), 5, || {
                let log = executor.log();
                let lines: Vec<String> = log
                    .lines()
                    .filter(|line| line.contains(&own.to_string()))
                    .map(str::to_owned)
                    .collect();
                (!lines.is_empty()).then_some(lines)
            });
            assert_eq!(lines.len(), 1, "{}: {lines:#?}", attack.name);
        } else {
            socket
                .read_exact(&mut reply)
                .unwrap_or_else(|error| panic!("{}: no reply: {error}", attack.name));
            assert!(
                attack.replies.contains(&reply[8]),
                "{}: reply of type {}",
                attack.name,
                reply[8]
            );
        }
    }
    assert!(
        !executor.log().contains("panicked at"),
        "{}",
        executor.log()
    );
}
