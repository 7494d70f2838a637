//! The reader and the writer against real files, hostile bytes and each other.

mod tests {
    pub(crate) mod support;

    mod cdx;
    mod counts;
    mod damage;
    mod digests;
    mod displaced;
    mod growing;
    mod hostile;
    mod resume;
    mod swallowed;
    mod untouched;
    mod writing;
}
