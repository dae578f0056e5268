use super::declared::Switch;
use super::*;

const GIB: u64 = 1 << 30;

fn properties(pairs: &[(&'static str, &'static str)]) -> SparkProperties {
    SparkProperties::from_launch(pairs.iter().copied(), [])
}

fn settings(pairs: &[(&'static str, &'static str)]) -> Result<Settings, SettingError> {
    Settings::new(&properties(pairs), GIB)
}

#[test]
fn the_defaults_are_sparks() -> Result<(), SettingError> {
    let settings = settings(&[])?;
    let two_minutes = Duration::from_secs(120);
    assert_eq!(
        settings.rpc,
        RpcSettings {
            network_timeout: two_minutes,
            ask_timeout: two_minutes,
            max_message: 128 << 20
        }
    );
    assert_eq!(
        settings.heartbeat,
        HeartbeatSettings {
            interval: Duration::from_secs(10),
            max_failures: 60
        }
    );
    assert_eq!(
        settings.block_manager_ports,
        PortRange {
            first: 0,
            retries: 16
        }
    );
    assert_eq!(settings.shuffle_service, None);
    assert_eq!(
        settings.storage,
        StorageSettings {
            sub_directories: 64,
            shuffle_manager: "org.apache.spark.shuffle.sort.SortShuffleManager".to_owned(),
        }
    );
    assert_eq!(
        settings.decommission,
        DecommissionSettings {
            enabled: false,
            storage: false,
            migration: false,
            first_look: Duration::from_secs(1),
            fallback_storage: false,
            signal: "PWR".to_owned()
        }
    );
    assert_eq!(settings.jvm_from_start, None);
    Ok(())
}

#[test]
fn rpc_timeouts_fall_back_to_the_network_timeout() -> Result<(), SettingError> {
    let rpc = settings(&[
        ("spark.network.timeout", "800"),
        ("spark.rpc.askTimeout", "5m"),
    ])?
    .rpc;
    let seconds = (rpc.network_timeout.as_secs(), rpc.ask_timeout.as_secs());
    assert_eq!(seconds, (800, 300));
    assert!(settings(&[("spark.rpc.message.maxSize", "2048")]).is_err());
    Ok(())
}

#[test]
fn heartbeats_must_be_more_frequent_than_the_network_timeout() {
    let error = settings(&[("spark.network.timeout", "5s")])
        .err()
        .map(|error| error.to_string());
    assert_eq!(
        error.as_deref(),
        Some(
            "The value of spark.network.timeout=5000ms must be greater than the value of spark.executor.heartbeatInterval=10000ms."
        )
    );
    assert!(settings(&[("spark.executor.heartbeatInterval", "0")]).is_err());
    assert!(
        settings(&[
            ("spark.executor.heartbeatInterval", "250"),
            ("spark.network.timeout", "1s")
        ])
        .is_ok()
    );
}

#[test]
fn ports_are_tried_upwards_and_wrap() -> Result<(), SettingError> {
    let ports = |pairs| {
        Ok::<Vec<u16>, SettingError>(settings(pairs)?.block_manager_ports.candidates().collect())
    };
    assert_eq!(
        ports(&[
            ("spark.blockManager.port", "7079"),
            ("spark.port.maxRetries", "2")
        ])?,
        [7079, 7080, 7081]
    );
    assert_eq!(
        ports(&[
            ("spark.blockManager.port", "65534"),
            ("spark.port.maxRetries", "3")
        ])?,
        [65534, 65535, 1024, 1025]
    );
    assert_eq!(ports(&[("spark.port.maxRetries", "1")])?, [0, 0]);
    assert_eq!(ports(&[("spark.testing", "1")])?.len(), 101);
    for wrong in ["80", "65536", "-1", "x"] {
        assert!(
            settings(&[("spark.blockManager.port", wrong)]).is_err(),
            "{wrong}"
        );
    }
    Ok(())
}

#[test]
fn the_shuffle_service_has_its_own_settings() -> Result<(), SettingError> {
    let service = settings(&[
        ("spark.shuffle.service.enabled", "true"),
        ("spark.shuffle.service.port", "7400"),
    ])?
    .shuffle_service;
    let expected = ShuffleServiceSettings {
        port: 7400,
        registration_timeout: Duration::from_secs(5),
        registration_attempts: 3,
    };
    assert_eq!(service, Some(expected));
    Ok(())
}

#[test]
fn shuffle_managers_have_short_names() -> Result<(), SettingError> {
    const SORT: &str = "org.apache.spark.shuffle.sort.SortShuffleManager";
    for (value, class) in [
        ("tungsten-sort", SORT),
        (SORT, SORT),
        ("org.example.Other", "org.example.Other"),
    ] {
        let storage = settings(&[("spark.shuffle.manager", value)])?.storage;
        assert_eq!(storage.shuffle_manager, class);
    }
    Ok(())
}

#[test]
fn settings_without_effect_must_make_sense() {
    for key in [
        "spark.rpc.lookupTimeout",
        "spark.log.structuredLogging.enabled",
        "spark.network.maxRemoteBlockSizeFetchToMem",
        "spark.io.encryption.enabled",
    ] {
        let error = settings(&[(key, "perhaps")]).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
}

#[test]
fn unsupported_features_are_refused_by_name() {
    let key = "spark.authenticate.enableSaslEncryption";
    let conf = properties(&[]);
    let mut on = conf.clone();
    on.set(key, "true");
    let message = refuse_unsupported(&on)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        message.starts_with(&format!("{key}=true is not supported")),
        "{message}"
    );
    on.set(key, "false");
    assert_eq!(refuse_unsupported(&on), Ok(()));
}

