//! Lists the references of a document while it is rewritten.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::address::Modifier;

/// Maximum number of bytes of URLs in one list. A few bytes of a document may refer repeatedly to a
/// very long URL.
const BYTES_MAX: usize = 16 << 20;

/// A reference of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The URL, without its fragment.
    pub url: String,
    /// Form in which the target is shown.
    pub modifier: Modifier,
    /// Purpose of the target for the page.
    pub role: Role,
}

/// Purpose of a reference for the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A browser loads it to show the page: a picture, a style sheet, a script, a frame.
    Part,
    /// A browser loads it or another one, or only without scripts: sizes of a picture, formats of a
    /// font, `<noscript>`.
    Alternative,
    /// A link that a reader may follow.
    Link,
}

/// A list of references, in the order of the document. All clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct References(Arc<Mutex<ReferenceList>>);

#[derive(Debug, Default)]
struct ReferenceList {
    references: Vec<Reference>,
    bytes: usize,
    is_cut: bool,
}

impl References {
    /// Adds a reference, unless the list is full.
    pub(crate) fn push(&self, reference: Reference) {
        let mut listed = self.lock();
        let bytes = listed.bytes + reference.url.len();
        if bytes > BYTES_MAX {
            listed.is_cut = true;
            return;
        }
        listed.bytes = bytes;
        listed.references.push(reference);
    }

    /// Takes the references, and whether some did not fit into the list.
    pub fn take(&self) -> (Vec<Reference>, bool) {
        let listed = std::mem::take(&mut *self.lock());
        (listed.references, listed.is_cut)
    }

    fn lock(&self) -> MutexGuard<'_, ReferenceList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base of 60,000 bytes and a million pictures do not need 60 GB.
    #[test]
    fn a_list_has_an_end() {
        let references = References::default();
        for _ in 0..1000 {
            references.push(Reference {
                url: "x".repeat(60_000),
                modifier: Modifier::Image,
                role: Role::Part,
            });
        }
        let (listed, is_cut) = references.take();
        assert_eq!((listed.len(), is_cut), (BYTES_MAX / 60_000, true));
        assert!(!references.take().1);
    }
}
