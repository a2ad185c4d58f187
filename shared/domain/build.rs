//! Embeds every file of `schemas/`, so that what is served is what is committed.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=schemas");
    let directory = env::current_dir()?.join("schemas");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)?.map(|file| Ok(file?.path())).collect::<io::Result<_>>()?;
    files.sort();
    let entry = |file: &PathBuf| Some(format!("({:?}, include_str!({file:?})),", file.file_stem()?));
    let entries: String = files.iter().filter_map(entry).collect();
    let out = env::var_os("OUT_DIR").expect("cargo names a directory for what is built");
    fs::write(Path::new(&out).join("schemas.rs"), format!("[{entries}]"))
}
