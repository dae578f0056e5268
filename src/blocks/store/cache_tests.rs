use super::super::testing::{Fixture, MEMORY_AND_DISK_SER, id_of, status_in_memory};
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

type Records = std::vec::IntoIter<Result<Vec<u8>, StoreError>>;

fn records(count: usize, len: usize) -> Records {
    let records: Vec<_> = (0..count).map(|index| Ok(vec![index as u8; len])).collect();
    records.into_iter()
}

fn request<'a>(
    name: &str,
    level: StorageLevel,
    cancellation: &'a Cancellation,
) -> CacheRequest<'a> {
    CacheRequest {
        id: name.parse().unwrap(),
        level,
        class_tag: "[B",
        header: &[],
        task_id: 42,
        cancellation,
    }
}

fn cache(
    fixture: &Fixture,
    name: &str,
    level: StorageLevel,
    make: impl FnOnce() -> Result<Records, StoreError>,
) -> Result<Cached<Records>, StoreError> {
    let cancellation = Cancellation::default();
    let request = request(name, level, &cancellation);
    fixture
        .manager
        .get_or_else_update(&request, make, |record: &Vec<u8>, out| out.extend(record))
}

fn all(mut reader: BlockReader) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}

fn expected(count: usize, len: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|index| vec![index as u8; len])
        .collect()
}

fn never() -> Result<Records, StoreError> {
    panic!("it is cached")
}

#[test]
fn a_partition_is_made_once() {
    let fixture = Fixture::new(1000);
    let made = cache(&fixture, "rdd_1_0", StorageLevel::MEMORY_ONLY_SER, || {
        Ok(records(9, 100))
    })
    .unwrap();
    let Cached::Stored(reader) = made else {
        panic!("not stored")
    };
    assert_eq!((reader.size(), all(reader)), (900, expected(9, 100)));
    assert_eq!(fixture.reports(), [("rdd_1_0".to_owned(), 4, 900, 0)]);
    assert_eq!(fixture.manager.memory_used(), 900);
    let Cached::Found(reader) = cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, never).unwrap()
    else {
        panic!("not found")
    };
    assert_eq!(all(reader), expected(9, 100));
    assert!(fixture.world.lock().made.is_empty());
}

#[test]
fn what_does_not_fit_into_memory_goes_to_disk_or_is_not_stored() {
    let fixture = Fixture::new(100_000);
    let make = || Ok(records(40, 10_000));
    let Cached::Stored(reader) = cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, make).unwrap()
    else {
        panic!("not stored")
    };
    assert!(all(reader) == expected(40, 10_000));
    assert_eq!(fixture.reports(), [("rdd_1_0".to_owned(), 8, 0, 400_000)]);
    let Cached::NotStored { begun, rest } =
        cache(&fixture, "rdd_1_1", StorageLevel::MEMORY_ONLY_SER, make).unwrap()
    else {
        panic!("stored")
    };
    assert_eq!(fixture.reports(), []);
    assert!(!fixture.manager.contains(&"rdd_1_1".parse().unwrap()));
    assert!(
        begun.size() > 90_000 && rest.len() > 20,
        "{begun:?} {}",
        rest.len()
    );
    let mut bytes = all(begun);
    for record in rest {
        bytes.extend(record.unwrap());
    }
    assert!(bytes == expected(40, 10_000));
    // Everything promised is given back.
    assert!(
        fixture
            .manager
            .put_bytes(
                &"test_x".parse().unwrap(),
                StorageLevel::MEMORY_ONLY_SER,
                vec![0; 100_000].into(),
                true
            )
            .unwrap()
    );
    let Cached::Stored(reader) = cache(&fixture, "rdd_2_0", StorageLevel::DISK_ONLY, || {
        Ok(records(0, 0))
    })
    .unwrap() else {
        panic!("not stored")
    };
    assert_eq!(all(reader), b"");
}

