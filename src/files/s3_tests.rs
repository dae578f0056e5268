use super::*;

const REGION: (&str, &str) = ("fs.s3a.endpoint.region", "eu-west-1");

fn with<const N: usize>(settings: [(&str, &str); N]) -> Result<S3Settings, String> {
    in_environment(settings, [])
}

fn in_environment<const N: usize, const M: usize>(
    settings: [(&str, &str); N],
    environment: [(&str, &str); M],
) -> Result<S3Settings, String> {
    let path = FilePath::parse("s3a://data/x");
    let conf = HadoopConf::from(settings);
    S3Settings::translate(&path, &conf, &environment.into()).map_err(|error| error.reason())
}

fn keys(access_key: &str, secret_key: &str, token: Option<&str>) -> Credentials {
    Credentials::Keys {
        access_key: access_key.into(),
        secret_key: Secret(secret_key.into()),
        session_token: token.map(|token| Secret(token.into())),
    }
}

#[test]
fn a_bucket_has_settings_of_its_own() {
    let found = with([
        REGION,
        ("fs.s3a.access.key", "all"),
        ("fs.s3a.secret.key", "secret"),
        ("fs.s3a.bucket.data.access.key", "one"),
        ("fs.s3a.bucket.data.secret.key", " ${other} "),
        ("other", "hidden"),
        ("fs.s3a.bucket.other.access.key", "two"),
    ])
    .unwrap();
    assert_eq!(found.credentials, keys("one", "hidden", None));
    let server = Server::in_region("https", "eu-west-1");
    assert_eq!(found.server, server);
    assert!(!found.path_style && !found.requester_pays);
    assert!(!format!("{found:?}").contains("hidden"));
    found.store_at(&server).unwrap();
}

#[test]
fn endpoints_and_regions() {
    let server = |settings: [(&str, &str); 3]| {
        with([
            settings[0],
            settings[1],
            settings[2],
            (
                "fs.s3a.aws.credentials.provider",
                "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
            ),
        ])
        .map(|found| match found.server {
            Server::Known {
                scheme,
                host,
                region,
            } => (format!("{scheme}://{host}"), region, found.path_style),
            Server::OfAmazon { scheme } => (scheme, String::new(), found.path_style),
        })
    };
    let expect = |endpoint: &str, region: &str, path| Ok((endpoint.into(), region.into(), path));
    let (endpoint, none) = ("fs.s3a.endpoint", ("x", "y"));
    assert_eq!(
        server([(endpoint, "127.0.0.1:9000"), none, none]),
        expect("https://127.0.0.1:9000", "us-east-1", true)
    );
    assert_eq!(
        server([
            (endpoint, "minio:9000/"),
            ("fs.s3a.connection.ssl.enabled", "false"),
            ("fs.s3a.path.style.access", "true")
        ]),
        expect("http://minio:9000", "us-east-1", true)
    );
    assert_eq!(
        server([(endpoint, "http://s3-ap-south-1.amazonaws.com"), none, none]),
        expect("http://s3-ap-south-1.amazonaws.com", "ap-south-1", false)
    );
    assert_eq!(
        server([
            (endpoint, CENTRAL),
            ("fs.s3a.endpoint.region", "cn-north-1"),
            none
        ]),
        expect(
            "https://s3.cn-north-1.amazonaws.com.cn",
            "cn-north-1",
            false
        )
    );
    assert_eq!(
        server([(endpoint, CENTRAL), none, none]),
        expect("https", "", false)
    );
    assert_eq!(server([none, none, none]), expect("https", "", false));
    let vpc = "https://bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com";
    let not_set = server([(endpoint, vpc), none, none]);
    assert_eq!(not_set.unwrap_err(), "fs.s3a.endpoint.region is not set");
    let own = server([none, none, ("fs.s3a.endpoint.region", "")]);
    assert_eq!(
        own.unwrap_err(),
        "fs.s3a.endpoint.region of Amazon's own settings"
    );
}

