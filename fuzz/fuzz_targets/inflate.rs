//! `inflate` for cargo-fuzz; `src/targets` has the target itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::targets::inflate::run(bytes));
