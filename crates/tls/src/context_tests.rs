use std::io::{Read, Write};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConnection};

use super::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name)
}

fn changeit() -> Option<Password> {
    Some(Password::new("changeit".to_owned()))
}

fn trust(path: PathBuf) -> Option<TrustStore> {
    Some(TrustStore {
        path,
        password: changeit(),
        reload: None,
    })
}

fn of_store(name: &str, trust: Option<TrustStore>) -> Settings {
    Settings {
        keys: Keys::Store {
            path: fixture(name),
            password: changeit(),
            key_password: (name == "rsa.jks").then(|| Password::new("another".to_owned())),
            trust,
        },
        protocol: Protocol::default(),
        suites: Vec::new(),
    }
}

/// Lets both ends speak until they have nothing to say, and some bytes go each way.
fn speak(client: &Context, server: &Context) -> Result<String, rustls::Error> {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut client = ClientConnection::new(Arc::clone(&client.client), name)?;
    let mut server = ServerConnection::new(Arc::clone(&server.server))?;
    client.writer().write_all(b"ping").unwrap();
    server.writer().write_all(b"pong").unwrap();
    for _ in 0..8 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut bytes = bytes.as_slice();
        while !bytes.is_empty() {
            server.read_tls(&mut bytes).unwrap();
            server.process_new_packets()?;
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut bytes = bytes.as_slice();
        while !bytes.is_empty() {
            client.read_tls(&mut bytes).unwrap();
            client.process_new_packets()?;
        }
    }
    let (mut ping, mut pong) = ([0; 4], [0; 4]);
    server.reader().read_exact(&mut ping).unwrap();
    client.reader().read_exact(&mut pong).unwrap();
    assert_eq!((&ping, &pong), (b"ping", b"pong"));
    let suite = client.negotiated_cipher_suite().unwrap();
    Ok(format!(
        "{:?} {:?}",
        client.protocol_version().unwrap(),
        suite.suite()
    ))
}

fn context(settings: &Settings) -> Context {
    Context::new(settings).unwrap()
}

#[test]
fn stores_of_keytool_make_connections() {
    for name in ["rsa.jks", "ec.p12", "legacy.p12"] {
        let server = context(&of_store(name, None));
        assert!(speak(&server, &server).is_ok(), "everybody is trusted");
    }
    let (rsa, ec) = (of_store("rsa.jks", None), of_store("ec.p12", None));
    for store in ["trust.jks", "trust.p12"] {
        let client = context(&of_store("ec.p12", trust(fixture(store))));
        for server in [&rsa, &ec] {
            assert!(speak(&client, &context(server)).is_ok());
        }
        let stranger = context(&of_store("legacy.p12", None));
        let error = speak(&client, &stranger).unwrap_err();
        assert!(
            matches!(error, rustls::Error::InvalidCertificate(_)),
            "{error}"
        );
    }
}

#[test]
fn protocols_and_ciphers_are_those_of_the_settings() {
    let with = |protocol, suite: Option<&str>| {
        let mut settings = of_store("rsa.jks", None);
        settings.protocol = protocol;
        settings.suites.extend(suite.and_then(Suite::named));
        settings
    };
    let same = |protocol, suite| {
        let context = context(&with(protocol, suite));
        speak(&context, &context).unwrap()
    };
    assert!(same(Protocol::Tls13, None).starts_with("TLSv1_3 "));
    assert!(same(Protocol::Either, None).starts_with("TLSv1_3 "));
    assert!(same(Protocol::Tls12, None).starts_with("TLSv1_2 "));
    let chacha = "TLS_CHACHA20_POLY1305_SHA256";
    assert!(same(Protocol::Tls13, Some(chacha)).ends_with("CHACHA20_POLY1305_SHA256"));
    let old = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    assert_eq!(same(Protocol::Either, Some(old)), format!("TLSv1_2 {old}"));
    let error = Context::new(&with(Protocol::Tls13, Some(old))).unwrap_err();
    assert!(matches!(error, TlsError::Ciphers(_)), "{error}");
    let (new, old) = (with(Protocol::Tls13, None), with(Protocol::Tls12, None));
    assert!(speak(&context(&new), &context(&old)).is_err());
}

