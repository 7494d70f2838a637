//! The kinds of actions on files, as policies name them and the log records them.

use std::fmt;

/// A kind of action. Its name is what rules and rows of the log contain.
///
/// ```
/// use catalogue::ActionKind;
///
/// let kind: ActionKind = "release".parse()?;
/// assert!(kind.removes_file() && kind.undo_needs_store());
/// # Ok::<(), catalogue::UnknownAction>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ActionKind {
    /// Reads the content and compares its digest.
    Verify,
    /// Copies the file into a store and verifies the copy.
    Copy,
    /// Removes the file after its replicas were verified.
    Release,
    /// Moves the file within its file system.
    Move,
    /// Moves the file into the trash.
    Delete,
    /// Permanently removes a file from the trash.
    EmptyTrash,
    /// Runs a command for the file.
    Command,
    /// Lists the file.
    Report,
    /// Reports trees that grew.
    Growth,
    /// The name in a row that a later version has written. It can be shown, but neither planned,
    /// settled nor undone.
    Other(Box<str>),
}

/// A name that is not an action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown action {name:?}; expected {}", ActionKind::expected())]
pub struct UnknownAction {
    /// The name.
    pub name: String,
}

impl ActionKind {
    /// The actions that this version carries out.
    pub const ALL: [ActionKind; 9] = [
        ActionKind::Verify,
        ActionKind::Copy,
        ActionKind::Release,
        ActionKind::Move,
        ActionKind::Delete,
        ActionKind::EmptyTrash,
        ActionKind::Command,
        ActionKind::Report,
        ActionKind::Growth,
    ];

    /// Returns the name of the action in rules and in rows.
    pub fn name(&self) -> &str {
        match self {
            ActionKind::Verify => "verify",
            ActionKind::Copy => "copy",
            ActionKind::Release => "release",
            ActionKind::Move => "move",
            ActionKind::Delete => "delete",
            ActionKind::EmptyTrash => "empty-trash",
            ActionKind::Command => "command",
            ActionKind::Report => "report",
            ActionKind::Growth => "growth",
            ActionKind::Other(name) => name,
        }
    }

    /// Returns the kind that a row names.
    pub(crate) fn of_row(name: String) -> ActionKind {
        name.parse()
            .unwrap_or_else(|UnknownAction { name }| ActionKind::Other(name.into()))
    }

    fn expected() -> String {
        let [first @ .., last] = &ActionKind::ALL;
        let first: Vec<&str> = first.iter().map(ActionKind::name).collect();
        format!("{} or {}", first.join(", "), last.name())
    }

    /// Returns whether the action removes the file from its path.
    pub fn removes_file(&self) -> bool {
        match self {
            ActionKind::Release | ActionKind::Move | ActionKind::Delete => true,
            ActionKind::Verify
            | ActionKind::Copy
            | ActionKind::EmptyTrash
            | ActionKind::Command
            | ActionKind::Report
            | ActionKind::Growth
            | ActionKind::Other(_) => false,
        }
    }

    /// Returns whether the file may no longer be at its path afterwards. A command is assumed to
    /// remove it.
    pub fn may_remove_file(&self) -> bool {
        self.removes_file() || *self == ActionKind::Command
    }

    /// Returns whether the action puts the file into the trash.
    pub fn trashes_file(&self) -> bool {
        *self == ActionKind::Delete
    }

    /// Returns whether the action takes the file out of the trash for good.
    pub fn empties_trash(&self) -> bool {
        *self == ActionKind::EmptyTrash
    }

    /// Returns whether the action removes the content of the file from its file system.
    pub fn frees_space(&self) -> bool {
        matches!(self, ActionKind::Release | ActionKind::EmptyTrash)
    }

    /// Returns whether the action needs a store.
    pub fn needs_store(&self) -> bool {
        matches!(self, ActionKind::Copy | ActionKind::Release)
    }

    /// Returns whether undoing the action needs a store.
    pub fn undo_needs_store(&self) -> bool {
        *self == ActionKind::Release
    }
}

impl std::str::FromStr for ActionKind {
    type Err = UnknownAction;

    fn from_str(name: &str) -> Result<ActionKind, UnknownAction> {
        let kind = ActionKind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| UnknownAction {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl serde::Serialize for ActionKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for kind in ActionKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind.clone()));
            assert_eq!(ActionKind::of_row(kind.to_string()), kind);
        }
        let later = ActionKind::of_row("compress".to_owned());
        assert_eq!(later.to_string(), "compress");
        assert!(!later.removes_file());
        assert_eq!(
            "x".parse::<ActionKind>().unwrap_err().to_string(),
            "unknown action \"x\"; expected verify, copy, release, move, delete, empty-trash, command, report \
             or growth"
        );
    }
}
