//! Questions to an archive and their answers, shared by the command line, the socket and the
//! server.
//!
//! A question is a struct that names the type of its answer ([`Ask`]). [`crate::Archive::ask`]
//! answers it in the owner's process, or sends it through the owner's socket. On the socket and in
//! the routes of the API the kind of question is known only at run time; there [`Question`] and
//! [`Body`] hold any of them. `--json` and `/api/v1` print [`Answer`] unchanged.

mod attachments;
mod calendar;
mod cdx;
mod collections;
mod concordance;
mod diff;
mod domains;
mod dump;
mod envelope;
mod events;
mod graph;
mod images;
mod ledger;
mod links;
mod listed_pages;
mod load;
mod page;
mod page_text;
mod post;
mod rebuild;
mod record;
mod report;
mod rights;
mod search;
mod sight;
mod status;
mod suggest;
mod takedown;
mod trends;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    attachments::*, calendar::*, cdx::*, collections::*, concordance::*, diff::*, domains::*, dump::*,
    events::*, graph::*, images::*, ledger::*, links::*, listed_pages::*, load::*, page::*, page_text::*,
    post::*, rebuild::*, record::*, report::*, rights::*, search::*, sight::*, status::*, suggest::*,
    takedown::*, trends::*,
};
pub use ::cdx::{CdxRow, MatchType};
pub(crate) use dump::DumpRequest;
pub(crate) use envelope::questions;
pub use envelope::{Body, Question};
pub use extract::{AttachmentKind, CaptureKind, DocumentScope, LinkScope};
pub use facts::FactsTable;
pub use index::{DomainRow, InputState, LedgerRow};
pub use pipeline::StageRow;

use crate::AskError;

/// A question that knows the type of its answer.
pub trait Ask: Into<Question> {
    /// The type of the answer.
    type Answer: Into<Body> + TryFrom<Body> + Send + 'static;
}

/// An answer and the epoch it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer<A = Body> {
    /// Number of the epoch that the whole answer describes. A search reports the epoch of its
    /// results in `search_epoch`.
    pub epoch: u64,
    /// The answer itself.
    #[serde(flatten)]
    pub body: A,
}

impl<A: Into<Body>> Answer<A> {
    /// Converts the answer to the form used in JSON, with the name of its kind.
    pub fn any(self) -> Answer {
        Answer {
            epoch: self.epoch,
            body: self.body.into(),
        }
    }
}

impl Answer {
    /// Converts the answer to the type that a question of type `Q` expects.
    ///
    /// # Errors
    /// [`AskError::internal`] if this is the answer to another kind of question. An owner of
    /// another version may send one.
    pub fn to<Q: Ask>(self) -> Result<Answer<Q::Answer>, AskError> {
        let epoch = self.epoch;
        match self.body.try_into() {
            Ok(body) => Ok(Answer { epoch, body }),
            Err(_) => Err(AskError::internal(
                "the owner answered a different question: is it a different version of weft? (weft status shows it)",
            )),
        }
    }
}
