//! Finds the first `base` of a page, which also applies to references before it.

use html5gum::emitters::{Emitter, ForwardingEmitter};

use super::Writer;
use crate::sandbox::links::ArchivedPage;

/// Finds the first `base` by the writer's rules and writes nothing.
#[derive(Debug)]
pub(in crate::sandbox) struct BaseFinder(Writer);

impl BaseFinder {
    /// Returns a finder for a page.
    pub(in crate::sandbox) fn new(page: ArchivedPage) -> BaseFinder {
        BaseFinder(Writer::new(page, None, usize::MAX))
    }
}

impl ForwardingEmitter for BaseFinder {
    type Token = Vec<u8>;

    fn inner(&mut self) -> &mut impl Emitter<Token = Vec<u8>> {
        &mut self.0
    }

    /// Returns the base once it is found.
    fn pop_token(&mut self) -> Option<Vec<u8>> {
        self.0.written.clear();
        self.0
            .found_base
            .take()
            .map(|base| String::from(base).into_bytes())
    }
}
