//! Settings of Hadoop's connector for Google Cloud Storage, for `object_store`.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::gcp::GoogleCloudStorageBuilder;
use serde_json::json;

use super::conf::HadoopConf;
use super::object::{Connector, retry};
use super::path::FilePath;
use super::{Environment, FileError, Secret, expect_settings};

/// Settings that must have one of these values, or none.
const EXPECTED: [(&str, &[&str]); 10] = [
    (
        "fs.gs.impl",
        &[
            "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
            "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem",
        ],
    ),
    ("hadoop.security.credential.provider.path", &[]),
    ("fs.gs.encryption.algorithm", &[]),
    ("fs.gs.encryption.key", &[]),
    ("fs.gs.proxy.address", &[]),
    ("fs.gs.requester.pays.mode", &["DISABLED"]),
    ("fs.gs.storage.service.path", &["storage/v1/"]),
    ("fs.gs.delegation.token.binding", &[]),
    (
        "fs.gs.token.server.url",
        &["https://oauth2.googleapis.com/token"],
    ),
    ("fs.gs.inputstream.support.gzip.encoding.enable", &["false"]),
];

/// What names of settings about credentials begin with; the first one that is set counts.
const AUTH: [&str; 2] = ["fs.gs.auth.", "google.cloud.auth."];

/// Where Google's tools leave credentials that `object_store` would take for the machine's.
const WELL_KNOWN: &str = ".config/gcloud/application_default_credentials.json";

/// A bucket, and how it is talked to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct GcsSettings {
    bucket: String,
    root_url: Option<String>,
    credentials: Credentials,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Credentials {
    Anonymous,
    KeyFile(String),
    /// What would be in such a file.
    Key(Secret),
    /// Of the machine.
    Instance,
}

impl GcsSettings {
    /// The settings for a path.
    ///
    /// # Errors
    /// Why the JVM must read it.
    pub(super) fn translate(
        path: &FilePath,
        conf: &HadoopConf,
        environment: &Environment,
    ) -> Result<Self, FileError> {
        expect_settings(conf, &EXPECTED)?;
        if let Some(key) = conf.keys().find(|key| {
            key.contains(".auth.impersonation.") && AUTH.iter().any(|a| key.starts_with(a))
        }) && conf.text(key).is_some()
        {
            return Err(FileError::unsupported("fs.gs.auth.impersonation is set"));
        }
        if path.authority.is_empty() {
            return Err(FileError::unsupported("files of gs: without a bucket"));
        }
        let root_url = conf
            .text("fs.gs.storage.root.url")
            .map(|url| url.trim_end_matches('/').to_owned())
            .filter(|url| url != "https://storage.googleapis.com");
        Ok(Self {
            bucket: path.authority.clone(),
            root_url,
            credentials: credentials(conf, environment)?,
        })
    }

    pub(super) fn store(&self) -> Result<Arc<dyn ObjectStore>, FileError> {
        let mut builder = GoogleCloudStorageBuilder::new()
            .with_bucket_name(&self.bucket)
            .with_retry(retry())
            .with_http_connector(Connector);
        if let Some(url) = &self.root_url {
            builder = builder.with_base_url(url);
        }
        builder = match &self.credentials {
            // A token that is never sent, so that no credentials are looked for.
            Credentials::Anonymous => builder.with_skip_signature(true).with_bearer_token(""),
            Credentials::KeyFile(path) => builder.with_service_account_path(path),
            Credentials::Key(key) => builder.with_service_account_key(&key.0),
            Credentials::Instance => builder,
        };
        let store = builder.build();
        let store = store.map_err(|error| FileError::failed("gs", error))?;
        Ok(Arc::new(store))
    }
}

