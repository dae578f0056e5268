//! Settings of Hadoop's file systems for Azure storage, for `object_store`.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

use super::conf::HadoopConf;
use super::object::{Connector, retry};
use super::path::FilePath;
use super::{FileError, Secret, expect, expect_settings};

const OAUTH: &str = "org.apache.hadoop.fs.azurebfs.oauth2.";

/// Settings that must have one of these values, or none; those of `fs.azure.` also with the account behind.
const EXPECTED: [(&str, &[&str]); 7] = [
    (
        "fs.azure.account.keyprovider",
        &[
            "org.apache.hadoop.fs.azurebfs.services.SimpleKeyProvider",
            "org.apache.hadoop.fs.azure.SimpleKeyProvider",
        ],
    ),
    ("fs.azure.client-provided-encryption-key", &[]),
    ("fs.azure.encryption.encoded.client-provided-key", &[]),
    ("fs.azure.encryption.context.provider.type", &[]),
    ("fs.azure.sas.token.provider.type", &[]),
    ("fs.azure.secure.mode", &["false"]),
    ("fs.azure.enable.delegation.token", &["false"]),
];

/// A container, and how it is talked to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AzureSettings {
    account: String,
    container: String,
    /// Of the blob service, which has the same files.
    endpoint: String,
    credentials: Credentials,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Credentials {
    Key(Secret),
    Sas(Secret),
    Client {
        authority: String,
        tenant: String,
        id: String,
        secret: Secret,
    },
    /// Of the machine; with the id of one of its identities.
    Managed(Option<String>),
}

/// Settings of one account.
struct View<'a> {
    conf: &'a HadoopConf,
    host: &'a str,
}

impl View<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.conf
            .text(&format!("{key}.{}", self.host))
            .or_else(|| self.conf.text(key))
    }

    fn needed(&self, key: &str) -> Result<String, FileError> {
        self.text(key)
            .ok_or_else(|| FileError::unsupported(format!("{key} is not set")))
    }
}

impl AzureSettings {
    /// The settings for a path.
    ///
    /// # Errors
    /// Why the JVM must read it.
    pub(super) fn translate(path: &FilePath, conf: &HadoopConf) -> Result<Self, FileError> {
        let scheme = path.scheme.as_str();
        let (class, known, service) = match scheme {
            "abfs" | "abfss" => (
                format!("fs.{scheme}.impl"),
                [
                    "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
                    "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
                ],
                "dfs",
            ),
            _ => (
                format!("fs.{scheme}.impl"),
                [
                    "org.apache.hadoop.fs.azure.NativeAzureFileSystem",
                    "org.apache.hadoop.fs.azure.NativeAzureFileSystem$Secure",
                ],
                "blob",
            ),
        };
        expect_settings(
            conf,
            &[
                (class.as_str(), &known),
                ("hadoop.security.credential.provider.path", &[]),
            ],
        )?;
        let unusual = || FileError::unsupported(format!("files of {scheme}: of such an account"));
        let (container, host) = path.authority.split_once('@').ok_or_else(unusual)?;
        let (account, domain) = host.split_once('.').ok_or_else(unusual)?;
        let domain = domain.strip_prefix(service).ok_or_else(unusual)?;
        if container.is_empty()
            || account.is_empty()
            || !domain.starts_with('.')
            || domain.contains(':')
        {
            return Err(unusual());
        }
        let view = View { conf, host };
        expect(|key| view.text(key), &EXPECTED)?;
        let credentials = match service {
            "dfs" => of_account(&view)?,
            _ => match conf.text(&format!("fs.azure.sas.{container}.{host}")) {
                Some(sas) => Credentials::Sas(Secret(sas)),
                None => Credentials::Key(Secret(view.needed("fs.azure.account.key")?)),
            },
        };
        Ok(Self {
            account: account.to_owned(),
            container: container.to_owned(),
            endpoint: format!("https://{account}.blob{domain}"),
            credentials,
        })
    }

