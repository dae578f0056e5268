use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

/// Arguments of each function. Of 8 million of each, with Java 17, none differed.
const COUNT: usize = 200_000;

/// As `Reals.java` has them.
const ODD: [f64; 59] = [
    0.0,
    -0.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    10.0,
    1e308,
    -1e308,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    709.782712893384,
    709.7827128933841,
    -745.1332191019411,
    -745.1332191019412,
    710.4758600739439,
    710.475860073944,
    22.0,
    -22.0,
    0.41421356,
    -0.2928932,
    1024.0,
    -1075.0,
    9007199254740992.0,
    9007199254740993.0,
    4294967296.0,
    2147483648.0,
    1e300,
    1e-300,
    1e-310,
    3e-320,
    0.975,
    0.4375,
    0.6875,
    1.1875,
    2.4375,
    0.34657359,
    1.0397,
    38.8,
    56.0,
    1.5,
    -1.5,
    5e-9,
    1e17,
    1e-17,
    1e22,
    100.0,
    -100.0,
    0.1,
    0.3333333333333333,
];

struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn draw(&mut self) -> f64 {
        let (kind, bits) = (self.next(), self.next());
        let unit = (bits >> 11) as f64 / 9_007_199_254_740_992.0;
        let with = |exponent: u64| f64::from_bits(bits & 0x800f_ffff_ffff_ffff | exponent << 52);
        match kind & 7 {
            0 => f64::from_bits(bits),
            1 => unit * 2.0 - 1.0,
            2 => unit * 1500.0 - 750.0,
            3 | 4 => with(983 + (kind >> 8) % 81),
            5 => ((bits.cast_signed() >> 40) % 2000) as f64,
            6 => 1.0 + with(968 + (kind >> 8) % 56),
            _ => ODD[((bits >> 1) % ODD.len() as u64) as usize],
        }
    }
}

/// The same number, or NaN both: which NaN it is Java leaves open.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[test]
fn results_are_javas() {
    type One = (&'static str, fn(f64) -> f64);
    type Two = (&'static str, fn(f64, f64) -> f64);
    let of_one: [One; 14] = [
        ("exp", exp),
        ("expm1", expm1),
        ("log", log),
        ("log1p", log1p),
        ("log10", log10),
        ("acos", acos),
        ("asin", asin),
        ("atan", atan),
        ("cbrt", cbrt),
        ("cosh", cosh),
        ("sinh", sinh),
        ("tanh", tanh),
        ("toDegrees", |x| x * DEGREES),
        ("toRadians", |x| x * RADIANS),
    ];
    let of_two: [Two; 3] = [("pow", pow), ("atan2", atan2), ("hypot", hypot)];
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/Reals.java");
    let mut java = Command::new(testkit::jdk().join("bin/java"))
        .args(["-Xmx256m", "-XX:+UseSerialGC"])
        .arg(program)
        .arg(COUNT.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = BufReader::with_capacity(1 << 20, java.stdout.take().unwrap());
    let mut answer = || {
        let mut bytes = [0; 8];
        answers.read_exact(&mut bytes).unwrap();
        f64::from_bits(u64::from_be_bytes(bytes))
    };
    let mut draws = Draws(0);
    for (name, function) in of_one {
        for _ in 0..COUNT {
            let (x, java) = (draws.draw(), answer());
            let own = function(x);
            assert!(same(own, java), "{name}({x:?}): {own:?}, not {java:?}");
        }
    }
    for (name, function) in of_two {
        for _ in 0..COUNT {
            let (x, y, java) = (draws.draw(), draws.draw(), answer());
            let own = function(x, y);
            assert!(
                same(own, java),
                "{name}({x:?}, {y:?}): {own:?}, not {java:?}"
            );
        }
    }
    assert!(java.wait().unwrap().success());
}
