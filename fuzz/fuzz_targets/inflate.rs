//! `inflate` for cargo-fuzz; the target itself is in `src/targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::inflate::run(bytes));