    pub(super) fn store(&self) -> Result<Arc<dyn ObjectStore>, FileError> {
        use AzureConfigKey as Key;
        let builder = MicrosoftAzureBuilder::new()
            .with_account(&self.account)
            .with_container_name(&self.container)
            .with_endpoint(self.endpoint.clone())
            .with_retry(retry())
            .with_http_connector(Connector);
        let builder = match &self.credentials {
            Credentials::Key(key) => builder
                .with_access_key(&key.0)
                .with_credential_type("access_key"),
            Credentials::Sas(sas) => builder
                .with_config(Key::SasKey, sas.0.trim_start_matches('?'))
                .with_credential_type("sas_token"),
            Credentials::Client {
                authority,
                tenant,
                id,
                secret,
            } => builder
                .with_client_secret_authorization(id, &secret.0, tenant)
                .with_authority_host(authority)
                .with_credential_type("client_secret"),
            Credentials::Managed(id) => {
                let builder = builder.with_credential_type("managed_identity");
                match id {
                    Some(id) => builder.with_client_id(id),
                    None => builder,
                }
            }
        };
        let store = builder.build();
        let store = store.map_err(|error| FileError::failed("abfs", error))?;
        Ok(Arc::new(store))
    }
}

fn of_account(view: &View<'_>) -> Result<Credentials, FileError> {
    let kind = view.text("fs.azure.account.auth.type");
    match kind.as_deref() {
        None | Some("SharedKey") => {
            let key = view.needed("fs.azure.account.key")?;
            Ok(Credentials::Key(Secret(key)))
        }
        Some("SAS") => {
            let sas = view.needed("fs.azure.sas.fixed.token")?;
            Ok(Credentials::Sas(Secret(sas)))
        }
        Some("OAuth") => {
            let class = view.needed("fs.azure.account.oauth.provider.type")?;
            match class.strip_prefix(OAUTH) {
                Some("ClientCredsTokenProvider") => {
                    let url = view.needed("fs.azure.account.oauth2.client.endpoint")?;
                    let (authority, tenant) = authority(&url).ok_or_else(|| {
                        FileError::unsupported(
                            "fs.azure.account.oauth2.client.endpoint of an unusual form",
                        )
                    })?;
                    Ok(Credentials::Client {
                        authority,
                        tenant,
                        id: view.needed("fs.azure.account.oauth2.client.id")?,
                        secret: Secret(view.needed("fs.azure.account.oauth2.client.secret")?),
                    })
                }
                Some("MsiTokenProvider")
                    if view.text("fs.azure.account.oauth2.msi.endpoint").is_none() =>
                {
                    let id = view.text("fs.azure.account.oauth2.client.id");
                    Ok(Credentials::Managed(id))
                }
                _ => Err(FileError::unsupported(format!(
                    "fs.azure.account.oauth.provider.type {class}"
                ))),
            }
        }
        Some(other) => Err(FileError::unsupported(format!(
            "fs.azure.account.auth.type {other}"
        ))),
    }
}

