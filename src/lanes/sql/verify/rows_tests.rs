use super::*;

const FIXED: Column = Column {
    slot: Slot::Fixed,
    look: Determined::Exact,
};

fn view(columns: &[Column], count: Count, sequence: Sequence) -> View {
    View {
        columns: Some(columns.to_vec()),
        count,
        sequence,
    }
}

/// For rows of which nothing is known.
fn exact() -> View {
    View {
        columns: None,
        ..view(&[], Count::All, Sequence::Nothing)
    }
}

/// Rows of numbers; `None` is null.
fn row(values: &[Option<u64>]) -> Vec<u8> {
    let mut nulls = 0_u64;
    let mut row = vec![0; 8];
    for (index, value) in values.iter().enumerate() {
        nulls |= u64::from(value.is_none()) << index;
        row.extend_from_slice(&value.unwrap_or(0).to_le_bytes());
    }
    row[..8].copy_from_slice(&nulls.to_le_bytes());
    row
}

fn numbers(values: &[u64]) -> Vec<u8> {
    row(&values.iter().copied().map(Some).collect::<Vec<_>>())
}

fn digest(view: &View, rows: &[Vec<u8>]) -> Digest {
    let mut digest = Digest::default();
    rows.iter().for_each(|row| digest.add(view, row).unwrap());
    digest
}

fn difference(view: &View, native: &[Vec<u8>], jvm: &[Vec<u8>]) -> Option<String> {
    digest(view, native).difference(&digest(view, jvm), view)
}

#[test]
fn sets_of_rows_do_not_know_their_order() {
    let read = |rows: &[&[u8]]| {
        let mut bytes = Vec::new();
        for row in rows {
            bytes.extend_from_slice(&(row.len() as i32).to_be_bytes());
            bytes.extend_from_slice(row);
        }
        let mut digest = Digest::default();
        digest.read(&exact(), &bytes[..]).unwrap();
        digest
    };
    assert_eq!(read(&[b"ab", b"c"]), read(&[b"c", b"ab"]));
    for other in [&[&b"ab"[..]][..], &[b"a", b"bc"], &[b"ab", b"d"]] {
        let (one, other) = (read(&[b"ab", b"c"]), read(other));
        assert!(one.difference(&other, &exact()).is_some(), "{other:?}");
    }
    let twice = read(&[b"a", b"a"]).difference(&read(&[b"b", b"b"]), &exact());
    assert_eq!(
        twice.unwrap(),
        "other rows (2 bytes natively, 2 by the JVM)"
    );
    let mut digest = Digest::default();
    assert!(digest.read(&exact(), &[0, 0, 0, 9, 1][..]).is_err());
    digest.read(&exact(), &[0xff; 4][..]).unwrap();
    assert_eq!(digest, Digest::default());
}

#[test]
fn order_counts_where_it_is_determined() {
    let rows = view(&[], Count::All, Sequence::Rows);
    let keys = view(&[FIXED, FIXED], Count::All, Sequence::Keys(vec![0]));
    let (a, b, c) = (numbers(&[1, 1]), numbers(&[1, 2]), numbers(&[2, 1]));
    let forward = [a.clone(), b.clone(), c.clone()];
    let ties = [b.clone(), a.clone(), c.clone()];
    let other = [c, a, b];
    assert_eq!(difference(&rows, &forward, &forward), None);
    assert_eq!(
        difference(&rows, &forward, &ties).unwrap(),
        "rows in another order"
    );
    assert_eq!(difference(&keys, &forward, &ties), None);
    assert_eq!(
        difference(&keys, &forward, &other).unwrap(),
        "rows in another order"
    );
}

#[test]
fn keys_have_one_zero_and_one_nan() {
    let float = Column {
        slot: Slot::Double,
        look: Determined::Exact,
    };
    let view = view(&[float], Count::All, Sequence::Keys(vec![0]));
    let key = |value: Option<f64>| {
        let row = row(&[value.map(f64::to_bits)]);
        view.key(&row, &[0]).unwrap()
    };
    assert_eq!(key(Some(0.0)), key(Some(-0.0)));
    assert_eq!(key(Some(f64::NAN)), key(Some(-f64::NAN)));
    assert_ne!(key(Some(0.0)), key(None));
    assert_ne!(key(Some(0.0)), key(Some(1.0)));
}

