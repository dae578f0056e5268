//! Every zone of the JDK against `java.time` itself.
#![allow(clippy::unwrap_used)]

use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use javatime::calendar::{SECOND, split};
use javatime::{TimeZone, Zones};

/// Random times of each of three kinds, beside those around changes of clocks.
const RANDOM: &str = "500";

fn zones() -> Zones {
    Zones::read(std::fs::read(testkit::jdk().join("lib/tzdb.dat")).unwrap()).unwrap()
}

struct Answers<R>(R);

impl<R: Read> Answers<R> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn int(&mut self) -> i32 {
        i32::from_be_bytes(self.bytes())
    }

    fn long(&mut self) -> i64 {
        i64::from_be_bytes(self.bytes())
    }

    /// `None` behind the last region.
    fn name(&mut self) -> Option<String> {
        let mut length = [0; 2];
        if self.0.read(&mut length[..1]).unwrap() == 0 {
            return None;
        }
        self.0.read_exact(&mut length[1..]).unwrap();
        let mut name = vec![0; usize::from(u16::from_be_bytes(length))];
        self.0.read_exact(&mut name).unwrap();
        Some(String::from_utf8(name).unwrap())
    }
}

#[test]
fn every_zone_is_javas() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/Zones.java");
    let mut java = Command::new(testkit::jdk().join("bin/java"))
        .args(["-Xmx256m", "-XX:+UseSerialGC"])
        .arg(program)
        .arg(RANDOM)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = Answers(BufReader::with_capacity(
        1 << 20,
        java.stdout.take().unwrap(),
    ));
    let zones = zones();
    let (mut seen, mut times) = (Vec::new(), 0);
    while let Some(id) = answers.name() {
        let named = TimeZone::new(&id, &zones);
        let zone = named.zone().unwrap_or_else(|why| panic!("{id}: {why}"));
        for _ in 0..answers.int() {
            let time = answers.long();
            let (offset, preferred) = (i64::from(answers.int()), i64::from(answers.int()));
            let java = [answers.long(), answers.long(), answers.long()];
            let own = [
                zone.instant(time).unwrap(),
                zone.instant_with(time, preferred * SECOND).unwrap(),
                zone.start_of_day(split(time).0).unwrap(),
            ];
            assert_eq!(zone.offset_at(time), offset * SECOND, "{id} at {time}");
            assert_eq!(own, java, "{id} of local {time}");
            times += 1;
        }
        seen.push(id);
    }
    assert!(java.wait().unwrap().success());
    let known: Vec<&str> = zones.regions();
    assert_eq!(seen, known);
    println!("{} regions, {times} times, {:?}", seen.len(), zones);
    assert!(
        seen.len() > 500 && times > 1_000_000,
        "{} {times}",
        seen.len()
    );
}

#[test]
fn a_table_that_is_cut_off_is_none() {
    let bytes = std::fs::read(testkit::jdk().join("lib/tzdb.dat")).unwrap();
    for length in (0..bytes.len() / 2).step_by(97) {
        assert!(Zones::read(bytes.get(..length).unwrap().to_vec()).is_err());
    }
    assert!(
        TimeZone::new("Europe/Berlin", &Zones::default())
            .zone()
            .is_err()
    );
    assert!(TimeZone::new("Europe/Nowhere", &zones()).zone().is_err());
    assert!(TimeZone::new("+02:00", &Zones::default()).zone().is_ok());
}
