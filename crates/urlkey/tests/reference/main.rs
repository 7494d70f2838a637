//! Compares keys with those that web archives write: the test vectors of the definition, the
//! canonicalisation cases of `urls/urlcanon-surt.json`, and the keys of real CDX indexes. Also
//! tests domains and ranges by example.

mod cdx;
mod domains;
mod ranges;
mod shared;
mod surt_cases;
mod vectors;
