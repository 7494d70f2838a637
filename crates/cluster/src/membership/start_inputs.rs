//! The inputs of the decision at a start: the node's settings, its directories, and the answers of
//! other nodes.

use crate::NodeSettings;
use crate::ask_nodes::OtherNodes;
use crate::discovery::Directory;

/// The inputs of the decision.
pub(crate) struct StartInputs<'a> {
    pub(crate) settings: &'a NodeSettings,
    /// The directories of the volumes, in the order of the settings.
    pub(crate) directories: Vec<Directory>,
    /// The answers of other nodes. `None` before they are asked.
    pub(crate) others: Option<OtherNodes>,
    /// The random salt of a placement that is made here.
    pub(crate) seed: u64,
}

impl<'a> StartInputs<'a> {
    /// Examines the directories.
    pub(crate) fn inspect(settings: &'a NodeSettings) -> Self {
        Self {
            settings,
            directories: Directory::all(settings),
            others: None,
            seed: system::random(),
        }
    }

    /// Asks the other nodes, and waits for all answers.
    pub(crate) async fn ask_others(&mut self) {
        self.others = Some(OtherNodes::ask(self.settings).await);
    }
}