#[test]
fn what_a_version_does_not_know_is_not_obeyed() {
    let wrong = [
        ("spark.ssl.rpc.enabled", "true"),
        ("spark.network.crypto.enabled", "true"),
        ("spark.authenticate", "true"),
    ];
    let mut conf = properties(&wrong);
    forget_unknown(&mut conf, (4, 0));
    assert!(refuse_unsupported(&conf).is_err());
    forget_unknown(&mut conf, (3, 5));
    assert_eq!(refuse_unsupported(&conf), Ok(()));
}

#[test]
fn plugins_need_a_jvm_from_the_start() -> Result<(), SettingError> {
    assert_eq!(
        settings(&[("spark.plugins", "a.B")])?
            .jvm_from_start
            .as_deref(),
        Some("spark.plugins=a.B")
    );
    assert_eq!(settings(&[("spark.plugins", " ")])?.jvm_from_start, None);
    Ok(())
}

#[test]
fn the_task_reaper_is_spark_s() -> Result<(), SettingError> {
    const ENABLED: (&str, &str) = ("spark.task.reaper.enabled", "true");
    const TIMEOUT: &str = "spark.task.reaper.killTimeout";
    let polling_interval = Duration::from_secs(10);
    assert_eq!(settings(&[(TIMEOUT, "5s")])?.task_reaper, None);
    assert_eq!(settings(&[(TIMEOUT, "5s")])?.jvm_from_start, None);
    for forever in [
        &[ENABLED][..],
        &[ENABLED, (TIMEOUT, "-1")],
        &[ENABLED, (TIMEOUT, "0")],
    ] {
        let settings = settings(forever)?;
        let kill_timeout = None;
        let expected = TaskReaperSettings {
            polling_interval,
            kill_timeout,
        };
        assert_eq!(settings.task_reaper, Some(expected));
        assert_eq!(settings.jvm_from_start, None);
    }
    let settings = settings(&[ENABLED, (TIMEOUT, "5s")])?;
    let kill_timeout = Some(Duration::from_secs(5));
    let expected = TaskReaperSettings {
        polling_interval,
        kill_timeout,
    };
    assert_eq!(settings.task_reaper, Some(expected));
    let why = settings.jvm_from_start.as_deref();
    assert_eq!(why, Some("spark.task.reaper.killTimeout=5s"));
    Ok(())
}

#[test]
fn local_directories_have_an_order_of_sources() {
    let roots = |vars: &[(&str, &str)], pairs: &[(&'static str, &'static str)]| {
        let env = |name: &str| {
            vars.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        local_dir_roots(&properties(pairs), env, Some("/jvm-tmp"))
    };
    let conf = [("spark.local.dir", "/c1, /c2")];
    assert_eq!(roots(&[], &[]), [PathBuf::from("/jvm-tmp")]);
    assert_eq!(
        roots(&[], &conf),
        [PathBuf::from("/c1"), PathBuf::from("/c2")]
    );
    assert_eq!(
        roots(&[("SPARK_LOCAL_DIRS", "/l1,/l2")], &conf),
        [PathBuf::from("/l1"), PathBuf::from("/l2")]
    );
    let all = [
        ("SPARK_LOCAL_DIRS", "/l1"),
        ("SPARK_EXECUTOR_DIRS", "/e1:/e2"),
        ("LOCAL_DIRS", "/y1,/y2"),
    ];
    assert_eq!(
        roots(&all, &conf),
        [PathBuf::from("/e1"), PathBuf::from("/e2")]
    );
    let mut yarn = all.to_vec();
    yarn.push(("CONTAINER_ID", "container_1"));
    assert_eq!(
        roots(&yarn, &conf),
        [PathBuf::from("/y1"), PathBuf::from("/y2")]
    );
}

#[test]
fn native_lanes_are_a_list() -> Result<(), SettingError> {
    use super::LaneName;
    let lanes =
        |value| Ok::<_, SettingError>(settings(&[("spark.firesteel.lanes", value)])?.native_lanes);
    assert_eq!(
        settings(&[])?.native_lanes,
        [LaneName::Python, LaneName::Sql]
    );
    assert_eq!(lanes("jvm")?, []);
    assert_eq!(lanes("sql, python")?, [LaneName::Python, LaneName::Sql]);
    let error = lanes("python,gpu").err().map(|e| e.to_string());
    assert_eq!(
        error.as_deref(),
        Some("spark.firesteel.lanes should be a list of jvm, python, sql, but was 'gpu'")
    );
    Ok(())
}

#[test]
fn defaults_are_those_of_the_version() {
    let switch = |property: &Property<Switch>, version: &str, set: Option<&str>| {
        let mut properties = SparkProperties::default();
        if let Some(value) = set {
            properties.set(property.key, value);
        }
        apply_version_defaults(&mut properties, version);
        properties.switch(property)
    };
    let compressed = |version: &str, set| switch(&declared::RDD_COMPRESS, version, set);
    assert_eq!(compressed("4.2.1", None), Ok(false));
    assert_eq!(compressed("4.3.0", None), Ok(true));
    assert_eq!(compressed("5.0.0-SNAPSHOT", None), Ok(true));
    assert_eq!(compressed("4.3.0", Some("false")), Ok(false));
    assert_eq!(compressed("unknown", None), Ok(false));
    let checkpoint = |version: &str| switch(&declared::CHECKPOINT_COMPRESS, version, None);
    assert_eq!(checkpoint("4.0.5"), Ok(false));
    assert_eq!(checkpoint("4.1.4"), Ok(true));
}
