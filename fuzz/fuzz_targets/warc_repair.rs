//! `warc_repair` for cargo-fuzz; the target itself is in `src/targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::warc_repair::run(bytes));
