//! Tests of the reader and the writer with real files, hostile input, and each other's output.

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
