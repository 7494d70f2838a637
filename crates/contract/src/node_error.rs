//! Why a node did not do what it was asked, and what the caller may do next.

use placement::NodeId;
use serde::{Deserialize, Serialize};

use crate::change::Seen;
use crate::clock::Term;

/// Why a node did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum NodeError {
    /// No answer.
    #[error("node {node} cannot be reached: {detail}")]
    Unreachable {
        /// Node asked.
        node: NodeId,
        /// What failed.
        detail: String,
        /// The question may have arrived.
        asked: bool,
    },
    /// It knows another layout; the newer of the two has been taken over: ask again.
    #[error("node {node} was asked under layout {ours}, it knows {theirs}")]
    OtherLayout {
        /// Node asked.
        node: NodeId,
        /// Number of the layout asked under.
        ours: u64,
        /// Number that it knows.
        theirs: u64,
    },
    /// The condition does not hold; the current entity tag, if there is a current version.
    #[error("the condition does not hold: the current entity tag is {current:?}")]
    Condition {
        /// Entity tag of the current version.
        current: Option<String>,
    },
    /// It refused a layout: another one has that number, or its own is newer.
    #[error("node {node} refused the layout: {detail}")]
    LayoutRefused {
        /// Node asked.
        node: NodeId,
        /// Why.
        detail: String,
    },
    /// No volume has room for the write; nothing is left of it.
    #[error("no room: {0}")]
    Full(String),
    /// Another node has taken its turn to decide: ask there, or here again.
    #[error("another node decides now, in term {term}")]
    Superseded {
        /// Its term.
        term: Term,
    },
    /// It cannot decide now: too few nodes answer it.
    #[error("nothing can be decided now: {detail}")]
    Undecided {
        /// Who did not answer.
        detail: String,
        /// Something of it may have been done before: whoever is asked next has to look whether it has happened.
        begun: bool,
    },
    /// The newest version is another than the one seen: nothing was done, nor will be. Ask again.
    #[error("the object was written since")]
    Changed {
        /// The newest version.
        newest: Seen,
    },
    /// Whether the write has happened cannot be told any more.
    #[error("whether the write has happened is not known: {0}")]
    Unknown(String),
    /// The write could not be made safe; what to do next is in the text.
    #[error("{0}")]
    Failed(String),
}
