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

    /// Whether connections are encrypted with TLS.
    SSL_RPC_ENABLED: Property<Switch> =
        Property::new("spark.ssl.rpc.enabled", Switch, Is("false"))
            .since((4, 0))
            .effect(Effect::Refused);
}
