//! What the class catalog costs at an executor's start: `startup_cost 'JARS/*' CLASSES`, where CLASSES is a file with
//! one class name a line.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use javaser::Catalog;

fn resident_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find(|l| l.starts_with("VmRSS"))?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(jars), Some(classes)) = (args.next(), args.next()) else {
        return Err("usage: startup_cost 'JARS/*' CLASSES".into());
    };
    let classes = std::fs::read_to_string(classes)?;
    let before = resident_kb();
    let start = Instant::now();
    let catalog = Catalog::from_class_path(&[PathBuf::from(jars)])?;
    let version = catalog.spark_version()?;
    let versioned = start.elapsed();
    let mut found = 0;
    for class in classes.lines() {
        match catalog.lookup(class) {
            Ok(_) => found += 1,
            Err(e) => println!("{e}"),
        }
    }
    let total = start.elapsed();
    println!(
        "Spark {version} known after {versioned:?}, {found} classes after {total:?}, resident kB {before:?} -> {:?}",
        resident_kb()
    );
    Ok(())
}
