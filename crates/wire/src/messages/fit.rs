use super::{
    CheckExistence, ExceptionFailure, ExecutorDecommissioning, ExecutorLossReason, Heartbeat,
    HeartbeatResponse, LaunchedExecutor, RegisterBlockManager, RegisterExecutor, RemoveExecutor,
    RetrieveSparkAppConfig, RpcEndpointRef, StatusUpdate, TaskKilled, UpdateBlockInfo, reply,
};
use crate::ids::{BlockId, BlockManagerId, StorageLevel, TaskState};
use crate::task_description::TaskCpus;
use crate::{WireError, WireVersion};
use bytes::Bytes;
use indexmap::IndexMap;
use javaser::Catalog;

/// Encodes one of each message that every executor sends, so that a distribution whose classes do not fit is refused
/// at start-up rather than in the middle of a job.
///
/// # Errors
/// [`WireError::Unsupported`] with the first class that is missing or has a field that this program does not know.
pub fn check_fit(catalog: &Catalog, version: &WireVersion) -> Result<(), WireError> {
    let executor_id = || "0".to_owned();
    let block_manager_id = BlockManagerId {
        executor_id: executor_id(),
        host: "localhost".to_owned(),
        port: 1,
        topology_info: None,
    };
    RetrieveSparkAppConfig {
        resource_profile_id: 0,
    }
    .encode(catalog)?;
    RegisterExecutor {
        executor_id: executor_id(),
        executor_ref: RpcEndpointRef::client("Executor", 1),
        hostname: "localhost".to_owned(),
        cores: 1,
        log_urls: IndexMap::new(),
        attributes: IndexMap::new(),
        resources: IndexMap::new(),
        resource_profile_id: 0,
    }
    .encode(catalog)?;
    RegisterBlockManager {
        block_manager_id: block_manager_id.clone(),
        local_dirs: Vec::new(),
        max_on_heap_mem_size: 0,
        max_off_heap_mem_size: 0,
        sender: RpcEndpointRef::client("BlockManagerEndpoint1", 1),
        is_re_register: false,
    }
    .encode(catalog)?;
    LaunchedExecutor {
        executor_id: executor_id(),
    }
    .encode(catalog)?;
    Heartbeat {
        executor_id: executor_id(),
        block_manager_id: block_manager_id.clone(),
        accum_updates: Vec::new(),
        executor_updates: IndexMap::new(),
    }
    .encode(catalog)?;
    HeartbeatResponse {
        reregister_block_manager: false,
    }
    .encode(catalog)?;
    UpdateBlockInfo {
        block_manager_id,
        block_id: BlockId::TaskResult { task_id: 0 },
        storage_level: StorageLevel::NONE,
        mem_size: 0,
        disk_size: 0,
        checksum: None,
    }
    .encode(catalog, version)?;
    StatusUpdate {
        executor_id: executor_id(),
        task_id: 0,
        state: TaskState::RUNNING,
        data: Bytes::new(),
        task_cpus: TaskCpus::whole(1),
        resources: Vec::new(),
    }
    .encode(catalog)?;
    ExceptionFailure::new("", "", Vec::new(), "").encode(catalog)?;
    TaskKilled::new("").encode(catalog)?;
    ExecutorDecommissioning {
        executor_id: executor_id(),
    }
    .encode(catalog)?;
    RemoveExecutor {
        executor_id: executor_id(),
        reason: ExecutorLossReason {
            message: String::new(),
        },
    }
    .encode(catalog)?;
    CheckExistence {
        name: String::new(),
    }
    .encode(catalog)?;
    reply::rpc_failure("java.lang.IllegalStateException", "", catalog)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::catalog;
    use std::path::Path;
    use testkit::{Distribution, NEWEST, VERSIONS, of_series};

    #[test]
    fn every_supported_distribution_fits() {
        for version in VERSIONS {
            let catalog = catalog(version);
            check_fit(catalog, &WireVersion::detect(catalog).unwrap()).unwrap();
        }
    }

    /// A class path where one class of the newest is another version's, as in a mixed installation.
    fn with_class_of(dir: &Path, version: &str, class: &str) -> Catalog {
        let path = format!("{}.class", class.replace('.', "/"));
        let file = dir.join(&path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, catalog(version).resource(&path).unwrap()).unwrap();
        in_front_of_the_newest(dir)
    }

    fn in_front_of_the_newest(dir: &Path) -> Catalog {
        let class_path = Distribution::find(NEWEST).class_path();
        Catalog::from_class_path(&[dir.to_owned(), class_path.into()]).unwrap()
    }

    #[test]
    fn a_class_that_is_missing_is_named_with_the_version() {
        let jars = std::fs::read_dir(Distribution::find(NEWEST).jars()).unwrap();
        let without_core: Vec<_> = jars
            .map(|jar| jar.unwrap().path())
            .filter(|jar| !jar.to_string_lossy().contains("spark-core"))
            .collect();
        let catalog = Catalog::from_class_path(&without_core).unwrap();
        let error = RetrieveSparkAppConfig {
            resource_profile_id: 0,
        }
        .encode(&catalog)
        .unwrap_err();
        let WireError::Unsupported { class, version, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(
            (class.as_str(), version.as_str()),
            (RetrieveSparkAppConfig::CLASS, NEWEST)
        );
    }

    #[test]
    fn a_field_that_we_lack_is_named_with_class_and_version() {
        // A heartbeat with the fields of a status update: fields that no heartbeat of ours has.
        let dir = testkit::temp_dir();
        let catalog = with_class_of(dir.path(), NEWEST, RegisterExecutor::CLASS);
        let renamed = catalog
            .resource(&format!(
                "{}.class",
                RegisterExecutor::CLASS.replace('.', "/")
            ))
            .unwrap();
        let text = b"hostname";
        let at = renamed
            .windows(text.len())
            .position(|bytes| bytes == text)
            .unwrap();
        let mut other = renamed.clone();
        other[at..at + text.len()].copy_from_slice(b"hostNAME");
        let file = dir.path().join(format!(
            "{}.class",
            RegisterExecutor::CLASS.replace('.', "/")
        ));
        std::fs::write(file, other).unwrap();
        let catalog = in_front_of_the_newest(dir.path());
        let error = check_fit(&catalog, &WireVersion::newest()).unwrap_err();
        let WireError::Unsupported {
            class,
            version,
            why,
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(
            (class.as_str(), version.as_str()),
            (RegisterExecutor::CLASS, NEWEST)
        );
        assert!(why.contains("hostNAME"), "{why}");
    }

    #[test]
    fn a_mixed_installation_changes_what_is_detected() {
        let dir = testkit::temp_dir();
        let catalog = with_class_of(dir.path(), of_series("4.2"), StatusUpdate::CLASS);
        let version = WireVersion::detect(&catalog).unwrap();
        assert!(!version.decimal_cpus && version.block_info_checksum);
    }
}
