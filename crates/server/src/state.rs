//! What every handler shares.

use std::sync::Arc;

use crate::ask::{Ask, Asker};
use crate::history::History;
use crate::metrics::Metrics;
use crate::settings::ServerSettings;

/// One per server.
pub(crate) struct State {
    pub(crate) settings: ServerSettings,
    pub(crate) asker: Asker,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) history: History,
}

impl State {
    pub(crate) fn new(source: Arc<dyn Ask>, settings: ServerSettings) -> Arc<State> {
        let metrics = Arc::new(Metrics::new());
        Arc::new(State {
            asker: Asker::new(source, settings.questions_max, Arc::clone(&metrics)),
            metrics,
            history: History::new(),
            settings,
        })
    }
}
