use super::super::testing::{Fixture, MEMORY_AND_DISK_SER};
use super::*;

fn put(fixture: &Fixture, name: &str, level: StorageLevel, len: usize) -> bool {
    let bytes = Bytes::from(vec![name.len() as u8; len]);
    fixture
        .manager
        .put_bytes(&name.parse().unwrap(), level, bytes, true)
        .unwrap()
}

fn bytes(fixture: &Fixture, name: &str) -> Option<Bytes> {
    let block = fixture
        .manager
        .get_local(&name.parse().unwrap(), None)
        .unwrap()?;
    Some(block.data.bytes().unwrap())
}

fn report(name: &str, flags: u8, memory: i64, disk: i64) -> (String, u8, i64, i64) {
    (name.to_owned(), flags, memory, disk)
}

#[test]
fn blocks_move_to_disk_when_memory_is_short() {
    let fixture = Fixture::new(100);
    assert!(put(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, 60));
    assert!(put(&fixture, "rdd_2_0", StorageLevel::MEMORY_ONLY_SER, 40));
    assert_eq!(
        fixture.reports(),
        [report("rdd_1_0", 4, 60, 0), report("rdd_2_0", 4, 40, 0)]
    );
    assert!(put(&fixture, "rdd_3_0", MEMORY_AND_DISK_SER, 50));
    assert_eq!(
        fixture.reports(),
        [report("rdd_1_0", 8, 60, 60), report("rdd_3_0", 4, 50, 0)]
    );
    assert_eq!(fixture.files(), ["rdd_1_0"]);
    // An RDD does not throw itself out: room comes from the others, or not at all.
    assert!(!put(&fixture, "rdd_3_1", StorageLevel::MEMORY_ONLY_SER, 60));
    assert_eq!(fixture.manager.memory_used(), 90);
    assert!(put(&fixture, "rdd_3_1", StorageLevel::MEMORY_ONLY_SER, 50));
    assert_eq!(
        fixture.reports(),
        [report("rdd_2_0", 0, 40, 0), report("rdd_3_1", 4, 50, 0)]
    );
    assert_eq!(bytes(&fixture, "rdd_2_0"), None);
    // Read from disk, and back into memory.
    assert_eq!(bytes(&fixture, "rdd_1_0"), Some(vec![7; 60].into()));
    assert_eq!(fixture.manager.memory_used(), 60);
    assert_eq!(
        fixture
            .manager
            .block_status(&"rdd_1_0".parse().unwrap())
            .map(|status| (status.mem_size, status.disk_size)),
        Some((60, 60))
    );
    assert_eq!(fixture.files(), ["rdd_1_0", "rdd_3_0"]);
}

#[test]
fn what_fits_nowhere_is_not_stored() {
    let fixture = Fixture::new(10);
    assert!(!put(&fixture, "rdd_1_0", StorageLevel::MEMORY_ONLY_SER, 11));
    assert!(put(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, 11));
    assert!(put(&fixture, "rdd_1_1", StorageLevel::DISK_ONLY, 1));
    assert!(
        put(&fixture, "rdd_1_1", StorageLevel::DISK_ONLY, 2),
        "exists"
    );
    assert_eq!(fixture.files(), ["rdd_1_0", "rdd_1_1"]);
    assert_eq!(fixture.manager.memory_used(), 0);
    assert_eq!(bytes(&fixture, "rdd_1_1").map(|bytes| bytes.len()), Some(1));
}

#[test]
fn a_block_that_is_read_stays_in_memory_and_readable() {
    let fixture = Fixture::new(100);
    assert!(put(&fixture, "rdd_1_0", StorageLevel::MEMORY_ONLY_SER, 100));
    let reader = fixture
        .manager
        .get_local(&"rdd_1_0".parse().unwrap(), None)
        .unwrap()
        .unwrap();
    assert!(!put(&fixture, "rdd_2_0", StorageLevel::MEMORY_ONLY_SER, 1));
    assert!(
        fixture
            .manager
            .remove_block(&"rdd_1_0".parse().unwrap(), true)
    );
    assert_eq!(reader.data.bytes().unwrap().len(), 100);
    assert!(put(&fixture, "rdd_1_0", StorageLevel::MEMORY_ONLY_SER, 1));
    // The old reader is none of the new block.
    drop(reader);
    assert!(put(&fixture, "rdd_2_0", StorageLevel::MEMORY_ONLY_SER, 100));
    assert_eq!(
        fixture.manager.block_ids(),
        [BlockId::parse("rdd_2_0").unwrap()]
    );
}