/// `https://login.microsoftonline.com/TENANT/oauth2/token`, also of version 2.
fn authority(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("https://")?;
    let mut parts = rest.split('/');
    let (host, tenant) = (parts.next()?, parts.next()?);
    let known = matches!(
        parts.collect::<Vec<_>>().as_slice(),
        ["oauth2", "token"] | ["oauth2", "v2.0", "token"]
    );
    (known && !tenant.is_empty()).then(|| (format!("https://{host}"), tenant.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABFS: &str = "abfss://data@acct.dfs.core.windows.net/x";
    const KEY: &str = "c2VjcmV0";

    fn with<const N: usize>(
        uri: &str,
        settings: [(&str, &str); N],
    ) -> Result<AzureSettings, String> {
        let path = FilePath::parse(uri);
        AzureSettings::translate(&path, &settings.into()).map_err(|error| error.reason())
    }

    fn store(settings: AzureSettings) -> AzureSettings {
        settings.store().unwrap();
        settings
    }

    #[test]
    fn keys_and_signatures() {
        let of_account = "fs.azure.account.key.acct.dfs.core.windows.net";
        let found = with(
            ABFS,
            [(of_account, KEY), ("fs.azure.account.key", "b3RoZXI=")],
        );
        let found = store(found.unwrap());
        assert_eq!(found.credentials, Credentials::Key(Secret(KEY.into())));
        assert_eq!(found.endpoint, "https://acct.blob.core.windows.net");
        assert_eq!((&*found.account, &*found.container), ("acct", "data"));
        assert!(!format!("{found:?}").contains(KEY));
        let sas = [
            ("fs.azure.account.auth.type", "SAS"),
            ("fs.azure.sas.fixed.token", "?sv=1&sig=x%3D"),
        ];
        store(with(ABFS, sas).unwrap());
        let wasb = "wasb://data@acct.blob.core.chinacloudapi.cn/x";
        let sas = [(
            "fs.azure.sas.data.acct.blob.core.chinacloudapi.cn",
            "sv=1&sig=x",
        )];
        let found = store(with(wasb, sas).unwrap());
        assert_eq!(found.endpoint, "https://acct.blob.core.chinacloudapi.cn");
    }

    #[test]
    fn tokens_of_applications_and_machines() {
        let class = |class| format!("{OAUTH}{class}");
        let client = |url| {
            with(
                ABFS,
                [
                    ("fs.azure.account.auth.type", "OAuth"),
                    (
                        "fs.azure.account.oauth.provider.type",
                        &class("ClientCredsTokenProvider"),
                    ),
                    ("fs.azure.account.oauth2.client.endpoint", url),
                    ("fs.azure.account.oauth2.client.id", "id"),
                    ("fs.azure.account.oauth2.client.secret", "secret"),
                ],
            )
        };
        let found = client("https://login.microsoftonline.com/t-1/oauth2/token").unwrap();
        let expected = Credentials::Client {
            authority: "https://login.microsoftonline.com".into(),
            tenant: "t-1".into(),
            id: "id".into(),
            secret: Secret("secret".into()),
        };
        assert_eq!(store(found).credentials, expected);
        assert_eq!(
            client("https://login.example.com/token").unwrap_err(),
            "fs.azure.account.oauth2.client.endpoint of an unusual form"
        );
        let managed = with(
            ABFS,
            [
                ("fs.azure.account.auth.type", "OAuth"),
                (
                    "fs.azure.account.oauth.provider.type",
                    &class("MsiTokenProvider"),
                ),
            ],
        );
        assert_eq!(
            store(managed.unwrap()).credentials,
            Credentials::Managed(None)
        );
    }

    #[test]
    fn what_is_for_the_jvm_is_named() {
        assert_eq!(
            with(ABFS, []).unwrap_err(),
            "fs.azure.account.key is not set"
        );
        for (key, value, reason) in [
            (
                "fs.azure.account.auth.type.acct.dfs.core.windows.net",
                "Custom",
                "fs.azure.account.auth.type Custom",
            ),
            (
                "fs.azure.account.keyprovider",
                "a.B",
                "fs.azure.account.keyprovider is a.B",
            ),
            (
                "fs.azure.sas.token.provider.type",
                "a.B",
                "fs.azure.sas.token.provider.type is set",
            ),
            ("fs.abfss.impl", "a.B", "fs.abfss.impl is a.B"),
        ] {
            let found = with(ABFS, [("fs.azure.account.key", KEY), (key, value)]);
            assert_eq!(found.unwrap_err(), reason);
        }
        for uri in [
            "abfss://data/x",
            "abfss://data@localhost/x",
            "wasb://a@b.dfs.c/x",
        ] {
            let found = with(uri, [("fs.azure.account.key", KEY)]).unwrap_err();
            assert!(found.ends_with("of such an account"), "{found}");
        }
    }
}
