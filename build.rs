//! Generates `include/firesteel.h` from `src/capi` and the interface of modules, and names the shared library.
//!
//! The header in the source tree is written only when it is out of date and can be written, so a read-only checkout
//! builds too. The fresh copy stays in `OUT_DIR`; `tests/capi.rs` compares the two.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    println!("cargo::rerun-if-changed=src/capi");
    println!("cargo::rerun-if-changed=crates/functions/src/abi.rs");
    if env::var("CARGO_CFG_TARGET_OS")? == "linux" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libfiresteel.so");
    }

    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let fresh = PathBuf::from(env::var("OUT_DIR")?).join("firesteel.h");
    generate(&root)?.write_to_file(&fresh);
    println!(
        "cargo::rustc-env=FIRESTEEL_FRESH_HEADER={}",
        fresh.display()
    );

    let text = fs::read(&fresh)?;
    let header = root.join("include/firesteel.h");
    if fs::read(&header).is_ok_and(|committed| committed == text) {
        return Ok(());
    }
    if let Err(error) = replace(&header, &text) {
        println!(
            "cargo::warning={} is out of date and cannot be written: {error}",
            header.display()
        );
    }
    Ok(())
}

fn generate(root: &Path) -> Result<cbindgen::Bindings, Box<dyn Error>> {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    // Follows the modules. Told the crate instead of the file, cbindgen would start a second Cargo.
    let builder = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("src/capi/mod.rs"))
        .with_src(root.join("crates/functions/src/abi.rs"));
    Ok(builder.generate()?)
}

/// A compiler that reads the header meanwhile sees the old or the new one, never half of it.
fn replace(header: &Path, text: &[u8]) -> std::io::Result<()> {
    let partial = header.with_extension(format!("h.{}", std::process::id()));
    if let Some(folder) = header.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&partial, text)?;
    fs::rename(&partial, header).inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}
