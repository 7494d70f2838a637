//! The log messages of a running node about its volumes: one line per event of a volume. Events of
//! replicas may come in thousands, so they are counted and logged with one line per volume and
//! kind, at most once a minute.
//!
//! The events come from the fixity log, which records everything that the node's own volumes do.
//! Other nodes log their own volumes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use store_protocol::{FixityEvent, Key, NEWS, VolumeId};
use tokio::task::JoinHandle;
use volume::FixityLog;

/// Shortest time between two lines of one kind about one volume.
const TELL_EVERY: Duration = Duration::from_mins(1);

/// Time between two checks for lines that are due.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Events that were counted and are not logged yet.
#[derive(Default)]
struct Counts(Mutex<BTreeMap<(VolumeId, &'static str), Count>>);

#[derive(Default)]
struct Count {
    number: u64,
    /// The key of the first event.
    key: Option<Key>,
    told: Option<Instant>,
}

/// Logs events until it is dropped.
pub(super) struct EventLog {
    telling: JoinHandle<()>,
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.telling.abort();
    }
}

impl EventLog {
    /// Logs the events of this fixity log from now on, in a task on the current tokio runtime.
    pub(super) fn of(log: &FixityLog) -> Self {
        let counts = Arc::new(Counts::default());
        let heard = counts.clone();
        log.listen(Box::new(move |event| heard.record(event)));
        let telling = tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                for line in counts.due(system::now()) {
                    tracing::info!(target: NEWS, "{line}");
                }
            }
        });
        Self { telling }
    }
}

impl Counts {
    fn record(&self, event: &FixityEvent) {
        let Some(kind) = kind_of(&event.event) else {
            if let Some(line) = line_of(event) {
                tracing::info!(target: NEWS, "{line}");
            }
            return;
        };
        let mut counts = self.0.lock();
        let count = counts.entry((event.volume.clone(), kind)).or_default();
        count.number += 1;
        count.key = count.key.take().or_else(|| event.key.clone());
    }

    /// Returns the lines that are due, and resets their counts.
    fn due(&self, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        for ((volume, kind), count) in &mut *self.0.lock() {
            let lately = count
                .told
                .is_some_and(|told| now.duration_since(told) < TELL_EVERY);
            if count.number == 0 || lately {
                continue;
            }
            let key = count.key.take();
            let key = key.map(|key| key.to_string()).unwrap_or_default();
            lines.push(match count.number {
                1 => format!("volume {volume}: 1 replica {kind}: {key}"),
                number => format!("volume {volume}: {number} replicas {kind} recently: {key} and others"),
            });
            count.number = 0;
            count.told = Some(now);
        }
        lines
    }
}

/// Returns the text for an event of a replica, or `None` for an event that is not counted.
fn kind_of(event: &str) -> Option<&'static str> {
    match event {
        "bad" => Some("found bad"),
        "missing" => Some("found missing"),
        "repaired" => Some("repaired"),
        _ => None,
    }
}

/// Returns the line for an event of a volume. `volume-out` has none: the code that took the volume
/// out of service has already logged an error.
fn line_of(event: &FixityEvent) -> Option<String> {
    let FixityEvent {
        event,
        volume,
        detail,
        ..
    } = event;
    match event.as_str() {
        "volume-wiped" => Some(format!("volume {volume} is being rebuilt: {detail}")),
        "volume-rebuilt" => Some(format!("volume {volume} is rebuilt, and in service")),
        "volume-back" => Some(format!("volume {volume} is back: {detail}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use store_protocol::Cause;
    use volume::fixity;

    use super::*;

    #[test]
    fn thousands_are_one_line_a_minute() {
        let counts = Counts::default();
        let volume = VolumeId::from("n/d".to_owned());
        let record = |event: &str, name: u32| {
            let key = Key::parse(&format!("b/{name}")).unwrap();
            let version = "0123456789ab0000000700000009".parse().unwrap();
            counts.record(&fixity::event(
                event,
                &volume,
                Some((&key, version)),
                Cause::Scrub,
                "",
            ));
        };
        let begun = Instant::now();
        assert_eq!(counts.due(begun), [""; 0]);
        record("bad", 1);
        record("verified", 2);
        assert_eq!(counts.due(begun), ["volume n/d: 1 replica found bad: b/1"]);
        (0..412).for_each(|name| record("bad", name));
        record("repaired", 3);
        assert_eq!(counts.due(begun), ["volume n/d: 1 replica repaired: b/3"]);
        let later = begun + TELL_EVERY;
        let lines = counts.due(later);
        assert_eq!(
            lines,
            ["volume n/d: 412 replicas found bad recently: b/0 and others"]
        );
        assert_eq!(counts.due(later + TELL_EVERY), [""; 0]);
    }

    #[test]
    fn what_happens_to_a_volume_is_said() {
        let volume = VolumeId::from("n/d".to_owned());
        let said = |event: &str| line_of(&fixity::event(event, &volume, None, Cause::Request, "why"));
        assert_eq!(said("volume-back").as_deref(), Some("volume n/d is back: why"));
        assert!(said("volume-wiped").is_some() && said("volume-rebuilt").is_some());
        assert_eq!(said("volume-out"), None);
    }
}
