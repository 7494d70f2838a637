//! What is looked at before a node starts: its settings, its directories, and what other nodes say.

use crate::NodeSettings;
use crate::ask_nodes::Others;
use crate::discovery::Directory;

/// What was found.
pub(crate) struct Found<'a> {
    pub(crate) settings: &'a NodeSettings,
    /// The directories of the volumes, in the order of the settings.
    pub(crate) directories: Vec<Directory>,
    /// What other nodes said; `None` while they were not asked.
    pub(crate) others: Option<Others>,
    /// The salt of a placement that is made here: chance.
    pub(crate) seed: u64,
}

impl<'a> Found<'a> {
    /// Looks at the directories.
    pub(crate) fn look(settings: &'a NodeSettings) -> Self {
        Self {
            settings,
            directories: Directory::all(settings),
            others: None,
            seed: system::random(),
        }
    }

    /// Asks the other nodes, and waits for all answers.
    pub(crate) async fn ask_others(&mut self) {
        self.others = Some(Others::ask(self.settings).await);
    }
}
