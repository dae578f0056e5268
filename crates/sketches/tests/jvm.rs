//! Spark's own aggregates of sketches, of every version, against what is made here: each byte and each estimate.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use sketches::hll::{HllSketch, HllUnion, Source};
use sketches::{CountMin, CountMinPlan};
use testkit::{Distribution, VERSIONS};

fn number<T: FromStr>(word: &str) -> T {
    let number = word.parse();
    number.unwrap_or_else(|_| panic!("no number: {word}"))
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:x}")
}

/// As the program in Java makes texts of numbers.
fn text(value: i32) -> String {
    if value % 13 == 0 {
        return String::new();
    }
    let times = usize::try_from(1 + value.rem_euclid(5)).unwrap();
    let text = format!("ä{value}").repeat(times);
    match value.rem_euclid(2) {
        0 => text,
        _ => text.strip_prefix('ä').unwrap().to_owned(),
    }
}

struct Counts {
    plan: CountMinPlan,
    sketch: CountMin,
    /// Sketches of the same plan.
    before: Vec<Vec<u8>>,
}

/// What the program in Java has, and what it does with it.
#[derive(Default)]
struct Replay {
    sketches: Vec<Option<HllSketch>>,
    unions: Vec<Option<HllUnion>>,
    counts: Option<Counts>,
    /// What comes of the last step.
    last: Vec<u8>,
    steps: usize,
}

impl Replay {
    fn sketch(&self, place: &str) -> HllSketch {
        let sketch = self.sketches[number::<usize>(place)].clone();
        let bytes = sketch.unwrap().to_bytes();
        HllSketch::read(&bytes).unwrap()
    }

    fn union(&self, place: &str) -> Option<HllUnion> {
        self.unions[number::<usize>(place)].clone()
    }

    fn keep(&mut self, place: &str, sketch: HllSketch) {
        self.last = sketch.to_bytes();
        self.sketches[number::<usize>(place)] = Some(sketch);
    }

    fn keep_union(&mut self, place: &str, union: HllUnion) {
        self.unions[number::<usize>(place)] = Some(union);
    }

    fn add(&mut self, kind: &str, place: &str, from: &str, count: &str) {
        let mut sketch = self.sketches[number::<usize>(place)].take().unwrap();
        let from: i64 = number(from);
        for value in from..from + number::<i64>(count) {
            match kind {
                "longs" => sketch.add_long(value * 3_000_000_007),
                "ints" => sketch.add_long(value),
                _ => sketch.add_bytes(text(value.try_into().unwrap()).as_bytes()),
            }
        }
        self.keep(place, sketch);
    }

    // Shorts and bytes are cut off there, too.
    #[allow(clippy::cast_possible_truncation)]
    fn count(&mut self, kind: &str, from: &str, count: &str) {
        let sketch = &mut self.counts.as_mut().unwrap().sketch;
        let from: i32 = number(from);
        for value in from..from + number::<i32>(count) {
            match kind {
                "0" => sketch.add_long(i64::from(value) * 3_000_000_007),
                "1" => sketch.add_long(value.into()),
                "2" => sketch.add_long((value as i16).into()),
                "3" => sketch.add_long((value as i8).into()),
                _ => sketch.add_bytes(text(value).as_bytes()),
            }
        }
        self.last = sketch.to_bytes();
    }

    fn step(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        self.steps += 1;
        match words[..] {
            ["new", place, lg_k] => {
                self.sketches.resize(self.sketches.len().max(6), None);
                self.unions.resize(self.unions.len().max(6), None);
                self.keep(place, HllSketch::new(number(lg_k)).unwrap());
            }
            ["none", place] => self.unions[number::<usize>(place)] = None,
            [
                kind @ ("longs" | "ints" | "texts" | "bytes"),
                place,
                from,
                count,
            ] => {
                self.add(kind, place, from, count);
            }
            ["again", place] => {
                let sketch = self.sketch(place);
                self.keep(place, sketch);
            }
            ["merge", to, from] => {
                let to_sketch = self.sketches[number::<usize>(to)].take().unwrap();
                let mut union = HllUnion::of(to_sketch.clone());
                self.sketches[number::<usize>(to)] = Some(to_sketch);
                union.add(self.sketch(from), Source::Object);
                self.keep(to, union.into_sketch());
            }
            ["union", to, from] => {
                let (left, right) = (self.sketch(to), self.sketch(from));
                let mut union = HllUnion::new(left.lg_k().min(right.lg_k())).unwrap();
                union.add(left, Source::Object);
                union.add(right, Source::Object);
                self.keep(to, union.into_sketch());
            }
            ["unite", to, from] => {
                let sketch = self.sketch(from);
                let union = self.union(to);
                let mut union = union.unwrap_or_else(|| HllUnion::new(sketch.lg_k()).unwrap());
                union.add(sketch, Source::Bytes);
                self.keep_union(to, union);
            }
            ["unions", to, from] => {
                let other = self.union(from).unwrap().finish().to_bytes();
                let other = HllUnion::of(HllSketch::read(&other).unwrap());
                let union = match self.union(to) {
                    None => other,
                    Some(mut union) => {
                        union.add(other.into_sketch(), Source::Object);
                        union
                    }
                };
                self.keep_union(to, union);
            }
            ["asked", place] => {
                let union = self.unions[number::<usize>(place)].as_mut().unwrap();
                self.last = union.finish().to_bytes();
            }
            ["counts", depth, width, seed] => {
                let plan = CountMinPlan::new(number(depth), number(width), number(seed)).unwrap();
                let before = match self.counts.take() {
                    Some(last) if last.plan == plan => last.before,
                    _ => Vec::new(),
                };
                let sketch = CountMin::new(&plan);
                self.counts = Some(Counts {
                    plan,
                    sketch,
                    before,
                });
            }
            ["count", kind, from, count] => self.count(kind, from, count),
            ["all", expected] => {
                let Counts { sketch, before, .. } = self.counts.as_mut().unwrap();
                before.push(sketch.to_bytes());
                before.iter().for_each(|other| sketch.merge(other).unwrap());
                assert_eq!(hash(&sketch.to_bytes()), expected, "step {}", self.steps);
            }
            ["=", length, expected, estimate] => {
                let before = format!("step {}, {} bytes", self.steps, self.last.len());
                assert_eq!(self.last.len(), number::<usize>(length), "{before}");
                assert_eq!(hash(&self.last), expected, "{before}");
                let sketch = HllSketch::read(&self.last).unwrap();
                assert_eq!(sketch.estimate(), Ok(number(estimate)), "{before}");
            }
            ["=", expected] => assert_eq!(hash(&self.last), expected, "step {}", self.steps),
            _ => panic!("no step: {line}"),
        }
    }
}

fn replay(version: &str) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/Sketches.java");
    let mut java = Command::new(testkit::jdk().join("bin/java"))
        .args(["-Xmx1g", "-XX:+UseSerialGC", "-cp"])
        .arg(Distribution::find(version).class_path())
        .arg(program)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut replay = Replay::default();
    for line in BufReader::new(java.stdout.take().unwrap()).lines() {
        replay.step(&line.unwrap());
    }
    assert!(java.wait().unwrap().success(), "{version}: the JVM gave up");
    assert!(replay.steps > 3000, "{version}: {} steps", replay.steps);
}

#[test]
fn sketches_are_sparks() {
    VERSIONS.into_iter().for_each(replay);
}
