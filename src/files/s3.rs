//! Settings of Hadoop's S3A file system, for `object_store`.

use std::net::IpAddr;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

use super::conf::HadoopConf;
use super::object::{Connector, client, retry};
use super::path::FilePath;
use super::{Environment, FileError, Secret, expect, expect_settings};

const PREFIX: &str = "fs.s3a.";

/// The endpoint that has all buckets, and which Spark sets by itself.
const CENTRAL: &str = "s3.amazonaws.com";

/// Region of servers that are not Amazon's: it goes into the signature and means nothing.
const ANY_REGION: &str = "us-east-1";

const S3A: &[&str] = &["org.apache.hadoop.fs.s3a.S3AFileSystem"];

/// Settings after `fs.s3a.`, also of one bucket, that must have one of these values, or none.
const EXPECTED: [(&str, &[&str]); 21] = [
    ("security.credential.provider.path", &[]),
    ("delegation.token.binding", &[]),
    (
        "metadatastore.impl",
        &["org.apache.hadoop.fs.s3a.s3guard.NullMetadataStore"],
    ),
    ("accesspoint.arn", &[]),
    ("accesspoint.required", &["false"]),
    ("proxy.host", &[]),
    ("signing-algorithm", &[]),
    ("s3.signing-algorithm", &[]),
    ("custom.signers", &[]),
    ("http.signer.enabled", &["false"]),
    ("http.signer.class", &[]),
    (
        "s3.client.factory.impl",
        &["org.apache.hadoop.fs.s3a.DefaultS3ClientFactory"],
    ),
    ("endpoint.fips", &["false"]),
    ("encryption.context", &[]),
    ("access.grants.enabled", &["false"]),
    // What only the server needs to know when an object is read.
    ("encryption.algorithm", UNSEEN_ENCRYPTION),
    ("server-side-encryption-algorithm", UNSEEN_ENCRYPTION),
    ("ssl.channel.mode", SSL_CHANNELS),
    ("connection.ssl.cipher.suites", &[]),
    ("create.storage.class", &[]),
    ("s3express.create.session", &["true"]),
];

const UNSEEN_ENCRYPTION: &[&str] = &["AES256", "SSE-KMS", "DSSE-KMS"];

/// Those by their names in headers, and whether they have a key with a name.
const ENCRYPTION: [(&str, &str, bool); 3] = [
    ("AES256", "AES256", false),
    ("SSE-KMS", "aws:kms", true),
    ("DSSE-KMS", "aws:kms:dsse", true),
];
const SSL_CHANNELS: &[&str] = &[
    "default",
    "default_jsse",
    "default_jsse_with_gcm",
    "openssl",
];

/// Settings after `fs.s3a.`, also of one bucket, that objects are written with: they must have one of these values, or
/// none.
const EXPECTED_OF_WRITES: [(&str, &[&str]); 4] = [
    ("acl.default", &[]),
    ("committer.name", &["file"]),
    ("create.checksum.algorithm", &[]),
    ("object.content.encoding", &[]),
];

/// The beginning of settings after `fs.s3a.` that become headers of objects.
const HEADERS: &str = "create.header.";

/// What the list of providers is, if there is none.
const DEFAULT_PROVIDERS: &str = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider,\
    org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider,\
    com.amazonaws.auth.EnvironmentVariableCredentialsProvider,\
    org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider";

/// A bucket, and how it is talked to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct S3Settings {
    bucket: String,
    server: Server,
    path_style: bool,
    requester_pays: bool,
    credentials: Credentials,
    encryption: Option<Encryption>,
}

/// How the server is told to encrypt what is written: an object's header, and a key's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Encryption {
    algorithm: &'static str,
    key: Option<String>,
}