#[test]
fn a_failed_attempt_leaves_nothing() {
    let fixture = Fixture::new(100_000);
    for level in [StorageLevel::MEMORY_ONLY_SER, StorageLevel::DISK_ONLY] {
        let failing = || {
            let mut all: Vec<_> = records(10, 9_000).collect();
            all.push(Err(StoreError::Spark("boom".into())));
            Ok(all.into_iter())
        };
        let Err(error) = cache(&fixture, "rdd_1_0", level, failing) else {
            panic!("no error")
        };
        assert_eq!(error.to_string(), "boom");
        assert!(!fixture.manager.contains(&"rdd_1_0".parse().unwrap()));
        assert!(fixture.manager.inner.reserve(None, 100_000).unwrap());
        fixture.manager.inner.state.lock().memory.release(100_000);
    }
    let tops = fixture
        .dirs
        .dirs()
        .iter()
        .flat_map(|dir| std::fs::read_dir(dir).unwrap());
    assert_eq!(tops.count(), 0, "no temporary files");
}

#[test]
fn others_wait_for_the_one_that_makes_it() {
    let fixture = Fixture::new(1000);
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let make = || {
                    made.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(std::time::Duration::from_millis(30));
                    Ok(records(3, 10))
                };
                match cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, make).unwrap() {
                    Cached::Found(reader) | Cached::Stored(reader) => {
                        assert_eq!(all(reader), expected(3, 10));
                    }
                    Cached::NotStored { .. } => panic!("there is room"),
                }
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
}

#[test]
fn waiting_ends_when_the_task_is_killed() {
    let fixture = Fixture::new(1000);
    let id = BlockId::parse("rdd_1_0").unwrap();
    let lock = fixture
        .manager
        .inner
        .lock_new(&id, MEMORY_AND_DISK_SER, "[B", true, None)
        .unwrap();
    let cancellation = Cancellation::default();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let request = request("rdd_1_0", MEMORY_AND_DISK_SER, &cancellation);
            fixture
                .manager
                .get_or_else_update(&request, never, |record: &Vec<u8>, out| out.extend(record))
                .err()
        });
        std::thread::sleep(std::time::Duration::from_millis(20));
        cancellation.cancel("stage cancelled");
        let error = waiting.join().unwrap().unwrap();
        assert!(matches!(error, StoreError::Cancelled(reason) if &*reason == "stage cancelled"));
    });
    drop(lock);
    assert!(!fixture.manager.contains(&id));
}

#[test]
fn another_executor_s_copy_is_read() {
    let fixture = Fixture::new(1000);
    let id = BlockId::parse("rdd_1_0").unwrap();
    {
        let mut world = fixture.world.lock();
        world
            .locations
            .insert(id.clone(), (vec![id_of(3)], status_in_memory(4)));
        world.remote.insert((id_of(3), id.clone()), "copy".into());
    }
    let Cached::Found(reader) = cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, never).unwrap()
    else {
        panic!("not found")
    };
    assert_eq!(all(reader), b"copy");
    assert!(!fixture.manager.contains(&id), "it is not copied");
}

#[test]
fn a_block_is_used_when_its_task_has_succeeded() {
    let fixture = Fixture::with(1000, false, true);
    let make = || Ok(records(1, 1));
    let id = BlockId::parse("rdd_1_0").unwrap();
    assert!(matches!(
        cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, make),
        Ok(Cached::Stored(_))
    ));
    assert_eq!(fixture.world.lock().made, [(id.clone(), 42)]);
    // Made again for what it counts, though the block is taken.
    let mut again = 0;
    let make_again = || {
        again += 1;
        Ok(records(1, 1))
    };
    assert!(matches!(
        cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, make_again),
        Ok(Cached::Found(_))
    ));
    assert_eq!((again, fixture.world.lock().made.len()), (1, 2));
    fixture.world.lock().visible.push(id.clone());
    assert!(matches!(
        cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, never),
        Ok(Cached::Found(_))
    ));
    // From now on nobody is asked.
    fixture.world.lock().visible.clear();
    assert!(matches!(
        cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, never),
        Ok(Cached::Found(_))
    ));
}

#[test]
fn an_executor_that_goes_away_computes_without_storing() {
    let fixture = Fixture::new(1000);
    fixture.manager.set_decommissioning();
    let Ok(Cached::NotStored { begun, rest }) =
        cache(&fixture, "rdd_1_0", MEMORY_AND_DISK_SER, || {
            Ok(records(2, 2))
        })
    else {
        panic!("stored")
    };
    assert_eq!((all(begun).len(), rest.len()), (0, 2));
}
