//! Connections whose ends have to say who they are.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use auth::{Cipher, Crypto, EngineVersion, Protocol, Secret};
use bytes::Bytes;
use firesteel::config::ConnectionSecurity;
use firesteel::transport::{
    Authentication, AuthenticationError, Body, Client, NoRequests, Protection, Server,
    TransportConf,
};
use wire::frame::Frame;

use crate::peers::{Raw, TIMEOUT, TestHandler, connect, serve, some_bytes, some_file};

pub(crate) const SASL: Protocol = Protocol {
    crypto: None,
    sasl_fallback: true,
};

fn crypto(version: EngineVersion, cipher: Cipher) -> Protocol {
    Protocol {
        crypto: Some(Crypto { version, cipher }),
        sasl_fallback: true,
    }
}

pub(crate) fn conf(protocol: Protocol, app_id: &str, secret: &str) -> TransportConf {
    let security = ConnectionSecurity {
        protocol,
        timeout: Duration::from_secs(20),
    };
    let authentication = Authentication::new(security, Secret::new(secret.to_owned()));
    TransportConf {
        protection: Protection::from(authentication.of_application(app_id)),
        ..TransportConf::default()
    }
}

pub(crate) async fn connect_as(server: &Server, conf: &TransportConf) -> std::io::Result<Client> {
    let port = server.local_addr().port();
    Client::connect("127.0.0.1", port, conf, Arc::new(NoRequests)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_goes_over_authenticated_connections() {
    for protocol in [
        SASL,
        crypto(EngineVersion::V1, Cipher::Ctr),
        crypto(EngineVersion::V2, Cipher::Ctr),
        crypto(EngineVersion::V1, Cipher::Gcm),
        crypto(EngineVersion::V2, Cipher::Gcm),
    ] {
        everything_goes(&conf(protocol, "app", "secret"), &format!("{protocol:?}")).await;
    }
}

/// Requests, chunks, streams and uploads, large and small, between two ends with these settings.
pub(crate) async fn everything_goes(conf: &TransportConf, what: &str) {
    let (mut handler, content) = some_file(5_000_000);
    handler.chunk = some_bytes(3_000_000).into();
    let (server, handler) = serve(handler, conf);
    let client = connect_as(&server, conf).await.unwrap();
    let asks: Vec<_> = (0..300usize)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let body = Bytes::from(vec![
                    number as u8;
                    if number % 20 == 0 { 100_000 } else { 40 }
                ]);
                assert_eq!(client.ask(body.clone(), TIMEOUT).await, Ok(body));
            })
        })
        .collect();
    let chunks: Vec<_> = (0..6)
        .map(|at| client.start_fetch_chunk(1 + at % 2, at as i32))
        .collect();
    let mut stream = client.open_stream("file").await.unwrap();
    let mut streamed = Vec::new();
    while let Some(piece) = stream.next().await.unwrap() {
        streamed.extend_from_slice(&piece);
    }
    assert!(streamed == content, "{what}");
    for (at, chunk) in chunks.into_iter().enumerate() {
        let chunk = chunk.await.unwrap();
        match at % 2 {
            0 => assert!(chunk == content[3..], "{what}"),
            _ => assert!(chunk == some_bytes(3_000_000), "{what}"),
        }
    }
    for ask in asks {
        ask.await.unwrap();
    }
    let (file, len) = handler.file.clone().unwrap();
    let body = Body::File {
        file,
        offset: 0,
        len,
    };
    let meta = Bytes::from_static(b"meta");
    let stored = client.upload(meta, &body, TIMEOUT).await;
    assert_eq!(stored, Ok(Bytes::from_static(b"stored")));
    assert!(handler.uploaded.lock().pop().unwrap().1 == content);
    client.send(Bytes::from_static(b"told")).await;
    client.flush().await;
    client.close();
    assert_eq!(handler.wait_closed().await, None, "{what}");
    assert_eq!(handler.one_way.lock().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_another_secret_is_refused_by_name_of_the_setting() {
    for protocol in [SASL, crypto(EngineVersion::V1, Cipher::Gcm)] {
        let right = conf(protocol, "app", "secret");
        let (server, handler) = serve(TestHandler::default(), &right);
        for wrong in [
            conf(protocol, "app", "another"),
            conf(protocol, "another app", "secret"),
        ] {
            let error = connect_as(&server, &wrong).await.unwrap_err();
            let inside = error.get_ref().unwrap();
            assert!(inside.is::<AuthenticationError>());
            let text = error.to_string();
            assert!(text.contains("spark.authenticate.secret"), "{text}");
        }
        let client = connect_as(&server, &right).await.unwrap();
        assert!(client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());
        assert!(handler.closed.lock().is_empty(), "nobody else came so far");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_that_do_not_authenticate_and_such_that_do_part() {
    let secured = conf(SASL, "app", "secret");
    let (server, handler) = serve(TestHandler::default(), &secured);
    let plain = connect(&server).await;
    let refused = plain.ask(Bytes::from_static(b"x"), TIMEOUT).await;
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("Expected SaslMessage"), "{text}");
    plain.closed().await;
    // Nothing but requests is read, however it begins.
    let mut raw = Raw::connect(&server);
    raw.send(&Frame::ChunkFetchRequest {
        stream_id: 1,
        chunk_index: 0,
    });
    assert!(raw.is_refused());
    let mut raw = Raw::connect(&server);
    raw.socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(raw.is_refused());
    assert_eq!(handler.chunks_opened.load(Ordering::SeqCst), 0);
    assert!(handler.closed.lock().is_empty());

    let (server, _handler) = serve(TestHandler::default(), &TransportConf::default());
    let error = connect_as(&server, &secured).await.unwrap_err().to_string();
    assert!(error.contains("spark.authenticate"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_with_different_ciphers_are_told_which_settings_to_look_at() {
    for (ours, theirs) in [
        (EngineVersion::V1, EngineVersion::V2),
        (EngineVersion::V2, EngineVersion::V1),
    ] {
        for (one, other) in [(Cipher::Ctr, Cipher::Ctr), (Cipher::Gcm, Cipher::Ctr)] {
            let conf_of = |version, cipher| conf(crypto(version, cipher), "app", "secret");
            let (server, handler) = serve(TestHandler::default(), &conf_of(theirs, one));
            let client = connect_as(&server, &conf_of(ours, other)).await.unwrap();
            let asked = client.ask(Bytes::from_static(b"x"), TIMEOUT).await;
            let text = asked.unwrap_err().to_string();
            assert!(text.contains("spark.network.crypto.cipher"), "{text}");
            let seen = handler.wait_closed().await.unwrap();
            assert!(
                seen.contains("spark.network.crypto.authEngineVersion"),
                "{seen}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_say_nothing_are_not_kept() {
    let mut quick = conf(SASL, "app", "secret");
    let security = ConnectionSecurity {
        protocol: SASL,
        timeout: Duration::from_millis(200),
    };
    let secret = Secret::new("secret".to_owned());
    let authentication = Authentication::new(security, secret).of_application("app");
    quick.protection = authentication.into();
    let (server, _handler) = serve(TestHandler::default(), &quick);
    let mut silent = Raw::connect(&server);
    assert!(silent.is_refused());
    // Many of them keep nobody out.
    let conf = conf(SASL, "app", "secret");
    let (server, _handler) = serve(TestHandler::default(), &conf);
    let mut silent: Vec<_> = (0..1100).map(|_| Raw::connect(&server)).collect();
    let client = connect_as(&server, &conf).await.unwrap();
    assert!(client.ask(Bytes::from_static(b"x"), TIMEOUT).await.is_ok());
    assert!(matches!(silent[0].socket.read(&mut [0; 1]), Ok(0) | Err(_)));

    // A server that says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let error = Client::connect("127.0.0.1", port, &quick, Arc::new(NoRequests)).await;
    let text = error.unwrap_err().to_string();
    assert!(text.contains("spark.network.auth.rpcTimeout"), "{text}");
}