impl Encryption {
    fn of(view: &View<'_>) -> Option<Self> {
        let either = |new: &str, old: &str| view.text(new).or_else(|| view.text(old));
        let name = either("encryption.algorithm", "server-side-encryption-algorithm")?;
        let mut known = ENCRYPTION.iter();
        let (_, algorithm, has_key) =
            known.find(|(known, ..)| known.eq_ignore_ascii_case(&name))?;
        let key = either("encryption.key", "server-side-encryption.key");
        Some(Self {
            algorithm,
            key: key.filter(|_| *has_key),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Credentials {
    Anonymous,
    Keys {
        access_key: String,
        secret_key: Secret,
        session_token: Option<Secret>,
    },
    /// Of a container: the path of the URL.
    Container(String),
    /// Of a pod: the URL, and the file with the token.
    Pod(String, String),
    WebIdentity {
        token_file: String,
        role: String,
        session: Option<String>,
    },
    /// Of the machine.
    Instance,
}

/// `fs.s3a.*` with what one bucket has instead.
struct View<'a> {
    conf: &'a HadoopConf,
    bucket: &'a str,
}

impl View<'_> {
    /// A setting by what follows `fs.s3a.`; `Some` but empty if it is set to nothing.
    fn raw(&self, name: &str) -> Option<String> {
        let of_bucket = format!("{PREFIX}bucket.{}.{name}", self.bucket);
        let value = self
            .conf
            .get(&of_bucket)
            .or_else(|| self.conf.get(&format!("{PREFIX}{name}")))?;
        Some(value.trim().to_owned())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        self.text(name)
            .map_or(default, |value| value.eq_ignore_ascii_case("true"))
    }
}

/// Whether objects below a path are written as S3A would write them.
///
/// # Errors
/// [`FileError::Unsupported`]
pub(super) fn check_written(path: &FilePath, conf: &HadoopConf) -> Result<(), FileError> {
    let bucket = &path.authority;
    let view = View { conf, bucket };
    let of_s3a = |reason: String| FileError::unsupported(format!("{PREFIX}{reason}"));
    expect(|name| view.text(name), &EXPECTED_OF_WRITES).map_err(|error| of_s3a(error.reason()))?;
    let of_bucket = format!("bucket.{bucket}.");
    let is_header = |key: &str| {
        let name = key.strip_prefix(PREFIX).unwrap_or_default();
        let name = name.strip_prefix(&of_bucket).unwrap_or(name);
        name.starts_with(HEADERS)
    };
    match conf.keys().any(is_header) {
        true => Err(of_s3a(format!("{HEADERS}* is set"))),
        false => Ok(()),
    }
}

/// What a bucket's blocks are said to be, if there is a setting.
pub(super) fn block_size(path: &FilePath, conf: &HadoopConf) -> Option<String> {
    let bucket = &path.authority;
    View { conf, bucket }.text("block.size")
}

impl S3Settings {
    /// The settings for a path.
    ///
    /// # Errors
    /// Why the JVM must read it.
    pub(super) fn translate(
        path: &FilePath,
        conf: &HadoopConf,
        environment: &Environment,
    ) -> Result<Self, FileError> {
        let scheme = path.scheme.as_str();
        let class = format!("fs.{scheme}.impl");
        if scheme != "s3a" && conf.text(&class).is_none() {
            return Err(FileError::unsupported(format!("files of {scheme}:")));
        }
        expect_settings(
            conf,
            &[
                (class.as_str(), S3A),
                ("hadoop.security.credential.provider.path", &[]),
            ],
        )?;
        let bucket = path.authority.as_str();
        if bucket.is_empty() || bucket.contains(['@', ':']) {
            return Err(FileError::unsupported(format!(
                "files of {scheme}: of such a bucket"
            )));
        }
        let view = View { conf, bucket };
        expect(|name| view.text(name), &EXPECTED).map_err(|error| {
            let reason = error.reason();
            FileError::unsupported(format!("{PREFIX}{reason}"))
        })?;
        // A bucket of the express storage class has sessions.
        if bucket.ends_with("--x-s3") {
            return Err(FileError::unsupported(format!(
                "files of {scheme}: of an express bucket"
            )));
        }
        let server = Server::of(&view)?;
        Ok(Self {
            credentials: credentials(&view, environment)?,
            path_style: view.flag("path.style.access", false) || server.needs_path(bucket),
            requester_pays: view.flag("requester.pays.enabled", false),
            encryption: Encryption::of(&view),
            bucket: bucket.to_owned(),
            server,
        })
    }

    /// The store, after Amazon has said where the bucket is, if the settings do not.
    pub(super) async fn store(&self) -> Result<Arc<dyn ObjectStore>, FileError> {
        let server = match &self.server {
            Server::Known { .. } => self.server.clone(),
            Server::OfAmazon { scheme } => {
                // Only the path works for names with dots: certificates have one level.
                let url = format!("{scheme}://{CENTRAL}/{}", self.bucket);
                Server::in_region(scheme, &region_at(&url).await?)
            }
        };
        self.store_at(&server)
    }

    fn store_at(&self, server: &Server) -> Result<Arc<dyn ObjectStore>, FileError> {
        use AmazonS3ConfigKey as Key;
        let Server::Known {
            scheme,
            host,
            region,
        } = server
        else {
            return Err(FileError::failed("s3a", "a bucket in no region"));
        };
        let endpoint = match self.path_style {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{}.{host}", self.bucket),
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&self.bucket)
            .with_region(region)
            .with_endpoint(endpoint)
            .with_virtual_hosted_style_request(!self.path_style)
            .with_allow_http(scheme == "http")
            .with_request_payer(self.requester_pays)
            .with_retry(retry())
            .with_http_connector(Connector);
        if let Some(Encryption { algorithm, key }) = &self.encryption {
            // These have no public names but their texts.
            let of = |name: &str| {
                name.parse::<Key>()
                    .map_err(|why| FileError::failed("s3a", why))
            };
            builder = builder.with_config(of("aws_server_side_encryption")?, *algorithm);
            if let Some(key) = key {
                builder = builder.with_config(of("aws_sse_kms_key_id")?, key);
            }
        }
        builder = match &self.credentials {
            Credentials::Anonymous => builder.with_skip_signature(true),
            Credentials::Keys {
                access_key,
                secret_key,
                session_token,
            } => {
                let builder = builder
                    .with_access_key_id(access_key)
                    .with_secret_access_key(&secret_key.0);
                match session_token {
                    Some(token) => builder.with_token(&token.0),
                    None => builder,
                }
            }
            Credentials::Container(uri) => {
                builder.with_config(Key::ContainerCredentialsRelativeUri, uri)
            }
            Credentials::Pod(uri, token_file) => builder
                .with_config(Key::ContainerCredentialsFullUri, uri)
                .with_config(Key::ContainerAuthorizationTokenFile, token_file),
            Credentials::WebIdentity {
                token_file,
                role,
                session,
            } => {
                let builder = builder
                    .with_config(Key::WebIdentityTokenFile, token_file)
                    .with_config(Key::RoleArn, role);
                match session {
                    Some(session) => builder.with_config(Key::RoleSessionName, session),
                    None => builder,
                }
            }
            Credentials::Instance => builder,
        };
        let store = builder.build();
        let store = store.map_err(|error| FileError::failed("s3a", error))?;
        Ok(Arc::new(store))
    }
}

/// Where a bucket is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Server {
    Known {
        scheme: String,
        /// Perhaps with a port.
        host: String,
        region: String,
    },
    /// Amazon knows.
    OfAmazon { scheme: String },
}

impl Server {
    fn of(view: &View<'_>) -> Result<Self, FileError> {
        let scheme = match view.flag("connection.ssl.enabled", true) {
            true => "https",
            false => "http",
        };
        let region = view.raw("endpoint.region");
        // Then the client looks into the environment and files of Amazon's tools.
        if region
            .as_deref()
            .is_some_and(|region| matches!(region, "" | "sdk" | "ec2"))
        {
            return Err(FileError::unsupported(
                "fs.s3a.endpoint.region of Amazon's own settings",
            ));
        }
        let given = view.text("endpoint").unwrap_or_default();
        let given = given.trim_end_matches('/');
        let (scheme, host) = given.split_once("://").unwrap_or((scheme, given));
        if !matches!(scheme, "http" | "https") || host.contains('/') {
            return Err(FileError::unsupported("fs.s3a.endpoint of an unusual form"));
        }
        let of_amazon = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
        let region = match (host, region) {
            ("" | CENTRAL, Some(region)) => return Ok(Self::in_region(scheme, &region)),
            ("" | CENTRAL, None) => {
                return Ok(Self::OfAmazon {
                    scheme: scheme.to_owned(),
                });
            }
            (_, Some(region)) => region,
            (host, None) if of_amazon => match region_of(host) {
                Some(region) => region.to_owned(),
                None => return Err(FileError::unsupported("fs.s3a.endpoint.region is not set")),
            },
            (_, None) => ANY_REGION.to_owned(),
        };
        Ok(Self::Known {
            scheme: scheme.to_owned(),
            host: host.to_owned(),
            region,
        })
    }

