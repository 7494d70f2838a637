//! Questions to an archive and their answers: one vocabulary for the program, the socket and the server.
//!
//! A question is a struct that names the type of its answer ([`Ask`]); [`crate::Archive::ask`] takes it in the owner
//! process and through the owner's socket alike. Where the kind of question is known at run time only, on the socket and
//! behind the routes of the API, [`Question`] and [`Body`] hold any of them. `--json` and `/api/v1` print [`Answer`] as
//! it is.

mod cdx;
mod domains;
mod dump;
mod envelope;
mod ledger;
mod links;
mod load;
mod page;
mod record;
mod search;
mod status;

use serde::{Deserialize, Serialize};

pub use cdx::{CdxBlocksBody, CdxBlocksQuestion, CdxBody, CdxQuestion, CdxRow, MatchType};
pub use domains::{Domain, DomainBody, DomainOrder, DomainRow, Domains, DomainsBody, LinkingDomain};
pub use domains::{Top, TopBody, TopRow};
pub use dump::{Details, Dump, DumpFormat, View};
pub use envelope::{Body, Question};
pub use extract::{CaptureKind, LinkScope};
pub use ledger::{Forget, ForgottenBody, Ledger, LedgerBody, LedgerRow, LedgerState};
pub use ledger::{Quarantine, QuarantineBody, QuarantineRow};
pub use links::{Inlinks, LinkRow, LinksBody, Outlinks};
pub use load::{Cancel, Job, JobBody, JobStage, JobState, Jobs, JobsBody, SkippedFile};
pub use load::{LoadInput, LoadRequest, OptionalStage};
pub use page::{Page, PageBody};
pub use record::{Record, RecordBody};
pub use search::{Facet, FacetValue, SearchBody, SearchHit, SearchNote, SearchNoteKind, SearchQuestion};
pub use search::{Snippet, SnippetPart};
pub use status::{Check, CheckBody, DamageRow, StageRow, Stages, StagesBody, Status, StatusBody};
pub use weave::InputState;

use crate::AskError;

/// A question, with the type of its answer.
pub trait Ask: Into<Question> {
    /// What answers it.
    type Answer: Into<Body> + TryFrom<Body>;
}

/// An answer and the epoch it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer<A = Body> {
    /// Number of the epoch: all of the answer is as of it (but for search, which names the epoch that it covers).
    pub epoch: u64,
    /// What was found.
    #[serde(flatten)]
    pub body: A,
}

impl<A: Into<Body>> Answer<A> {
    /// The same, as JSON has it: with the name of the kind of answer.
    pub fn any(self) -> Answer {
        Answer {
            epoch: self.epoch,
            body: self.body.into(),
        }
    }
}

impl Answer {
    /// The answer to a question of type `Q`.
    ///
    /// # Errors
    /// [`AskError::internal`] if it answers another question, as an owner of another version may.
    pub fn to<Q: Ask>(self) -> Result<Answer<Q::Answer>, AskError> {
        let epoch = self.epoch;
        match self.body.try_into() {
            Ok(body) => Ok(Answer { epoch, body }),
            Err(_) => Err(AskError::internal(
                "the owner answered another question: is it another version of weft? (weft status shows it)",
            )),
        }
    }
}
