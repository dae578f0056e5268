//! Names that are paths.

use crate::fixture::{APP, Fixture, TIMEOUT, ask, content, fetch, metadata, open, open_blocks};
use bytes::Bytes;
use firesteel::transport::{Body, Client};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use wire::block_transfer::BlockTransferMessage as Message;

/// Names that no block has; `outside` is a file that none of them may touch.
fn hostile(outside: &Path) -> Vec<String> {
    let outside = outside.to_str().unwrap();
    let mut names: Vec<String> = [
        "",
        ".",
        "..",
        "/",
        "test_/a",
        "test_/../../../outside",
        "test_a/../../../../outside",
        "test_a\0b",
        "test_a\nb",
        "broadcast_1_/../../outside",
        "broadcast_1_../x",
        "broadcast_1_piece0/x",
        "rdd_1_1/../../../outside",
        "rdd_-1_1",
        "rdd_01_1",
        "shuffle_1_2_0.data/x",
        "shuffle_1_2_0.index\0",
        "shuffleMerged_/../x_1_2_3.data",
        "temp_local_../../outside",
        "temp_shuffle_/x",
        "python_worker_log_1_/../x_b_c",
        "input-1-2/x",
        "taskresult_../outside",
        "x",
    ]
    .map(str::to_owned)
    .into();
    names.push(outside.to_owned());
    names.push(format!("test_{outside}"));
    names.push(format!("broadcast_1_{outside}"));
    names.push(format!("test_{}", "x".repeat(300)));
    names.push(format!("test_{}", "x/".repeat(30_000)));
    names
}

fn upload(block_id: &str, data: &'static [u8]) -> Message {
    Message::UploadBlock {
        app_id: APP.into(),
        exec_id: "7".into(),
        block_id: block_id.into(),
        metadata: metadata(),
        block_data: Bytes::from_static(data),
    }
}

async fn upload_stream(client: &Client, block_id: &str) -> Result<Bytes, String> {
    let header = Message::UploadBlockStream {
        block_id: block_id.into(),
        metadata: metadata(),
    };
    let data = Body::Bytes(Bytes::from_static(b"theirs"));
    let answer = client.upload(header.write().unwrap().into(), &data, TIMEOUT);
    answer.await.map_err(|error| error.to_string())
}

fn tree(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut tree(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_a_path_is_refused_on_every_entry() {
    let fixture = Fixture::start();
    let root = fixture.dirs.dirs()[0].ancestors().nth(2).unwrap();
    let outside = root.join("outside");
    std::fs::write(&outside, "mine").unwrap();
    let before = tree(root);
    let client = fixture.connect().await;
    for name in hostile(&outside) {
        let short: String = name.chars().take(100).collect();
        let refusals = [
            ask(&client, upload(&name, b"theirs"))
                .await
                .unwrap_err()
                .to_string(),
            upload_stream(&client, &name).await.unwrap_err(),
            ask(&client, open_blocks(&[&name]))
                .await
                .unwrap_err()
                .to_string(),
            ask(&client, open_blocks(&["rdd_1_1", &name]))
                .await
                .unwrap_err()
                .to_string(),
        ];
        for refusal in refusals {
            assert!(
                refusal.contains("UnrecognizedBlockId"),
                "{short:?}: {refusal}"
            );
            assert!(
                refusal.len() < 2000 && !refusal.contains(char::is_control),
                "{short:?}: {refusal:?}"
            );
        }
        // Entries that take no block's name.
        let other = fixture.connect().await;
        assert!(other.open_stream(&name).await.is_err(), "{short:?}");
        let dirs = |app_id: &str, exec_id: &str| Message::GetLocalDirsForExecutors {
            app_id: app_id.into(),
            exec_ids: vec![exec_id.into()],
        };
        assert!(ask(&client, dirs(APP, &name)).await.is_err(), "{short:?}");
        assert!(ask(&client, dirs(&name, "7")).await.is_err(), "{short:?}");
        let diagnosis = Message::DiagnoseCorruption {
            app_id: APP.into(),
            exec_id: "7".into(),
            shuffle_id: 3,
            map_id: 10,
            reduce_id: 0,
            checksum: 1,
            algorithm: name.clone(),
        };
        let cause = ask(&client, diagnosis).await.unwrap();
        assert!(
            matches!(cause, Message::CorruptionCause { .. }),
            "{short:?}"
        );
    }
    // The header of an upload is short. One that is not is not read at all.
    let long = "x/".repeat(500_000);
    let error = ask(&client, upload(&long, b"theirs")).await.unwrap_err();
    assert!(error.to_string().contains("UnrecognizedBlockId"), "{error}");
    let other = fixture.connect().await;
    let error = upload_stream(&other, &long).await.unwrap_err();
    assert!(error.contains("closed"), "{error}");
    assert_eq!(std::fs::read(&outside).unwrap(), b"mine");
    assert_eq!(tree(root), before, "nothing is left behind");
    assert!(fixture.source.uploads.lock().is_empty() && fixture.source.streams.lock().is_empty());
    assert_eq!(fixture.source.asked.load(Ordering::SeqCst), 0);

    // The same connection serves who asks for what there is.
    let segments = fixture.map_output(3, 10, &[100]);
    let (stream, _) = open(&client, fetch(&[10], &[&[0]], false)).await;
    assert_eq!(client.fetch_chunk(stream, 0).await.unwrap(), segments[0]);
    let (stream, _) = open(&client, open_blocks(&["rdd_5_1"])).await;
    assert!(client.fetch_chunk(stream, 0).await.unwrap() == content(1, 5));
    let message = upload("test_a b-c.d", b"x").write().unwrap();
    assert_eq!(client.ask(message.into(), TIMEOUT).await, Ok(Bytes::new()));
    assert_eq!(fixture.source.uploads.lock().len(), 1);
}

/// Numbers below zero are no reducers or maps, and what they name lies in the directories.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_below_zero_name_nothing() {
    let fixture = Fixture::start();
    let client = fixture.connect().await;
    for (map, reducer) in [(i64::MIN, 0), (-1, -1), (0, i32::MIN)] {
        let opened = ask(&client, fetch(&[map], &[&[reducer]], false)).await;
        if let Ok(Message::StreamHandle { stream_id, .. }) = opened {
            assert!(client.fetch_chunk(stream_id, 0).await.is_err());
        }
    }
    assert!(fixture.files_left().is_empty());
}
