//! Where an executor finds the secret of its application: Spark's `SecurityManager.getSecretKey`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::Command;

use auth::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use thiserror::Error;
use zeroize::Zeroizing;

use super::credentials;
use super::tls::password_variables;
use crate::config::{SparkProperties, declared};

/// Variable with the name of the file that holds Hadoop's credentials of this process.
const TOKEN_FILE: &str = "HADOOP_TOKEN_FILE_LOCATION";
/// Name of the secret in Hadoop's credentials.
const COOKIE: &str = "sparkCookie";
/// Variable with the secret: a Standalone worker's and Kubernetes' way.
const SECRET_VARIABLE: &str = "_SPARK_AUTH_SECRET";
/// Larger files are not read; real ones have some kilobytes.
const MAX_BYTES: u64 = 16 << 20;

/// Leaves the application's secret and passwords out of the environment of a process that runs users' code: they are
/// for this process and its JVM.
pub fn keep_from(command: &mut Command) {
    command.env_remove(SECRET_VARIABLE);
    for variable in password_variables() {
        command.env_remove(variable);
    }
}

/// Why there is no secret.
#[derive(Debug, Error)]
pub enum SecretError {
    /// Nobody gave one.
    #[error(
        "A secret key must be specified via the {} config: {} is true, and neither Hadoop's credentials \
         ({TOKEN_FILE}) nor {SECRET_VARIABLE}, {} or {} have one",
        declared::AUTHENTICATE_SECRET.key,
        declared::AUTHENTICATE.key,
        declared::AUTHENTICATE_EXECUTOR_FILE.key,
        declared::AUTHENTICATE_FILE.key
    )]
    Missing,
    /// A file that should have it cannot be read.
    #[error("the secret of {setting} cannot be read from {path}: {why}")]
    File {
        /// Setting or variable with the file's name.
        setting: &'static str,
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
}

/// Finds the secret, in Spark's order: Hadoop's credentials (YARN), the environment, the setting, a file (Kubernetes).
///
/// # Errors
/// [`SecretError`]
pub fn find(
    properties: &SparkProperties,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Secret, SecretError> {
    if let Some(secret) = of_credentials(&env)? {
        return Ok(secret);
    }
    if let Some(text) = env(SECRET_VARIABLE) {
        return Ok(Secret::new(text));
    }
    if let Some(text) = properties.get(declared::AUTHENTICATE_SECRET.key) {
        return Ok(Secret::new(text));
    }
    let files = [
        declared::AUTHENTICATE_EXECUTOR_FILE,
        declared::AUTHENTICATE_FILE,
    ];
    let file = files
        .into_iter()
        .find_map(|setting| Some((setting.key, properties.get(setting.key)?)));
    match file {
        Some((setting, path)) => of_file(setting, path),
        None => Err(SecretError::Missing),
    }
}

fn of_credentials(env: impl Fn(&str) -> Option<String>) -> Result<Option<Secret>, SecretError> {
    let Some(path) = env(TOKEN_FILE).filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let failed = |why: String| SecretError::File {
        setting: TOKEN_FILE,
        path: path.clone(),
        why,
    };
    let storage = read(Path::new(&path)).map_err(|why| failed(why.to_string()))?;
    let secret = credentials::secret(&storage, COOKIE).map_err(|why| failed(why.to_string()))?;
    Ok(secret.map(|bytes| Secret::new(String::from_utf8_lossy(&bytes).into_owned())))
}

/// The bytes of the file, in Base64.
fn of_file(setting: &'static str, path: String) -> Result<Secret, SecretError> {
    let bytes = read(Path::new(&path)).and_then(|bytes| match bytes.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty")),
        false => Ok(bytes),
    });
    match bytes {
        Ok(bytes) => Ok(Secret::new(BASE64.encode(bytes.as_slice()))),
        Err(why) => Err(SecretError::File {
            setting,
            path,
            why: why.to_string(),
        }),
    }
}

fn read(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    if len > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{len} bytes are too many"),
        ));
    }
    // Never moved to larger memory: nothing of it is left behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(len).unwrap_or(0) + 1));
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::credentials::tests::storage;

    fn properties(pairs: &[(&str, &str)]) -> SparkProperties {
        SparkProperties::from_launch(pairs.iter().copied(), [])
    }

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    #[test]
    fn sources_are_asked_in_the_order_of_spark() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        let tokens = path("tokens");
        std::fs::write(&tokens, storage(&[("sparkCookie", b"cookie")])).unwrap();
        std::fs::write(path("none"), storage(&[])).unwrap();
        std::fs::write(path("one"), [0xff, 0, 1]).unwrap();
        std::fs::write(path("two"), b"two").unwrap();
        let (one, two, none) = (path("one"), path("two"), path("none"));
        let file = ("spark.authenticate.secret.file", two.as_str());
        let executor_file = ("spark.authenticate.secret.executor.file", one.as_str());
        let setting = ("spark.authenticate.secret", "setting");
        let find_in = |tokens: Option<&str>, variable: Option<&str>, pairs: &[(&str, &str)]| {
            find(&properties(pairs), |name| match name {
                TOKEN_FILE => tokens.map(str::to_owned),
                SECRET_VARIABLE => variable.map(str::to_owned),
                _ => None,
            })
        };
        let all = [setting, executor_file, file];
        assert_eq!(
            find_in(Some(&tokens), Some("variable"), &all).unwrap(),
            secret("cookie")
        );
        assert_eq!(
            find_in(Some(&none), Some("variable"), &all).unwrap(),
            secret("variable")
        );
        assert_eq!(find_in(None, None, &all).unwrap(), secret("setting"));
        assert_eq!(
            find_in(None, None, &[executor_file, file]).unwrap(),
            secret("/wAB")
        );
        assert_eq!(find_in(None, None, &[file]).unwrap(), secret("dHdv"));
        let missing = find_in(Some(&none), None, &[]).unwrap_err().to_string();
        assert!(
            missing.starts_with(
                "A secret key must be specified via the spark.authenticate.secret config"
            ),
            "{missing}"
        );
    }

    #[test]
    fn code_of_users_gets_no_secrets() {
        let mut command = Command::new("true");
        keep_from(&mut command);
        let removed: Vec<_> = command
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .collect();
        let names = ["_SPARK_AUTH_SECRET", "_SPARK_SSL_RPC_KEY_PASSWORD"];
        for name in names {
            assert!(
                removed.iter().any(|(removed, _)| *removed == name),
                "{removed:?}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_good_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty");
        std::fs::write(&empty, b"").unwrap();
        let absent = dir.path().join("absent").display().to_string();
        let empty = empty.display().to_string();
        let failed = |setting: &str, path: &str| {
            let found = find(&properties(&[(setting, path)]), |_| None);
            found.unwrap_err().to_string()
        };
        let text = failed("spark.authenticate.secret.file", &empty);
        assert!(text.contains("spark.authenticate.secret.file") && text.contains("it is empty"));
        let text = failed("spark.authenticate.secret.executor.file", &absent);
        assert!(
            text.contains("executor.file") && text.contains(&absent),
            "{text}"
        );
        let tokens = find(&properties(&[]), |name| {
            (name == TOKEN_FILE).then(|| empty.clone())
        });
        assert!(tokens.unwrap_err().to_string().contains(TOKEN_FILE));
    }
}
