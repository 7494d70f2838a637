//! What the server asks: an archive, or serving tables.

use std::sync::Arc;

use access::Groups;
use archive::question::{Answer, Question};
use archive::{Archive, AskError, ServedTables};
use inputs::Sources;

/// Answers questions: an archive, serving tables, or a replacement for one.
pub trait Answers: Send + Sync + 'static {
    /// Answers a question. May block.
    ///
    /// # Errors
    /// [`AskError`] with a code of `not_found`, `bad_request`, `unavailable` or `internal`.
    fn ask(&self, question: &Question) -> Result<Answer, AskError>;

    /// Returns the archive as members of these groups see it, or `None` if everybody sees the same.
    fn seen_by(&self, groups: &Groups) -> Option<Arc<dyn Answers>>;

    /// Returns whether it is known, without waiting for the archive, that no rule hides anything.
    /// If it is not known, the caller asks for a [`Sight`](archive::question::Sight).
    fn has_no_rules(&self) -> bool {
        false
    }

    /// Returns the sources that records are read from.
    fn sources(&self) -> Sources {
        Sources::default()
    }

    /// Removes from an error message what the client must not see.
    fn redact_message(&self, why: String) -> String {
        why
    }
}

impl Answers for Archive {
    fn ask(&self, question: &Question) -> Result<Answer, AskError> {
        Archive::ask(self, question.clone())
    }

    fn seen_by(&self, groups: &Groups) -> Option<Arc<dyn Answers>> {
        Some(Arc::new(Archive::seen_by(self, groups.clone())))
    }

    fn has_no_rules(&self) -> bool {
        Archive::has_no_rules(self)
    }

    fn sources(&self) -> Sources {
        Archive::sources(self).clone()
    }
}

impl Answers for ServedTables {
    fn ask(&self, question: &Question) -> Result<Answer, AskError> {
        ServedTables::ask(self, question)
    }

    fn seen_by(&self, _: &Groups) -> Option<Arc<dyn Answers>> {
        None
    }

    fn has_no_rules(&self) -> bool {
        // Tables of an archive with rules are not opened.
        true
    }

    fn sources(&self) -> Sources {
        ServedTables::sources(self).clone()
    }
}