#[test]
fn a_limit_may_keep_any_of_the_rows_that_tie_with_the_last() {
    let count = Count::First {
        keys: vec![0],
        limit: 3,
    };
    let view = view(&[FIXED, FIXED], count, Sequence::Keys(vec![0]));
    let rows = |rows: &[[u64; 2]]| rows.iter().map(|of| numbers(of)).collect::<Vec<_>>();
    let native = rows(&[[1, 7], [1, 8], [2, 5]]);
    assert_eq!(
        difference(&view, &native, &rows(&[[1, 8], [1, 7], [2, 6]])),
        None
    );
    for other in [[[1, 7], [1, 9], [2, 5]], [[1, 7], [1, 8], [3, 5]]] {
        assert!(
            difference(&view, &native, &rows(&other)).is_some(),
            "{other:?}"
        );
    }
    // Nothing was left out.
    let few = rows(&[[1, 7], [2, 5]]);
    assert!(difference(&view, &few, &rows(&[[1, 7], [2, 6]])).is_some());
    assert_eq!(difference(&view, &few, &few), None);
}

#[test]
fn sums_differ_in_their_last_digits() {
    let sum = Column {
        slot: Slot::Double,
        look: Determined::Near,
    };
    let view = view(&[FIXED, sum], Count::All, Sequence::Nothing);
    let of = |key, sum: f64| numbers(&[key, sum.to_bits()]);
    let native = [of(1, 0.1 + 0.2), of(1, 7e20), of(2, f64::NAN)];
    let jvm = [of(2, -f64::NAN), of(1, 7.000_000_000_01e20), of(1, 0.3)];
    assert_eq!(difference(&view, &native, &jvm), None);
    let jvm = [of(2, f64::NAN), of(1, 7e20), of(1, 0.300_001)];
    assert_eq!(
        difference(&view, &native, &jvm).unwrap(),
        "a sum is 0.30000000000000004 natively and 0.300001 by the JVM"
    );
    let null = [row(&[Some(1), None]), of(1, 7e20), of(2, f64::NAN)];
    assert!(difference(&view, &native, &null).is_some());
    let infinite = [of(1, 0.3), of(1, f64::INFINITY), of(2, f64::NAN)];
    assert!(difference(&view, &native, &infinite).is_some());
}

#[test]
fn variances_of_infinities_are_infinite_or_no_numbers() {
    let of = |number: f64| [numbers(&[1, number.to_bits()])];
    let column = |look| Column {
        slot: Slot::Double,
        look,
    };
    let moment = view(
        &[FIXED, column(Determined::Moment)],
        Count::All,
        Sequence::Nothing,
    );
    let (nan, infinite) = (of(f64::NAN), of(f64::NEG_INFINITY));
    assert_eq!(difference(&moment, &nan, &infinite), None);
    assert!(difference(&moment, &of(1.0), &infinite).is_some());
    assert!(difference(&moment, &of(1.0), &of(1.1)).is_some());
    // Sums are one or the other.
    let sum = view(
        &[FIXED, column(Determined::Near)],
        Count::All,
        Sequence::Nothing,
    );
    assert!(difference(&sum, &nan, &infinite).is_some());
}

#[test]
fn columns_lie_where_their_slots_say() {
    let text = Column {
        slot: Slot::Variable,
        look: Determined::Exact,
    };
    let free = Column {
        slot: Slot::Fixed,
        look: Determined::Free,
    };
    let view = view(&[text, free], Count::All, Sequence::Nothing);
    let row = |text: &[u8], number: u64| {
        let mut row = numbers(&[(24 << 32) | text.len() as u64, number]);
        row.extend_from_slice(text);
        row
    };
    assert_eq!(difference(&view, &[row(b"ab", 1)], &[row(b"ab", 2)]), None);
    assert!(difference(&view, &[row(b"ab", 1)], &[row(b"ac", 1)]).is_some());
    let mut digest = Digest::default();
    assert_eq!(digest.add(&view, &row(b"ab", 1)[..25]), Err(Malformed));
    assert_eq!(digest.add(&view, &[0; 8]), Err(Malformed));
    assert_eq!(digest.add(&view, &[]), Err(Malformed));
}

#[test]
fn only_the_number_counts_behind_a_limit() {
    let view = view(&[FIXED], Count::Number, Sequence::Nothing);
    assert_eq!(difference(&view, &[numbers(&[1])], &[numbers(&[2])]), None);
    assert_eq!(
        difference(&view, &[], &[numbers(&[2])]).unwrap(),
        "0 rows natively, 1 by the JVM"
    );
}