#[test]
fn removals_and_their_reports() {
    let fixture = Fixture::new(1000);
    for name in [
        "rdd_1_0",
        "rdd_1_1",
        "rdd_11_0",
        "broadcast_1_piece0",
        "broadcast_1_piece1",
    ] {
        assert!(put(&fixture, name, MEMORY_AND_DISK_SER, 5));
    }
    fixture.reports();
    assert_eq!(fixture.manager.remove_rdd(1), 2);
    assert_eq!(fixture.reports(), [], "the driver forgets them by itself");
    assert_eq!(fixture.manager.remove_broadcast(1), 2);
    let mut told = fixture.reports();
    told.sort();
    assert_eq!(
        told,
        [
            report("broadcast_1_piece0", 0, 5, 0),
            report("broadcast_1_piece1", 0, 5, 0)
        ]
    );
    assert_eq!(fixture.manager.remove_broadcast(1), 0);
    assert!(
        !fixture
            .manager
            .remove_block(&"rdd_1_0".parse().unwrap(), true)
    );
    let id = fixture
        .manager
        .put_task_result(9, Bytes::from_static(b"result"))
        .unwrap();
    assert_eq!(id.to_string(), "taskresult_9");
    fixture.reports();
    assert!(fixture.manager.remove_block(&id, true));
    assert_eq!(fixture.reports(), [report("taskresult_9", 0, 6, 0)]);
    assert_eq!(fixture.manager.memory_used(), 5);
}

#[test]
fn a_removed_block_that_is_being_made_is_not_there_afterwards() {
    let fixture = Fixture::new(1000);
    let inner = &fixture.manager.inner;
    for (name, on_disk) in [("rdd_1_0", false), ("rdd_1_1", true)] {
        let id = BlockId::parse(name).unwrap();
        let lock = inner
            .lock_new(&id, MEMORY_AND_DISK_SER, "[B", true, None)
            .unwrap()
            .unwrap();
        assert!(fixture.manager.local_body(&id).is_none());
        assert!(fixture.manager.remove_block(&id, true));
        let made = if on_disk {
            MadeBlock::Disk(inner.disk.write(b"abc").unwrap())
        } else {
            assert!(inner.reserve(Some(&id), 3).unwrap());
            MadeBlock::Memory(Bytes::from_static(b"abc"))
        };
        let block = lock.complete(made).unwrap();
        assert_eq!(
            block.data.bytes().unwrap(),
            "abc",
            "the task goes on with it"
        );
        assert!(!fixture.manager.contains(&id));
    }
    assert_eq!(
        (
            fixture.reports(),
            fixture.files(),
            fixture.manager.memory_used()
        ),
        (vec![], vec![], 0)
    );
    assert!(
        put(&fixture, "rdd_1_0", StorageLevel::MEMORY_ONLY_SER, 1000),
        "nothing stays promised"
    );
}

#[test]
fn a_block_whose_file_is_gone_is_removed() {
    let fixture = Fixture::new(0);
    assert!(put(&fixture, "rdd_1_0", StorageLevel::DISK_ONLY, 5));
    std::fs::remove_file(fixture.dirs.path(&"rdd_1_0".parse().unwrap())).unwrap();
    fixture.reports();
    let error = fixture
        .manager
        .get_local(&"rdd_1_0".parse().unwrap(), None)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Block rdd_1_0 was not found even though it's read-locked"
    );
    assert_eq!(fixture.reports(), [report("rdd_1_0", 0, 0, 5)]);
    assert_eq!(bytes(&fixture, "rdd_1_0"), None);
}

#[test]
fn encrypted_files_are_served_decrypted() {
    let fixture = Fixture::with(0, true, false);
    assert!(put(&fixture, "rdd_1_0", StorageLevel::DISK_ONLY, 5));
    assert_eq!(
        std::fs::read(fixture.dirs.path(&"rdd_1_0".parse().unwrap())).unwrap(),
        [!7; 5]
    );
    assert_eq!(bytes(&fixture, "rdd_1_0"), Some(vec![7; 5].into()));
    let body = fixture.runtime.block_on(
        fixture
            .manager
            .local_body(&"rdd_1_0".parse().unwrap())
            .unwrap(),
    );
    let Ok(Body::Bytes(body)) = body else {
        panic!("{body:?}")
    };
    assert_eq!(body, vec![7; 5]);
}

