//! Connections inside TLS, with keys that keytool made.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use firesteel::transport::{Client, NoRequests, Protection, TlsError, TransportConf};
use tls::{Context, Keys, Password, Settings, TrustStore};
use wire::frame::Frame;

use crate::authentication::{self, SASL, connect_as, everything_goes};
use crate::peers::{Raw, TIMEOUT, TestHandler, connect, serve};

fn fixture(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/tls/fixtures");
    dir.join(name)
}

fn changeit() -> Option<Password> {
    Some(Password::new("changeit".to_owned()))
}

/// A key of that store, and whom that trust store knows.
fn context(store: &str, trust: &str, protocol: tls::Protocol) -> Context {
    let settings = Settings {
        keys: Keys::Store {
            path: fixture(store),
            password: changeit(),
            key_password: None,
            trust: Some(TrustStore {
                path: fixture(trust),
                password: changeit(),
                reload: None,
            }),
        },
        protocol,
        suites: Vec::new(),
    };
    Context::new(&settings).unwrap()
}

fn conf(store: &str, trust: &str, protocol: tls::Protocol) -> TransportConf {
    TransportConf {
        protection: Protection {
            tls: Some(context(store, trust, protocol)),
            authentication: None,
        },
        ..TransportConf::default()
    }
}

fn usual() -> TransportConf {
    conf("ec.p12", "trust.jks", tls::Protocol::Tls13)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_goes_inside_tls() {
    for protocol in [tls::Protocol::Tls13, tls::Protocol::Tls12] {
        let conf = conf("ec.p12", "trust.jks", protocol);
        everything_goes(&conf, &format!("{protocol:?}")).await;
    }
    let mut both = authentication::conf(SASL, "app", "secret");
    both.protection.tls = usual().protection.tls;
    everything_goes(&both, "with authentication").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_trusted_or_speaks_otherwise_is_refused_by_name_of_the_setting() {
    let (server, handler) = serve(TestHandler::default(), &usual());
    let refused = async |conf: &TransportConf| {
        let error = connect_as(&server, conf).await.unwrap_err();
        assert!(error.get_ref().unwrap().is::<TlsError>());
        error.to_string()
    };
    let text = refused(&conf("ec.p12", "legacy.p12", tls::Protocol::Tls13)).await;
    assert!(text.contains("spark.ssl.rpc.trustStore"), "{text}");
    let text = refused(&conf("ec.p12", "trust.p12", tls::Protocol::Tls12)).await;
    assert!(text.contains("spark.ssl.rpc.protocol"), "{text}");
    // Authentication is inside.
    let mut secured = authentication::conf(SASL, "app", "secret");
    secured.protection.tls = usual().protection.tls;
    let (server, secured_handler) = serve(TestHandler::default(), &secured);
    let mut other = authentication::conf(SASL, "app", "another");
    other.protection.tls = usual().protection.tls;
    let error = connect_as(&server, &other).await.unwrap_err().to_string();
    assert!(error.contains("spark.authenticate.secret"), "{error}");
    for handler in [handler, secured_handler] {
        assert!(handler.closed.lock().is_empty(), "nobody came in");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_with_and_without_tls_part() {
    let (server, handler) = serve(TestHandler::default(), &usual());
    let plain = connect(&server).await;
    let refused = plain.ask(Bytes::from_static(b"x"), TIMEOUT).await;
    assert!(refused.is_err());
    plain.closed().await;
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0x16, 3, 1, 0xff, 0xff, 1],
        &[0x16, 3, 1, 0, 4, 1, 0, 0, 0],
        &[0; 4096],
    ] {
        let mut raw = Raw::connect(&server);
        raw.socket.write_all(garbage).unwrap();
        raw.socket.shutdown(std::net::Shutdown::Write).unwrap();
        // An alert may come before the end.
        let mut alert = Vec::new();
        let _ = raw.socket.read_to_end(&mut alert);
        assert!(alert.len() < 16, "{alert:?}");
    }
    let mut raw = Raw::connect(&server);
    raw.send(&Frame::ChunkFetchRequest {
        stream_id: 1,
        chunk_index: 0,
    });
    let mut alert = Vec::new();
    let _ = raw.socket.read_to_end(&mut alert);
    assert!(alert.len() < 16, "{alert:?}");
    assert!(handler.closed.lock().is_empty(), "nobody came in");
    let client = connect_as(&server, &usual()).await.unwrap();
    assert!(client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());

    let (server, _handler) = serve(TestHandler::default(), &TransportConf::default());
    let error = connect_as(&server, &usual()).await.unwrap_err().to_string();
    assert!(error.contains("spark.ssl.rpc.enabled"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_say_nothing_are_not_kept() {
    let (server, _handler) = serve(TestHandler::default(), &usual());
    let mut silent = Raw::connect(&server);
    silent.socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let begun = std::time::Instant::now();
    let server_end = std::thread::spawn(move || silent.socket.read(&mut [0; 1]));
    // A server that says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let handler = std::sync::Arc::new(NoRequests);
    let conf = usual();
    let client = Client::connect("127.0.0.1", port, &conf, handler).await;
    let text = client.unwrap_err().to_string();
    assert!(
        text.contains("the handshake was not over after 10 s"),
        "{text}"
    );
    assert!(matches!(server_end.join().unwrap(), Ok(0)));
    assert!(begun.elapsed() >= Duration::from_secs(9));
}
