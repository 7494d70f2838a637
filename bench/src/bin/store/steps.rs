//! CPU time of the digests only, each over the same bytes on one core.

use std::time::Instant;

use md5::{Digest, Md5};
use sha2::Sha256;

const BYTES: usize = 64_000_000;

/// Prints MB/s and milliseconds per megabyte of each digest.
pub(crate) fn print() {
    let content = crate::plain::content(BYTES);
    println!(
        "\n{:<28}{:>12}{:>16}",
        "digests, one core", "MB/s", "CPU ms per MB"
    );
    let row = |name: &str, work: &dyn Fn()| {
        let started = Instant::now();
        work();
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{name:<28}{:>12.0}{:>16.3}",
            BYTES as f64 / 1e6 / seconds,
            seconds * 1e3 / (BYTES as f64 / 1e6)
        );
    };
    row("MD5", &|| {
        std::hint::black_box(Md5::digest(&content));
    });
    row("SHA-256", &|| {
        std::hint::black_box(Sha256::digest(&content));
    });
    row("BLAKE3", &|| {
        std::hint::black_box(blake3::hash(&content));
    });
}