#[test]
fn bodies_come_from_memory_or_files() {
    let fixture = Fixture::new(5);
    assert!(put(&fixture, "rdd_1_0", StorageLevel::DISK_ONLY, 5));
    assert!(put(&fixture, "rdd_1_1", StorageLevel::MEMORY_ONLY_SER, 5));
    let body = |name| {
        fixture
            .runtime
            .block_on(
                fixture
                    .manager
                    .local_body(&BlockId::parse(name).unwrap())
                    .unwrap(),
            )
            .unwrap()
    };
    assert!(matches!(body("rdd_1_0"), Body::File { len: 5, .. }));
    assert!(matches!(body("rdd_1_1"), Body::Bytes(bytes) if bytes.len() == 5));
    assert!(
        fixture
            .manager
            .local_body(&"rdd_1_2".parse().unwrap())
            .is_none()
    );
}

#[test]
fn memory_that_is_taken_away_throws_blocks_out() {
    let fixture = Fixture::new(100);
    for index in 0..4 {
        assert!(put(
            &fixture,
            &format!("rdd_1_{index}"),
            MEMORY_AND_DISK_SER,
            25
        ));
    }
    assert_eq!(fixture.manager.free_memory(30).unwrap(), 50);
    assert_eq!(fixture.files(), ["rdd_1_0", "rdd_1_1"]);
    fixture.manager.set_max_memory(30).unwrap();
    assert_eq!(fixture.manager.memory_used(), 25);
    assert_eq!(
        fixture.manager.free_memory(26).unwrap(),
        0,
        "it would not be enough"
    );
}

#[test]
fn a_driver_that_forgot_us_is_told_everything_again() {
    let fixture = Fixture::new(100);
    let (sender, receiver) = std::sync::mpsc::channel();
    fixture
        .manager
        .on_unknown_to_master(move || sender.send(()).unwrap());
    fixture.world.lock().unknown = true;
    assert!(put(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, 1));
    receiver.try_recv().unwrap();
    fixture.world.lock().unknown = false;
    assert!(put(&fixture, "rdd_1_1", StorageLevel::DISK_ONLY, 2));
    fixture
        .manager
        .put_bytes(
            &"test_x".parse().unwrap(),
            MEMORY_AND_DISK_SER,
            Bytes::new(),
            false,
        )
        .unwrap();
    fixture.reports();
    fixture.runtime.block_on(fixture.manager.report_all());
    let mut told = fixture.reports();
    told.sort();
    assert_eq!(
        told,
        [report("rdd_1_0", 4, 1, 0), report("rdd_1_1", 8, 0, 2)]
    );
}

#[test]
fn an_executor_that_goes_away_takes_no_partitions() {
    let fixture = Fixture::new(100);
    fixture.manager.set_decommissioning();
    assert!(put(&fixture, "broadcast_1_piece0", MEMORY_AND_DISK_SER, 1));
    let error = fixture
        .manager
        .put_bytes(
            &"rdd_1_0".parse().unwrap(),
            MEMORY_AND_DISK_SER,
            Bytes::new(),
            true,
        )
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("BlockSavedOnDecommissionedBlockManagerException"),
        "{error}"
    );
}

#[test]
fn many_threads_share_the_memory() {
    let fixture = Fixture::new(1000);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for index in 0..50 {
                    let name = format!("rdd_{thread}_{index}");
                    assert!(put(fixture, &name, MEMORY_AND_DISK_SER, 90));
                    assert_eq!(bytes(fixture, &name).map(|bytes| bytes.len()), Some(90));
                    assert!(fixture.manager.memory_used() <= 1000);
                }
            });
        }
    });
    assert_eq!(fixture.manager.block_ids().len(), 400);
    for thread in 0..8 {
        assert_eq!(fixture.manager.remove_rdd(thread), 50);
    }
    assert_eq!(
        (fixture.files(), fixture.manager.memory_used()),
        (vec![], 0)
    );
}

#[test]
fn shuffles_are_removed_with_all_their_files() {
    let fixture = Fixture::new(0);
    let names = [
        "shuffle_1_5_0.data",
        "shuffle_1_5_0.index",
        "shuffle_1_5_0.checksum.ADLER32",
        "shuffle_1_5_0.columns",
        "shuffle_1_5_0.columns.index",
        "shuffle_11_5_0.data",
        "shuffle_1_x",
        "rdd_1_5",
    ];
    for name in names {
        let path = fixture.dirs.path(&name.parse().unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    assert!(fixture.manager.remove_shuffle(1));
    assert_eq!(
        fixture.files(),
        ["rdd_1_5", "shuffle_11_5_0.data", "shuffle_1_x"]
    );
}
