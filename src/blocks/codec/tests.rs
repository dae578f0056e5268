use super::*;
use proptest::prelude::*;
use std::io::BufRead;

const TEXT: &[u8] = b"hello hello hello hello firesteel ";

fn codec(name: &str, settings: &[(&str, &str)]) -> Codec {
    let mut properties = SparkProperties::default();
    for (key, value) in settings {
        properties.set(*key, *value);
    }
    Codec::by_name(name, &declared::CODEC, &properties).unwrap()
}

fn all() -> Vec<Codec> {
    let small = [
        ("spark.io.compression.lz4.blockSize", "100"),
        ("spark.io.compression.snappy.blockSize", "1k"),
        ("spark.io.compression.zstd.bufferSize", "1k"),
        ("spark.io.compression.zstd.level", "-3"),
        ("spark.io.compression.zstd.strategy", "2"),
    ];
    let names = ["lz4", "lzf", "snappy", "zstd"];
    let all = names.map(|name| [codec(name, &[]), codec(name, &small)]);
    all.into_iter().flatten().collect()
}

/// Data as they come: runs, text, noise.
fn sample(len: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut data = Vec::with_capacity(len);
    while data.len() < len {
        match random.u8(..3) {
            0 => data.extend(std::iter::repeat_n(random.u8(..), random.usize(..500))),
            1 => data.extend_from_slice(TEXT),
            _ => data.extend(std::iter::repeat_with(|| random.u8(..)).take(300)),
        }
    }
    data.truncate(len);
    data
}

/// Streams that Spark 4.3.0 wrote, of [`TEXT`] and of nothing.
#[test]
fn streams_of_a_jvm_are_read() {
    for (name, text, nothing) in [
        (
            "lz4",
            "4c5a34426c6f636b251400000022000000227592066e68656c6c6f200600a066697265737465656c204c5a34426c6f636b15000000000000000000000000",
            "4c5a34426c6f636b15000000000000000000000000",
        ),
        (
            "snappy",
            "82534e4150505900000000010000000100000016221468656c6c6f204606002466697265737465656c20",
            "82534e41505059000000000100000001",
        ),
        (
            "zstd",
            "28b52ffd0048b400008068656c6c6f2066697265737465656c200100f14a11010000",
            "28b52ffd2000010000",
        ),
        (
            "lzf",
            "5a5601001500220568656c6c6f20e009050966697265737465656c20",
            "",
        ),
    ] {
        let codec = codec(name, &[]);
        let (text, nothing) = (testkit::from_hex(text), testkit::from_hex(nothing));
        assert_eq!(codec.decompress(&text, 100).unwrap(), TEXT, "{name}");
        assert!(codec.decompress(&nothing, 0).unwrap().is_empty(), "{name}");
        let several = [&nothing[..], &text, &nothing, &text, &text].concat();
        assert_eq!(codec.decompress(&several, 102).unwrap(), TEXT.repeat(3));
        assert_eq!(
            codec.decompress(&several, 101).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        if name != "zstd" && name != "lzf" {
            assert_eq!(codec.compress(TEXT).unwrap(), text, "{name}");
        }
        if name != "zstd" {
            assert_eq!(codec.compress(b"").unwrap(), nothing, "{name}");
        }
    }
}

#[test]
fn names_are_spark_s() {
    let class = "org.apache.spark.io.ZStdCompressionCodec";
    assert_eq!(codec(class, &[]), codec("ZSTD", &[]));
    assert_eq!(
        Codec::from_conf(&SparkProperties::default())
            .unwrap()
            .name(),
        "lz4"
    );
    let mut properties = SparkProperties::default();
    properties.set(declared::CODEC.key, "com.example.Own");
    let error = Codec::from_conf(&properties).unwrap_err().to_string();
    assert!(error.contains("com.example.Own"), "{error}");
    properties.set(declared::CODEC.key, "lz4");
    properties.set("spark.io.compression.lz4.blockSize", "64m");
    assert!(Codec::from_conf(&properties).is_err());
}

#[test]
fn one_writer_writes_stream_after_stream() {
    for codec in all() {
        let mut writer = codec.writer(Vec::new()).unwrap();
        let mut ends = vec![0];
        let parts = [
            sample(70_000, 1),
            Vec::new(),
            sample(3, 2),
            sample(40_000, 3),
        ];
        for part in &parts {
            for piece in part.chunks(777) {
                writer.write_all(piece).unwrap();
            }
            writer.end_stream().unwrap();
            ends.push(writer.get_ref().len());
        }
        let packed = writer.finish().unwrap();
        assert_eq!(packed.len(), *ends.last().unwrap());
        for (part, range) in parts.iter().zip(ends.windows(2)) {
            let segment = &packed[range[0]..range[1]];
            assert!(&codec.decompress(segment, 1 << 20).unwrap() == part);
        }
        let all = codec.decompress(&packed, 1 << 20).unwrap();
        assert!(all == parts.concat(), "{codec:?}");
    }
}

#[test]
fn lines_are_read_across_blocks() {
    for codec in all() {
        let text: String = (0..5000).map(|line| format!("{line}\n")).collect();
        let packed = codec.compress(text.as_bytes()).unwrap();
        let lines = codec.reader(&packed[..]).unwrap().lines();
        for (number, line) in lines.enumerate() {
            assert_eq!(line.unwrap(), number.to_string());
        }
    }
}

#[test]
fn lies_about_lengths_are_found() {
    let mut frame = codec("lz4", &[]).compress(TEXT).unwrap();
    frame[13..17].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = codec("lz4", &[]).decompress(&frame, 100).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    // A block of one byte that claims to be 32 MiB, which is an allowed size.
    let mut frame = b"LZ4Block\x2f".to_vec();
    frame.extend([1, 1 << 25, 0].into_iter().flat_map(u32::to_le_bytes));
    frame.push(0);
    let error = codec("lz4", &[]).decompress(&frame, 1 << 26).unwrap_err();
    assert!(error.to_string().contains("33554432"), "{error}");
    // A block of five bytes that claims to be 256 MiB.
    let mut frame = codec("snappy", &[]).compress(b"").unwrap();
    frame.extend_from_slice(&[0, 0, 0, 5, 0x80, 0x80, 0x80, 0x80, 1]);
    let error = codec("snappy", &[]).decompress(&frame, 100).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_packed_is_unpacked(len in 0usize..200_000, seed: u64, piece in 1usize..70_000) {
        let data = sample(len, seed);
        for codec in all() {
            let mut writer = codec.writer(Vec::new()).unwrap();
            for piece in data.chunks(piece) {
                writer.write_all(piece).unwrap();
            }
            let packed = writer.finish().unwrap();
            prop_assert!(codec.decompress(&packed, len).unwrap() == data, "{:?}", codec);
        }
    }

    /// Damage is an error or other data, but never a panic, and a stream cut off is never taken for a whole one unless
    /// it ends between blocks.
    #[test]
    fn damage_does_no_harm(seed: u64, at: prop::sample::Index, byte: u8, cut: bool) {
        let data = sample(3000, seed);
        for codec in all() {
            let mut packed = codec.compress(&data).unwrap();
            let at = at.index(packed.len());
            if cut {
                packed.truncate(at);
            } else {
                packed[at] = byte;
            }
            match codec.decompress(&packed, 1 << 20) {
                Ok(unpacked) if cut => prop_assert!(data.starts_with(&unpacked)),
                Ok(_) => {}
                Err(error) if cut => prop_assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof),
                Err(error) => prop_assert!(
                    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
                ),
            }
        }
    }
}
