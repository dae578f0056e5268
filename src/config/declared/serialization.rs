//! Properties of serializers, compression and encryption of files.

use super::super::LaneName::{Python, Sql};
use super::super::units::SizeUnit;
use super::DefaultValue::{Is, Unset};
use super::property::is;
use super::{Effect, KnownValues, Property, Size, Switch, Text, Whole, declarations};

/// The class of Java's serialization.
pub const JAVA_SERIALIZER: &str = "org.apache.spark.serializer.JavaSerializer";
/// The class of Kryo's serialization.
pub const KRYO_SERIALIZER: &str = "org.apache.spark.serializer.KryoSerializer";
/// The only cipher of local files.
pub const AES_CTR: &str = "AES/CTR/NoPadding";
pub(super) const CODECS: &str =
    "another codec than `lz4`, `lzf`, `snappy` and `zstd` stops the executor from starting";

declarations! { Serialization:
    /// The class that writes objects.
    SERIALIZER: Property<Text> = Property::new("spark.serializer", Text, Is(JAVA_SERIALIZER))
        .effect(Effect::KnownValues(&[
            KnownValues {
                lane: Python,
                values: &[JAVA_SERIALIZER, KRYO_SERIALIZER],
                reason: |key, value| format!("a result of {key} {value}"),
            },
            KnownValues { lane: Sql, values: &[JAVA_SERIALIZER, KRYO_SERIALIZER], reason: is },
        ]));

    /// Whether Kryo refuses classes that are not registered.
    KRYO_REGISTRATION_REQUIRED: Property<Switch> =
        Property::new("spark.kryo.registrationRequired", Switch, Is("false")).effect(
            Effect::KnownValues(&[
                KnownValues { lane: Python, values: &["false"], reason: is },
                KnownValues { lane: Sql, values: &["false"], reason: is },
            ]),
        );

    /// Classes that tell Kryo how to write classes, in shuffles of Python records too.
    KRYO_REGISTRATOR: Property<Text> = Property::new("spark.kryo.registrator", Text, Is("")).effect(
        Effect::KnownValues(&[
            KnownValues { lane: Python, values: &[""], reason: is },
            KnownValues { lane: Sql, values: &[""], reason: is },
        ]),
    );

    /// Whether Kryo writes numbers with a fixed width.
    KRYO_UNSAFE: Property<Switch> = Property::new("spark.kryo.unsafe", Switch, Is("true"));

    /// Whether Kryo writes an object that it has written before as a reference.
    KRYO_REFERENCE_TRACKING: Property<Switch> =
        Property::new("spark.kryo.referenceTracking", Switch, Is("true"));

    /// The codec of shuffles, broadcasts, cached partitions and checkpoints.
    CODEC: Property<Text> = Property::new("spark.io.compression.codec", Text, Is("lz4"))
        .effect(Effect::NativeBut(CODECS));

    /// Bytes that lz4 packs at a time.
    LZ4_BLOCK_SIZE: Property<Size> = Property::new(
        "spark.io.compression.lz4.blockSize",
        Size(SizeUnit::Bytes),
        Is("32k"),
    );

    /// Bytes that snappy packs at a time.
    SNAPPY_BLOCK_SIZE: Property<Size> = Property::new(
        "spark.io.compression.snappy.blockSize",
        Size(SizeUnit::Bytes),
        Is("32k"),
    );

    /// The level of zstd.
    ZSTD_LEVEL: Property<Whole> = Property::new(
        "spark.io.compression.zstd.level",
        Whole { least: i32::MIN as i128, most: i32::MAX as i128 },
        Is("1"),
    );

    /// The strategy of zstd, by its number.
    ZSTD_STRATEGY: Property<Whole> = Property::new(
        "spark.io.compression.zstd.strategy",
        Whole { least: 1, most: 9 },
        Unset,
    )
    .since((4, 1));

    /// Bytes that zstd packs at a time.
    ZSTD_BUFFER_SIZE: Property<Size> = Property::new(
        "spark.io.compression.zstd.bufferSize",
        Size(SizeUnit::Bytes),
        Is("32k"),
    );

    /// Whether files on local disks are encrypted.
    IO_ENCRYPTION_ENABLED: Property<Switch> =
        Property::new("spark.io.encryption.enabled", Switch, Is("false"));

    /// The cipher of encrypted files.
    IO_CRYPTO_TRANSFORMATION: Property<Text> =
        Property::new("spark.io.crypto.cipher.transformation", Text, Is(AES_CTR)).effect(
            Effect::NativeBut("with `spark.io.encryption.enabled` another one stops the executor from starting"),
        );
}