#[test]
fn the_first_provider_that_has_something_counts() {
    let given = [
        REGION,
        ("fs.s3a.access.key", "a"),
        ("fs.s3a.secret.key", "s"),
        ("fs.s3a.session.token", "t"),
    ];
    let found = with(given).unwrap();
    assert_eq!(found.credentials, keys("a", "s", Some("t")));
    found.store_at(&found.server).unwrap();
    let environment = [
        ("AWS_ACCESS_KEY_ID", "e"),
        ("AWS_SECRET_ACCESS_KEY", "es"),
        ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"),
        ("AWS_ROLE_ARN", "arn"),
    ];
    let list = |classes: &str| {
        let list = ("fs.s3a.aws.credentials.provider", classes);
        let found = in_environment([REGION, list], environment)?;
        found
            .store_at(&found.server)
            .map_err(|error| error.reason())?;
        Ok::<_, String>(found.credentials)
    };
    assert_eq!(list(DEFAULT_PROVIDERS), Ok(keys("e", "es", None)));
    assert_eq!(
        list("\n  org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider,\n"),
        Ok(Credentials::Container("/c".into()))
    );
    assert_eq!(
        list(
            "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider,com.amazonaws.auth.WebIdentityTokenCredentialsProvider"
        ),
        Ok(Credentials::WebIdentity {
            token_file: "/t".into(),
            role: "arn".into(),
            session: None
        })
    );
    assert_eq!(
        with([REGION]).map(|found| found.credentials),
        Ok(Credentials::Instance)
    );
    let of_instance = with([REGION]).unwrap();
    of_instance.store_at(&of_instance.server).unwrap();
    let unknown = list("com.example.Vault");
    assert_eq!(
        unknown.unwrap_err(),
        "fs.s3a.aws.credentials.provider com.example.Vault"
    );
}

#[test]
fn what_is_for_the_jvm_is_named() {
    for (key, value, reason) in [
        ("fs.s3a.impl", "a.B", "fs.s3a.impl is a.B"),
        (
            "fs.s3a.server-side-encryption-algorithm",
            "SSE-C",
            "fs.s3a.server-side-encryption-algorithm is SSE-C",
        ),
        (
            "fs.s3a.bucket.data.encryption.algorithm",
            "CSE-KMS",
            "fs.s3a.encryption.algorithm is CSE-KMS",
        ),
        (
            "fs.s3a.delegation.token.binding",
            "a.B",
            "fs.s3a.delegation.token.binding is set",
        ),
        (
            "fs.s3a.metadatastore.impl",
            "a.B",
            "fs.s3a.metadatastore.impl is a.B",
        ),
        (
            "hadoop.security.credential.provider.path",
            "jceks:x",
            "hadoop.security.credential.provider.path is set",
        ),
        ("fs.s3a.proxy.host", "p", "fs.s3a.proxy.host is set"),
    ] {
        assert_eq!(with([REGION, (key, value)]).unwrap_err(), reason, "{key}");
    }
    with([REGION, ("fs.s3a.encryption.algorithm", "SSE-KMS")]).unwrap();
    let path = FilePath::parse("s3://data/x");
    let none = Environment::default();
    let of = |conf: HadoopConf| S3Settings::translate(&path, &conf, &none);
    let refused = of([REGION].into()).unwrap_err();
    assert_eq!(refused.reason(), "files of s3:");
    let class = ("fs.s3.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem");
    of([REGION, class].into()).unwrap();
}

#[tokio::test]
async fn a_bucket_says_where_it_is() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/data", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        for header in ["x-amz-bucket-region: eu-north-1\r\n", ""] {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = socket.read(&mut request).unwrap();
            assert!(request[..length].starts_with(b"HEAD /data "));
            let answer = format!("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n{header}\r\n");
            socket.write_all(answer.as_bytes()).unwrap();
        }
    });
    assert_eq!(region_at(&url).await.as_deref(), Ok("eu-north-1"));
    assert!(region_at(&url).await.is_err());
    server.join().unwrap();
}
