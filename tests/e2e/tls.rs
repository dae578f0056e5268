//! Executors of both kinds whose connections are inside TLS, and such that have other keys or none.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use testkit::{Distribution, NEWEST, OLDEST, each_version};

use crate::authentication::{Secured, VARIABLE, check_python_is_native};
use crate::places;
use crate::process::one_at_a_time;

const PASSWORD: &str = "the-password-of-stores-in-this-test";
const KEY_PASSWORD: &str = "the-password-of-keys-in-this-test";
/// What a worker gives its executors.
const VARIABLES: [(&str, &str); 3] = [
    ("_SPARK_SSL_RPC_KEY_STORE_PASSWORD", PASSWORD),
    ("_SPARK_SSL_RPC_TRUST_STORE_PASSWORD", PASSWORD),
    VARIABLE,
];

/// Keys and certificates that keytool makes.
struct Stores {
    dir: PathBuf,
    /// The format of stores.
    format: &'static str,
}

impl Stores {
    fn make(name: &str, format: &'static str, algorithm: &[&str]) -> Self {
        let dir = places::fresh_dir(name);
        let stores = Self { dir, format };
        for alias in ["own", "stranger"] {
            let key = stores.path(&format!("{alias}.keys"));
            let key_password = match format {
                "JKS" => KEY_PASSWORD,
                _ => PASSWORD,
            };
            let mut words = vec!["-genkeypair", "-alias", alias, "-dname", "CN=nobody"];
            words.extend(["-keystore", &key, "-keypass", key_password]);
            words.extend(algorithm);
            stores.keytool(&words);
            let certificate = stores.path(&format!("{alias}.der"));
            let words = ["-exportcert", "-alias", alias, "-keystore", &key];
            stores.keytool(&[&words[..], &["-file", &certificate]].concat());
            let trust = stores.path(&format!("{alias}.trust"));
            let words = [
                "-importcert",
                "-noprompt",
                "-alias",
                alias,
                "-keystore",
                &trust,
            ];
            stores.keytool(&[&words[..], &["-file", &certificate]].concat());
        }
        stores
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    fn keytool(&self, words: &[&str]) {
        let mut command = Command::new(testkit::jdk().join("bin/keytool"));
        let command = command.args(words);
        let command = command.args(["-storepass", PASSWORD, "-storetype", self.format]);
        let done = command.output().expect("a JDK has keytool");
        assert!(done.status.success(), "{done:?}");
    }

    /// Settings with the key of one and the trust of another.
    fn settings(&self, key: &str, trust: &str) -> Vec<String> {
        vec![
            "spark.ssl.rpc.enabled=true".to_owned(),
            format!(
                "spark.ssl.rpc.keyStore={}",
                self.path(&format!("{key}.keys"))
            ),
            format!(
                "spark.ssl.rpc.trustStore={}",
                self.path(&format!("{trust}.trust"))
            ),
        ]
    }
}

/// Settings with passwords, which only the driver has.
fn of_the_driver() -> [String; 2] {
    ["keyStorePassword", "trustStorePassword"]
        .map(|name| format!("spark.ssl.rpc.{name}={PASSWORD}"))
}

/// Fetches of both kinds of executors from each other, and of a JVM inside one.
fn work(secured: &mut Secured<'_>) {
    secured.exchange();
    let kept = json!({"do": "keep", "level": "MEMORY_ONLY", "java": true});
    let kept = secured.hold.ask(kept);
    assert_eq!(kept["java"]["answer"], 1000, "{kept}");
    let parts = &kept["parts"]["answer"];
    assert_eq!(*parts, json!([332_833_500, 1000]), "{kept}");
}

/// TLS alone, and executors that the driver does not know or that have no keys.
fn alone(version: &'static str) {
    if version == OLDEST || !places::asked_for(version, &[NEWEST]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let stores = Stores::make(
        &format!("{version}-tls-stores"),
        "PKCS12",
        &["-keyalg", "EC"],
    );
    let on = stores.settings("own", "own");
    let passwords = of_the_driver();
    let more: Vec<&str> = passwords.iter().map(String::as_str).collect();
    let mut secured = Secured::start(&distribution, "tls", &on, &more, &VARIABLES);
    let native = secured.add(&testkit::firesteel(), "0", &[], &[]);
    for (variable, _) in VARIABLES {
        let variable = json!({"do": "variable", "name": variable});
        let seen = secured.hold.ask(variable);
        assert_eq!(seen, json!([""]), "workers do not have it");
    }
    let _plain = secured.add(&testkit::jdk(), "1", &["0"], &[]);
    work(&mut secured);
    secured.refused(
        "2",
        &stores.settings("own", "stranger"),
        &VARIABLES,
        &["do not trust each other", "spark.ssl.rpc.trustStore"],
    );
    let absent = stores.settings("absent", "own");
    let words = ["keys not found", "absent.keys, which does not exist"];
    secured.refused("3", &absent, &VARIABLES, &words);
    let words = ["its password is", "_SPARK_SSL_RPC_KEY_STORE_PASSWORD"];
    secured.refused("4", &on, &VARIABLES[1..], &words);
    let crypto = [
        "spark.authenticate=true".to_owned(),
        "spark.network.crypto.enabled=true".to_owned(),
    ];
    let both = [&on[..], &crypto].concat();
    let words =
        ["spark.network.crypto.enabled=true with spark.ssl.rpc.enabled=true is not supported"];
    secured.refused("5", &both, &VARIABLES, &words);
    for report in secured.stop(vec![("0", native)]) {
        check_python_is_native(&report);
        assert!(report.jvm_started(), "a shuffle of Java's ran");
    }
}

/// Authentication inside TLS of either version, with stores in the old format whose keys have other passwords.
fn with_authentication(version: &'static str) {
    if version == OLDEST || !places::asked_for(version, &[]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let rsa = ["-keyalg", "RSA", "-keysize", "2048"];
    let stores = Stores::make(&format!("{version}-tls-old-stores"), "JKS", &rsa);
    for protocol in ["TLS", "TLSv1.2"] {
        let mut on = stores.settings("own", "own");
        on.push("spark.authenticate=true".to_owned());
        on.push(format!("spark.ssl.rpc.protocol={protocol}"));
        if protocol == "TLSv1.2" {
            on.push(
                "spark.ssl.rpc.enabledAlgorithms=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned(),
            );
        }
        let key_password = format!("spark.ssl.rpc.keyPassword={KEY_PASSWORD}");
        let passwords = of_the_driver();
        let mut more: Vec<&str> = passwords.iter().map(String::as_str).collect();
        more.extend([key_password.as_str(), "spark.io.encryption.enabled=true"]);
        let key = ("_SPARK_SSL_RPC_KEY_PASSWORD", KEY_PASSWORD);
        let variables = [&VARIABLES[..], &[key]].concat();
        let name = format!("tls-authenticated-{protocol}");
        let mut secured = Secured::start(&distribution, &name, &on, &more, &variables);
        let native = secured.add(&testkit::firesteel(), "0", &[], &[]);
        let _plain = secured.add(&testkit::jdk(), "1", &["0"], &[]);
        let second = secured.add(&testkit::firesteel(), "2", &["0", "1"], &[]);
        work(&mut secured);
        let other = [&variables[..2], &[key, (VARIABLE.0, "another secret")]].concat();
        secured.refused("3", &on, &other, &["spark.authenticate.secret"]);
        for report in secured.stop(vec![("0", native), ("2", second)]) {
            check_python_is_native(&report);
        }
    }
}

/// Files in PEM.
fn in_pem(version: &'static str) {
    if version == OLDEST || !places::asked_for(version, &[]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let fixtures = testkit::repository().join("crates/tls/fixtures");
    let path = |name: &str| Path::new(&fixtures).join(name).display().to_string();
    let on = [
        "spark.ssl.rpc.enabled=true".to_owned(),
        "spark.ssl.rpc.openSslEnabled=true".to_owned(),
        format!("spark.ssl.rpc.privateKey={}", path("encrypted.pem")),
        format!("spark.ssl.rpc.certChain={}", path("cert.pem")),
    ];
    let password = ["spark.ssl.rpc.privateKeyPassword=changeit"];
    let variables = [("_SPARK_SSL_RPC_PRIVATE_KEY_PASSWORD", "changeit")];
    let mut secured = Secured::start(&distribution, "tls-pem", &on, &password, &variables);
    let native = secured.add(&testkit::firesteel(), "0", &[], &[]);
    let _plain = secured.add(&testkit::jdk(), "1", &["0"], &[]);
    work(&mut secured);
    for report in secured.stop(vec![("0", native)]) {
        check_python_is_native(&report);
    }
}

/// Spark 3.5 does not know these settings, so they mean nothing.
fn unknown(version: &'static str) {
    if version != OLDEST || !places::asked_for(version, &[]) {
        return;
    }
    let _turn = one_at_a_time();
    let distribution = Distribution::find(version);
    let on = ["spark.ssl.rpc.enabled=true"];
    let mut secured = Secured::start(&distribution, "tls-unknown", &on, &[], &[]);
    let native = secured.add(&testkit::firesteel(), "0", &[], &[]);
    let _plain = secured.add(&testkit::jdk(), "1", &["0"], &[]);
    secured.exchange();
    for report in secured.stop(vec![("0", native)]) {
        check_python_is_native(&report);
    }
}

each_version!(tls_alone, super::alone);
each_version!(tls_with_authentication_inside, super::with_authentication);
each_version!(tls_with_files_in_pem, super::in_pem);
each_version!(tls_where_it_is_not_known, super::unknown);
