//! Decides which questions require that nothing is hidden from the client: those about the archive
//! itself, whose answers also derive from hidden captures, and those that change it.

use access::{AccessFilter, Groups};

use crate::AskError;
use crate::question::Question;

/// Refuses a question that the client is not permitted to ask.
pub(super) fn authorize(
    question: &Question,
    filter: &AccessFilter,
    groups: Option<&Groups>,
) -> Result<(), AskError> {
    let Some(groups) = groups.filter(|_| !filter.sees_everything()) else {
        return Ok(());
    };
    match about_the_archive(question) {
        None => Ok(()),
        Some(what) => Err(AskError::forbidden(refusal_text(what, groups))),
    }
}

/// Returns the message of a refusal.
pub(crate) fn refusal_text(what: &str, groups: &Groups) -> String {
    format!(
        "{what}: this requires access to the whole archive, and access rules hide part of it from {groups}"
    )
}

/// Returns what a question is about, if the client must see everything to ask it. There is no
/// wildcard arm, so that every new question has to be classified.
fn about_the_archive(question: &Question) -> Option<&'static str> {
    match question {
        Question::Page(_)
        | Question::PageText(_)
        | Question::Attachments(_)
        | Question::Calendar(_)
        | Question::Diff(_)
        | Question::Inlinks(_)
        | Question::LinkCounts(_)
        | Question::Outlinks(_)
        | Question::Domain(_)
        | Question::Domains(_)
        | Question::Top(_)
        | Question::GraphPart(_)
        | Question::Cdx(_)
        | Question::CdxBlocks(_)
        | Question::Search(_)
        | Question::Images(_)
        | Question::Thumbnail(_)
        | Question::Concordance(_)
        | Question::Suggest(_)
        | Question::Trends(_)
        | Question::Events(_)
        | Question::Report(_)
        | Question::Record(_)
        | Question::Collections(_)
        | Question::ListedPages(_)
        | Question::Sight(_) => None,
        Question::Status(_) => Some("the state of the archive"),
        Question::Check(_) => Some("checking the index"),
        Question::Stages(_) | Question::Job(_) | Question::Jobs(_) => Some("loads"),
        Question::Load(_) | Question::Cancel(_) => Some("loading"),
        Question::Post(_) | Question::Unpost(_) => Some("posting"),
        Question::Ledger(_) => Some("the ledger"),
        Question::Quarantine(_) => Some("the quarantine"),
        Question::Forget(_) | Question::TakeDown(_) | Question::UndoTakedown(_) | Question::Purge(_) => {
            Some("forgetting")
        }
        Question::Takedowns(_) | Question::TakedownRules(_) => Some("the register of takedowns"),
        Question::Rights(_) | Question::RightsTest(_) => Some("the access rules"),
        Question::Rebuild(_) | Question::Rebuilding(_) => Some("rebuilding"),
    }
}