    fn in_region(scheme: &str, region: &str) -> Self {
        let suffix = match region.starts_with("cn-") {
            true => ".cn",
            false => "",
        };
        Self::Known {
            scheme: scheme.to_owned(),
            host: format!("s3.{region}.amazonaws.com{suffix}"),
            region: region.to_owned(),
        }
    }

    /// Whether the bucket cannot be a part of the host's name.
    fn needs_path(&self, bucket: &str) -> bool {
        let host = match self {
            Self::Known { host, .. } => host,
            Self::OfAmazon { .. } => CENTRAL,
        };
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        name.parse::<IpAddr>().is_ok() || host.starts_with('[') || !bucket.bytes().all(plain)
    }
}

/// Asks for a bucket: where it is, everybody is told.
async fn region_at(url: &str) -> Result<String, FileError> {
    let client = client().map_err(|error| FileError::failed("s3a", error))?;
    let answer = client.head(url).send().await;
    let answer = answer.map_err(|error| FileError::failed("s3a", error))?;
    answer
        .headers()
        .get("x-amz-bucket-region")
        .and_then(|region| region.to_str().ok())
        .map(str::to_owned)
        .ok_or_else(|| FileError::failed("s3a", "the bucket's region is not known"))
}

/// `s3.eu-west-1.amazonaws.com`, `s3-eu-west-1.amazonaws.com`
fn region_of(host: &str) -> Option<&str> {
    let name = host.split_once(".amazonaws.com")?.0;
    let region = name
        .strip_prefix("s3.dualstack.")
        .or_else(|| name.strip_prefix("s3."))
        .or_else(|| name.strip_prefix("s3-"))?;
    (!region.contains('.') && region.contains('-')).then_some(region)
}

/// What the first provider of the list gives that has something, as Hadoop goes through it.
fn credentials(view: &View<'_>, environment: &Environment) -> Result<Credentials, FileError> {
    let list = view
        .text("aws.credentials.provider")
        .unwrap_or_else(|| DEFAULT_PROVIDERS.to_owned());
    let secret = |name| view.text(name).map(Secret);
    for class in list.split(',').map(str::trim).filter(|c| !c.is_empty()) {
        let found = match class {
            "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider" => {
                match (
                    view.text("access.key"),
                    secret("secret.key"),
                    secret("session.token"),
                ) {
                    (Some(access_key), Some(secret_key), token @ Some(_)) => {
                        Some(Credentials::Keys {
                            access_key,
                            secret_key,
                            session_token: token,
                        })
                    }
                    _ => None,
                }
            }
            "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider" => {
                match (view.text("access.key"), secret("secret.key")) {
                    (Some(access_key), Some(secret_key)) => Some(Credentials::Keys {
                        access_key,
                        secret_key,
                        session_token: None,
                    }),
                    _ => None,
                }
            }
            "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
            | "com.amazonaws.auth.AnonymousAWSCredentials"
            | "software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider" => {
                Some(Credentials::Anonymous)
            }
            "com.amazonaws.auth.EnvironmentVariableCredentialsProvider"
            | "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider" => {
                keys_of(environment)
            }
            "com.amazonaws.auth.WebIdentityTokenCredentialsProvider"
            | "software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider" => {
                let get = |name| environment.get(name).map(str::to_owned);
                match (get("AWS_WEB_IDENTITY_TOKEN_FILE"), get("AWS_ROLE_ARN")) {
                    (Some(token_file), Some(role)) => Some(Credentials::WebIdentity {
                        token_file,
                        role,
                        session: get("AWS_ROLE_SESSION_NAME"),
                    }),
                    _ => None,
                }
            }
            "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider"
            | "com.amazonaws.auth.EC2ContainerCredentialsProviderWrapper" => {
                Some(of_machine(environment)?)
            }
            "com.amazonaws.auth.InstanceProfileCredentialsProvider"
            | "org.apache.hadoop.fs.s3a.SharedInstanceCredentialProvider"
            | "software.amazon.awssdk.auth.credentials.InstanceProfileCredentialsProvider" => {
                Some(Credentials::Instance)
            }
            "software.amazon.awssdk.auth.credentials.ContainerCredentialsProvider" => {
                match of_machine(environment)? {
                    Credentials::Instance => None,
                    found => Some(found),
                }
            }
            other => {
                return Err(FileError::unsupported(format!(
                    "fs.s3a.aws.credentials.provider {other}"
                )));
            }
        };
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Err(FileError::unsupported(
        "fs.s3a.aws.credentials.provider without credentials",
    ))
}

fn keys_of(environment: &Environment) -> Option<Credentials> {
    let first = |names: [&str; 2]| names.into_iter().find_map(|name| environment.get(name));
    Some(Credentials::Keys {
        access_key: first(["AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"])?.to_owned(),
        secret_key: Secret(first(["AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"])?.to_owned()),
        session_token: environment
            .get("AWS_SESSION_TOKEN")
            .map(|token| Secret(token.to_owned())),
    })
}

fn of_machine(environment: &Environment) -> Result<Credentials, FileError> {
    if let Some(uri) = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
        return Ok(Credentials::Container(uri.to_owned()));
    }
    let Some(uri) = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") else {
        return Ok(Credentials::Instance);
    };
    match environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(file) => Ok(Credentials::Pod(uri.to_owned(), file.to_owned())),
        None => Err(FileError::unsupported(
            "AWS_CONTAINER_CREDENTIALS_FULL_URI without a token file",
        )),
    }
}

#[cfg(test)]
#[path = "s3_tests.rs"]
mod tests;
