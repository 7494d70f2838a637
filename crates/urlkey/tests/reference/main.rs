//! Keys against what the archive world writes: the vectors of the definition, the canonicalisation
//! cases of `urls/urlcanon-surt.json`, and the keys of real CDX indexes; domains and ranges by example.

mod cdx;
mod domains;
mod ranges;
mod shared;
mod surt_cases;
mod vectors;
