use super::rows::{Count, Sequence, View};
use super::*;
use crate::blocks::codec::Codec;
use crate::config::SparkProperties;

fn rules(nothing: Option<&'static str>) -> Arc<Rules> {
    Arc::new(Rules {
        view: View {
            columns: None,
            count: Count::All,
            sequence: Sequence::Nothing,
        },
        partitions: true,
        nothing,
    })
}

/// A map output as `UnsafeRowSerializer` writes it, by reduce partition.
fn stream(rows: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows {
        bytes.extend_from_slice(&(row.len() as i32).to_be_bytes());
        bytes.extend_from_slice(row);
    }
    bytes
}

fn verdict(native: &[&[&[u8]]], jvm: &[&[&[u8]]], nothing: Option<&'static str>) -> Verification {
    let rules = rules(nothing);
    let digests = native.iter().map(|rows| {
        let mut digest = Digest::default();
        digest.read(&rules.view, &stream(rows)[..]).unwrap();
        digest
    });
    let expected = Expected {
        output: Output::MapOutput {
            shuffle_id: 3,
            map_id: 4,
            num_partitions: 2,
            digests: digests.collect(),
        },
        rules,
    };
    let codec = Codec::from_conf(&SparkProperties::default()).unwrap();
    let verdict = expected.compare(&[], &codec, |shuffle_id, map_id, partition| {
        assert_eq!((shuffle_id, map_id), (3, 4));
        match jvm.get(partition as usize) {
            Some(rows) => Ok(io::Cursor::new(stream(rows))),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    });
    verdict.unwrap_or_else(Verification::Different)
}

#[test]
fn another_map_output_is_a_difference() {
    let native: [&[&[u8]]; 2] = [&[b"a", b"b"], &[b"c"]];
    assert_eq!(
        verdict(&native, &[&[b"b", b"a"], &[b"c"]], None),
        Verification::Equal
    );
    let different = |jvm: &[&[&[u8]]]| match verdict(&native, jvm, None) {
        Verification::Different(what) => what,
        other => panic!("{other:?}"),
    };
    // A row that is missing, one that is another, and one that is elsewhere.
    assert_eq!(
        different(&[&[b"a", b"b"], &[]]),
        "reduce partition 1 of shuffle 3: 1 rows natively, 0 by the JVM"
    );
    assert_eq!(
        different(&[&[b"a", b"x"], &[b"c"]]),
        "reduce partition 0 of shuffle 3: other rows (2 bytes natively, 2 by the JVM)"
    );
    assert_eq!(
        different(&[&[b"a", b"c"], &[b"b"]]),
        "reduce partition 0 of shuffle 3: other rows (2 bytes natively, 2 by the JVM)"
    );
    assert!(different(&[&[b"a", b"b"]]).starts_with("the JVM's map output: "));
    assert_eq!(
        verdict(&native, &[&[b"x"], &[]], Some("why")),
        Verification::Unverified("why".to_owned())
    );
}

#[test]
fn results_that_cannot_be_read_are_different_or_unverified() {
    let expected = || Expected {
        rules: rules(None),
        output: Output::Result(vec![1, 2, 3]),
    };
    let codec = Codec::from_conf(&SparkProperties::default()).unwrap();
    let none = |_, _, _| Ok(io::empty());
    let indirect = expected().compare(b"indirect", &codec, none).unwrap();
    assert!(matches!(indirect, Verification::Unverified(_)));
}

#[test]
fn a_failure_of_the_jvm_alone_is_a_difference() {
    let verifier = Attempts::default();
    let expect = || {
        let expected = Expected {
            rules: rules(None),
            output: Output::Result(Vec::new()),
        };
        assert_eq!(
            verifier.expect(7, expected),
            TaskError::BailOut("spark.firesteel.verify is both".to_owned())
        );
    };
    expect();
    assert_eq!(verifier.failed(8, b""), None);
    // Killed, or a block could not be fetched: nothing is known, nor remembered.
    assert_eq!(verifier.failed(7, b""), None);
    expect();
    let class = b"org.apache.spark.ExceptionFailure";
    let mut failure = vec![0xac, 0xed, 0, 5, b's', b'r', 0, class.len() as u8];
    failure.extend_from_slice(class);
    failure.extend_from_slice(&[0; 12]);
    assert!(matches!(
        verifier.failed(7, &failure),
        Some(Verification::Different(_))
    ));
    assert!(verifier.0.lock().is_empty());
}
