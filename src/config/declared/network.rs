//! Properties of connections and RPC.

use super::super::units::{SizeUnit, TimeUnit};
use super::DefaultValue::{From, Is, Unset};
use super::{AES_CTR, Effect, Family, Property, Size, Switch, Text, Time, Whole, declarations};

/// The other cipher of encrypted connections.
pub const AES_GCM: &str = "AES/GCM/NoPadding";

/// The modules that have connections: control messages, downloads, blocks.
const MODULES: &[&str] = &["rpc", "files", "shuffle"];
const INHERITED: &str = "that of `rpc` for `files`, else the system's";
/// Numbers that are taken as they are; what is not positive is as if it were not set.
const ANY_LONG: Whole = Whole {
    least: i64::MIN as i128,
    most: i64::MAX as i128,
};

declarations! { Network:
    /// How long a connection may be silent while something is awaited, unless another setting says so.
    NETWORK_TIMEOUT: Property<Time> =
        Property::new("spark.network.timeout", Time(TimeUnit::Seconds), Is("120s"));

    /// How long an ask waits for its answer.
    ASK_TIMEOUT: Property<Time> = Property::new(
        "spark.rpc.askTimeout",
        Time(TimeUnit::Seconds),
        From("`spark.network.timeout`"),
    );

    /// How long the look-up of an endpoint may take.
    LOOKUP_TIMEOUT: Property<Time> = Property::new(
        "spark.rpc.lookupTimeout",
        Time(TimeUnit::Seconds),
        From("`spark.network.timeout`"),
    )
    .effect(Effect::Checked("the driver's endpoints are not looked up"));

    /// The largest control message, in MiB.
    MESSAGE_MAX_SIZE: Property<Whole> =
        Property::new("spark.rpc.message.maxSize", Whole { least: 0, most: 2047 }, Is("128"));

    /// Blocks of more bytes are sent and fetched as streams, to a file.
    MAX_REMOTE_BLOCK_IN_MEMORY: Property<Size> = Property::new(
        "spark.network.maxRemoteBlockSizeFetchToMem",
        Size(SizeUnit::Bytes),
        Is("200m"),
    );

    /// The first port that the server of blocks tries; 0 lets the system choose, and below 1024 is refused.
    BLOCK_MANAGER_PORT: Property<Whole> =
        Property::new("spark.blockManager.port", Whole { least: 0, most: u16::MAX as i128 }, Is("0"));

    /// How many further ports are tried.
    PORT_MAX_RETRIES: Property<Whole> = Property::new(
        "spark.port.maxRetries",
        Whole { least: 0, most: u16::MAX as i128 },
        From("`16`; `100` with `spark.testing`"),
    );

    /// How long a connection may be silent while an answer is awaited; 0 is for ever.
    IO_CONNECTION_TIMEOUT: Family<Time> = Family::new(
        "spark.",
        ".io.connectionTimeout",
        MODULES,
        Time(TimeUnit::Seconds),
        From("that of `rpc` for `files`, else `spark.network.timeout`"),
    );

    /// How long a connection may take to be made; 0 is as long as the system tries.
    IO_CONNECTION_CREATION_TIMEOUT: Family<Time> = Family::new(
        "spark.",
        ".io.connectionCreationTimeout",
        MODULES,
        Time(TimeUnit::Seconds),
        From("that of `rpc` for `files`, else `spark.*.io.connectionTimeout`"),
    );

    /// The system's buffer for bytes to be sent, in bytes.
    IO_SEND_BUFFER: Family<Whole> =
        Family::new("spark.", ".io.sendBuffer", MODULES, ANY_LONG, From(INHERITED));

    /// The system's buffer for received bytes, in bytes.
    IO_RECEIVE_BUFFER: Family<Whole> =
        Family::new("spark.", ".io.receiveBuffer", MODULES, ANY_LONG, From(INHERITED));

    /// Connections that may wait to be accepted.
    IO_BACK_LOG: Family<Whole> = Family::new(
        "spark.",
        ".io.backLog",
        MODULES,
        ANY_LONG,
        From("that of `rpc` for `files`, else `4096`"),
    );

    /// How often a failed fetch of blocks is tried again.
    SHUFFLE_IO_MAX_RETRIES: Property<Whole> = Property::new(
        "spark.shuffle.io.maxRetries",
        Whole { least: 0, most: u32::MAX as i128 },
        Is("3"),
    );

    /// Pause before a failed fetch of blocks is tried again.
    SHUFFLE_IO_RETRY_WAIT: Property<Time> =
        Property::new("spark.shuffle.io.retryWait", Time(TimeUnit::Seconds), Is("5s"));

    /// Connections to each other executor.
    SHUFFLE_IO_CONNECTIONS_PER_PEER: Property<Whole> = Property::new(
        "spark.shuffle.io.numConnectionsPerPeer",
        Whole { least: 1, most: 64 },
        Is("1"),
    );

    /// Whether connections are authenticated with a secret that all processes of the application share.
    AUTHENTICATE: Property<Switch> = Property::new("spark.authenticate", Switch, Is("false"));

    /// The secret, where neither YARN's credentials nor the environment (`_SPARK_AUTH_SECRET`) have one.
    AUTHENTICATE_SECRET: Property<Text> =
        Property::new("spark.authenticate.secret", Text, Unset);

    /// A file with the bytes of the secret of executors (Kubernetes).
    AUTHENTICATE_EXECUTOR_FILE: Property<Text> = Property::new(
        "spark.authenticate.secret.executor.file",
        Text,
        From("`spark.authenticate.secret.file`"),
    );

    /// A file with the bytes of the secret (Kubernetes).
    AUTHENTICATE_FILE: Property<Text> =
        Property::new("spark.authenticate.secret.file", Text, Unset);

    /// Whether connections are encrypted by SASL, with DES.
    SASL_ENCRYPTION_ENABLED: Property<Switch> =
        Property::new("spark.authenticate.enableSaslEncryption", Switch, Is("false"))
            .effect(Effect::Refused);

    /// Whether peers that speak SASL have to encrypt.
    SASL_ALWAYS_ENCRYPT: Property<Switch> =
        Property::new("spark.network.sasl.serverAlwaysEncrypt", Switch, Is("false")).effect(
            Effect::NativeBut("with `spark.authenticate`, `true` stops the executor from starting"),
        );

    /// How long each answer of a peer that authenticates itself may take.
    AUTH_RPC_TIMEOUT: Property<Time> = Property::new(
        "spark.network.auth.rpcTimeout",
        Time(TimeUnit::Seconds),
        Is("30s"),
    );

    /// Whether connections are encrypted with AES.
    NETWORK_CRYPTO_ENABLED: Property<Switch> =
        Property::new("spark.network.crypto.enabled", Switch, Is("false"));

    /// How the key of a connection is made.
    CRYPTO_ENGINE_VERSION: Property<Whole> = Property::new(
        "spark.network.crypto.authEngineVersion",
        Whole { least: 1, most: 2 },
        Is("1"),
    );

    /// The cipher of encrypted connections: `AES/CTR/NoPadding` or `AES/GCM/NoPadding`.
    CRYPTO_CIPHER: Property<Text> =
        Property::new("spark.network.crypto.cipher", Text, Is(AES_CTR)).effect(Effect::NativeBut(
            "another one than these two stops the executor from starting",
        ));

    /// Whether SASL is spoken, in clear, with peers that do not speak the protocol of encrypted connections.
    CRYPTO_SASL_FALLBACK: Property<Switch> =
        Property::new("spark.network.crypto.saslFallback", Switch, Is("true"));

    /// Whether connections are inside TLS.
    SSL_RPC_ENABLED: Property<Switch> =
        Property::new("spark.ssl.rpc.enabled", Switch, Is("false"))
            .since((4, 0))
            .effect(Effect::NativeBut(
                "with `spark.network.crypto.enabled`, `true` stops the executor from starting",
            ));

    /// Whether `spark.ssl.*` count where `spark.ssl.rpc.*` are not set; it does not turn TLS on.
    SSL_ENABLED: Property<Switch> = Property::new("spark.ssl.enabled", Switch, Is("false"));

    /// The file with the key and the certificates of executors, in the format JKS or PKCS12.
    SSL_RPC_KEY_STORE: Property<Text> =
        Property::new("spark.ssl.rpc.keyStore", Text, From("`spark.ssl.keyStore`")).since((4, 0));

    /// Its password, if the environment (`_SPARK_SSL_RPC_KEY_STORE_PASSWORD`) has none.
    SSL_RPC_KEY_STORE_PASSWORD: Property<Text> = Property::new(
        "spark.ssl.rpc.keyStorePassword",
        Text,
        From("`spark.ssl.keyStorePassword`"),
    )
    .since((4, 0));

    /// The password of the key in it, if that is another one and the environment (`_SPARK_SSL_RPC_KEY_PASSWORD`) has
    /// none.
    SSL_RPC_KEY_PASSWORD: Property<Text> =
        Property::new("spark.ssl.rpc.keyPassword", Text, From("`spark.ssl.keyPassword`"))
            .since((4, 0))
            .effect(Effect::NativeBut("of a store in the format PKCS12 it must be that of the store"));

    /// The file with the certificates that are trusted; every certificate is if there is none.
    SSL_RPC_TRUST_STORE: Property<Text> =
        Property::new("spark.ssl.rpc.trustStore", Text, From("`spark.ssl.trustStore`")).since((4, 0));

    /// Its password, if the environment (`_SPARK_SSL_RPC_TRUST_STORE_PASSWORD`) has none.
    SSL_RPC_TRUST_STORE_PASSWORD: Property<Text> = Property::new(
        "spark.ssl.rpc.trustStorePassword",
        Text,
        From("`spark.ssl.trustStorePassword`"),
    )
    .since((4, 0));

    /// Whether the trust store is read again when it has changed.
    SSL_RPC_TRUST_STORE_RELOADING: Property<Switch> = Property::new(
        "spark.ssl.rpc.trustStoreReloadingEnabled",
        Switch,
        Is("false"),
    )
    .since((4, 0));

    /// How often it is looked at then, in milliseconds.
    SSL_RPC_TRUST_STORE_INTERVAL: Property<Whole> = Property::new(
        "spark.ssl.rpc.trustStoreReloadIntervalMs",
        Whole { least: 0, most: i32::MAX as i128 },
        Is("10000"),
    )
    .since((4, 0));

    /// Whether there have to be files in PEM and no key store.
    SSL_RPC_OPEN_SSL: Property<Switch> =
        Property::new("spark.ssl.rpc.openSslEnabled", Switch, Is("false"))
            .since((4, 0))
            .effect(Effect::NativeBut("there is no OpenSSL in executors"));

    /// The file with the key of executors, in PEM.
    SSL_RPC_PRIVATE_KEY: Property<Text> =
        Property::new("spark.ssl.rpc.privateKey", Text, From("`spark.ssl.privateKey`")).since((4, 0));

    /// Its password, if the environment (`_SPARK_SSL_RPC_PRIVATE_KEY_PASSWORD`) has none.
    SSL_RPC_PRIVATE_KEY_PASSWORD: Property<Text> = Property::new(
        "spark.ssl.rpc.privateKeyPassword",
        Text,
        From("`spark.ssl.privateKeyPassword`"),
    )
    .since((4, 0));

    /// The file with the certificates of executors, in PEM. With a private key they are those that are trusted, too.
    SSL_RPC_CERT_CHAIN: Property<Text> =
        Property::new("spark.ssl.rpc.certChain", Text, From("`spark.ssl.certChain`")).since((4, 0));

    /// The version of TLS: `TLSv1.3`, `TLSv1.2`, or `TLS` for either.
    SSL_RPC_PROTOCOL: Property<Text> = Property::new(
        "spark.ssl.rpc.protocol",
        Text,
        From("`spark.ssl.protocol`, else `TLSv1.3`"),
    )
    .since((4, 0))
    .effect(Effect::NativeBut("another one than these stops the executor from starting"));

    /// The ciphers, under Java's names.
    SSL_RPC_ALGORITHMS: Property<Text> = Property::new(
        "spark.ssl.rpc.enabledAlgorithms",
        Text,
        From("`spark.ssl.enabledAlgorithms`, else all"),
    )
    .since((4, 0))
    .effect(Effect::NativeBut(
        "AES-GCM and ChaCha20-Poly1305; a list without any of these stops the executor from starting",
    ));
}