fn credentials(conf: &HadoopConf, environment: &Environment) -> Result<Credentials, FileError> {
    let text = |name: &str| {
        AUTH.iter()
            .find_map(|prefix| conf.text(&format!("{prefix}{name}")))
    };
    let is = |name: &str, default: bool| {
        text(name).map_or(default, |value| value.eq_ignore_ascii_case("true"))
    };
    let key_file = || text("service.account.json.keyfile").map(Credentials::KeyFile);
    if let Some(kind) = text("type") {
        return match kind.as_str() {
            "SERVICE_ACCOUNT_JSON_KEYFILE" => key_file().ok_or_else(|| {
                FileError::unsupported("fs.gs.auth.service.account.json.keyfile is not set")
            }),
            "COMPUTE_ENGINE" => of_machine(environment),
            "UNAUTHENTICATED" => Ok(Credentials::Anonymous),
            other => Err(FileError::unsupported(format!("fs.gs.auth.type {other}"))),
        };
    }
    for name in ["access.token.provider.impl", "access.token.provider"] {
        if text(name).is_some() {
            return Err(FileError::unsupported(format!("fs.gs.auth.{name} is set")));
        }
    }
    if !is("service.account.enable", true) {
        return match is("null.enable", false) {
            true => Ok(Credentials::Anonymous),
            false => Err(FileError::unsupported(
                "fs.gs.auth.service.account.enable is false",
            )),
        };
    }
    if let Some(email) = text("service.account.email")
        && let Some(id) = text("service.account.private.key.id")
        && let Some(key) = text("service.account.private.key")
    {
        // The setting has the line ends of the key as they are written in JSON.
        let key = json!({
            "client_email": email,
            "private_key_id": id,
            "private_key": key.replace("\\n", "\n"),
        });
        return Ok(Credentials::Key(Secret(key.to_string())));
    }
    if let Some(found) = key_file() {
        return Ok(found);
    }
    if text("service.account.keyfile").is_some() {
        return Err(FileError::unsupported(
            "fs.gs.auth.service.account.keyfile is set",
        ));
    }
    of_machine(environment)
}

fn of_machine(environment: &Environment) -> Result<Credentials, FileError> {
    let home = environment.get("HOME").unwrap_or("/");
    if Path::new(home).join(WELL_KNOWN).exists() {
        return Err(FileError::unsupported(
            "files of gs: beside credentials of Google's tools",
        ));
    }
    Ok(Credentials::Instance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<const N: usize>(settings: [(&str, &str); N]) -> Result<GcsSettings, String> {
        let path = FilePath::parse("gs://data/x");
        let home = Environment::from([("HOME", "/nonexistent")]);
        GcsSettings::translate(&path, &settings.into(), &home).map_err(|error| error.reason())
    }

    fn found<const N: usize>(settings: [(&str, &str); N]) -> Credentials {
        with(settings).unwrap().credentials
    }

    #[test]
    fn credentials_of_every_connector() {
        let file = Credentials::KeyFile("/k.json".into());
        assert_eq!(found([]), Credentials::Instance);
        assert_eq!(
            found([("google.cloud.auth.service.account.json.keyfile", "/k.json")]),
            file
        );
        assert_eq!(
            found([
                ("fs.gs.auth.type", "SERVICE_ACCOUNT_JSON_KEYFILE"),
                ("fs.gs.auth.service.account.json.keyfile", "/k.json")
            ]),
            file
        );
        let anonymous = with([
            ("fs.gs.auth.service.account.enable", "false"),
            ("fs.gs.auth.null.enable", "true"),
            ("fs.gs.storage.root.url", "http://127.0.0.1:1/"),
        ])
        .unwrap();
        assert_eq!(anonymous.credentials, Credentials::Anonymous);
        assert_eq!(anonymous.root_url.as_deref(), Some("http://127.0.0.1:1"));
        anonymous.store().unwrap();
        let Credentials::Key(key) = found([
            ("fs.gs.auth.service.account.email", "a@b"),
            ("fs.gs.auth.service.account.private.key.id", "1"),
            ("fs.gs.auth.service.account.private.key", "x\\ny"),
        ]) else {
            panic!("no key")
        };
        let key: serde_json::Value = serde_json::from_str(&key.0).unwrap();
        assert_eq!(key["private_key"], "x\ny");
    }

    #[test]
    fn what_is_for_the_jvm_is_named() {
        for (key, value, reason) in [
            (
                "fs.gs.auth.type",
                "USER_CREDENTIALS",
                "fs.gs.auth.type USER_CREDENTIALS",
            ),
            (
                "fs.gs.encryption.key",
                "secret",
                "fs.gs.encryption.key is set",
            ),
            (
                "fs.gs.auth.impersonation.service.account.for.user.ann",
                "x",
                "fs.gs.auth.impersonation is set",
            ),
            (
                "fs.gs.auth.access.token.provider.impl",
                "a.B",
                "fs.gs.auth.access.token.provider.impl is set",
            ),
            ("fs.gs.impl", "a.B", "fs.gs.impl is a.B"),
            (
                "fs.gs.requester.pays.mode",
                "AUTO",
                "fs.gs.requester.pays.mode is AUTO",
            ),
        ] {
            assert_eq!(with([(key, value)]).unwrap_err(), reason);
        }
    }
}