#[test]
fn files_in_pem_make_connections_and_are_what_is_trusted() {
    let settings = |key: &str, password| Settings {
        keys: Keys::Pem {
            key: fixture(key),
            password,
            chain: fixture("cert.pem"),
        },
        protocol: Protocol::default(),
        suites: Vec::new(),
    };
    let plain = context(&settings("key.pem", None));
    let encrypted = context(&settings("encrypted.pem", changeit()));
    assert!(speak(&plain, &encrypted).is_ok());
    assert!(speak(&encrypted, &context(&of_store("ec.p12", None))).is_ok());
    assert!(speak(&plain, &context(&of_store("rsa.jks", None))).is_err());
}

#[test]
fn what_cannot_be_used_is_named() {
    let error = Context::new(&of_store("absent.p12", None)).unwrap_err();
    let TlsError::File {
        source_of, path, ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!(
        (*source_of, path),
        (Source::KeyStore, &fixture("absent.p12"))
    );
    let curve = Context::new(&of_store("p521.p12", None))
        .unwrap_err()
        .to_string();
    assert!(
        curve.contains("its key or certificate is none that can be used"),
        "{curve}"
    );
    let text = std::env::temp_dir();
    let error = Context::new(&of_store("ec.p12", trust(text))).unwrap_err();
    assert!(
        matches!(
            error,
            TlsError::File {
                source_of: Source::TrustStore,
                ..
            }
        ),
        "{error}"
    );
    let mut mixed = of_store("rsa.jks", None);
    mixed.keys = Keys::Pem {
        key: fixture("cert.pem"),
        password: None,
        chain: fixture("cert.pem"),
    };
    assert!(matches!(
        Context::new(&mixed).unwrap_err(),
        TlsError::File {
            source_of: Source::PrivateKey,
            ..
        }
    ));
}

/// A chain of three, of which clients know the first: names and intermediate certificates are the server's.
#[test]
fn chains_are_followed_and_names_are_not_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let authority = |name: &str| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, name);
        (params, KeyPair::generate().unwrap())
    };
    let (root, root_key) = authority("root");
    let root_cert = root.self_signed(&root_key).unwrap();
    let (middle, middle_key) = authority("middle");
    let root = Issuer::new(root, root_key);
    let middle_cert = middle.signed_by(&middle_key, &root).unwrap();
    let middle = Issuer::new(middle, middle_key);
    let leaf_key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["another.example".to_owned()]).unwrap();
    let leaf_cert = leaf.signed_by(&leaf_key, &middle).unwrap();
    let pem = |key: PathBuf, chain: PathBuf| Settings {
        keys: Keys::Pem {
            key,
            password: None,
            chain,
        },
        protocol: Protocol::default(),
        suites: Vec::new(),
    };
    let key = write("leaf.key", leaf_key.serialize_pem());
    let chain = write("chain.pem", leaf_cert.pem() + &middle_cert.pem());
    let server = context(&pem(key.clone(), chain));
    let alone = context(&pem(key, write("leaf.pem", leaf_cert.pem())));
    let knows_root = pem(
        write("root.key", root.key().serialize_pem()),
        write("root.pem", root_cert.pem()),
    );
    let client = context(&knows_root);
    assert!(speak(&client, &server).is_ok());
    assert!(speak(&client, &alone).is_err(), "the middle is missing");
    // The certificate of an authority is accepted when it is the one that is known.
    assert!(speak(&client, &client).is_ok());
}

#[test]
fn a_trust_store_that_is_looked_at_again_changes_who_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trust.p12");
    let copy = |name: &str, second: u64| {
        std::fs::copy(fixture(name), &path).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
    };
    copy("legacy.p12", 1);
    let client = |reload| {
        let store = TrustStore {
            path: path.clone(),
            password: changeit(),
            reload,
        };
        context(&of_store("ec.p12", Some(store)))
    };
    let (fixed, reloading) = (client(None), client(Some(Duration::ZERO)));
    let server = context(&of_store("ec.p12", None));
    assert!(speak(&fixed, &server).is_err() && speak(&reloading, &server).is_err());
    copy("trust.p12", 2);
    assert!(speak(&fixed, &server).is_err());
    assert!(speak(&reloading, &server).is_ok());
    // While it is being written, the last one counts.
    std::fs::write(&path, "half").unwrap();
    assert!(speak(&reloading, &server).is_ok());
}
