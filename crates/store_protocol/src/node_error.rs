//! Why a node did not carry out a request, and what the caller may do next.

use placement::NodeId;
use serde::{Deserialize, Serialize};

use crate::change::NewestVersion;
use crate::clock::Term;
use crate::protection::Protection;

/// Why a node did not carry out a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum NodeError {
    /// The node did not answer.
    #[error("node {node} cannot be reached: {detail}")]
    Unreachable {
        /// Node asked.
        node: NodeId,
        /// What failed.
        detail: String,
        /// Whether the request may have arrived, and so may have been carried out.
        asked: bool,
    },
    /// The node has another layout in force. The newer of the two has been adopted: retry.
    #[error("the request to node {node} was made under layout {ours}, but the node has {theirs}")]
    OtherLayout {
        /// Node asked.
        node: NodeId,
        /// Number of the request's layout.
        ours: u64,
        /// Number of the node's layout.
        theirs: u64,
    },
    /// The condition of the write does not hold.
    #[error("the condition does not hold: the current entity tag is {current:?}")]
    Condition {
        /// Entity tag of the current version; `None` if there is no current version.
        current: Option<String>,
    },
    /// The current version is protected from this change. No change was made.
    #[error("the object is {0}")]
    Protected(Protection),
    /// The node refused a layout: it has accepted another one of that number, or a newer one.
    #[error("node {node} refused the layout: {detail}")]
    LayoutRefused {
        /// Node asked.
        node: NodeId,
        /// Why.
        detail: String,
    },
    /// No volume has space for the write. Nothing of it remains.
    #[error("no room: {0}")]
    Full(String),
    /// Another node has begun a later term and decides now: ask that node, or retry here.
    #[error("another node decides about this key now, in term {term}")]
    Superseded {
        /// Its term.
        term: Term,
    },
    /// The node cannot decide now because too few other nodes answer it.
    #[error("no decision is possible now: {detail}")]
    Undecided {
        /// The nodes that did not answer.
        detail: String,
        /// Whether part of the change may have been made. The next node must then check whether the
        /// write has happened.
        begun: bool,
    },
    /// The newest version is not the one that the caller had seen. No change was made or will be
    /// made: retry.
    #[error("the object was changed in the meantime")]
    Changed {
        /// The newest version.
        newest: NewestVersion,
    },
    /// It is no longer possible to find out whether the write has happened.
    #[error("the outcome of the write is unknown: {0}")]
    Unknown(String),
    /// The write could not be made safe. The text says what to do next.
    #[error("{0}")]
    Failed(String),
}
