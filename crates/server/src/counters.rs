//! The server's own counters: requests by route and status, durations, and searches.
//!
//! Routes are patterns of the router, so their number is fixed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use metrics::{Histogram, Metric, Text};

const UP_SECONDS: Metric = Metric::gauge("weft_up_seconds", "Time since the server started.");
const HTTP_IN_FLIGHT: Metric = Metric::gauge("weft_http_requests_in_flight", "Requests in progress.");
const HTTP_REQUESTS: Metric = Metric::counter(
    "weft_http_requests_total",
    "Requests answered, by route and status.",
);
const HTTP_SECONDS: Metric = Metric::histogram(
    "weft_http_request_seconds",
    "Time to the head of the response, by route.",
);
const SEARCH_SECONDS: Metric =
    Metric::histogram("weft_search_seconds", "Time of a search within the archive.");

/// Upper bounds of the buckets in microseconds: 1 ms to 30 s, the default limit of a request.
const BOUNDS_US: [u64; 11] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000, 30_000_000,
];

/// The server's own counters.
pub(crate) struct Counters {
    started: Instant,
    in_flight: AtomicU64,
    answered: AtomicU64,
    search: Histogram,
    routes: Mutex<BTreeMap<String, Route>>,
}

struct Route {
    seconds: Histogram,
    by_status: BTreeMap<u16, u64>,
}

impl Counters {
    pub(crate) fn new() -> Counters {
        Counters {
            started: system::now(),
            in_flight: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            search: Histogram::new(&BOUNDS_US),
            routes: Mutex::default(),
        }
    }

    /// Counts a request as in progress until the guard is dropped.
    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.in_flight)
    }

    /// Returns the number of requests in progress.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Returns the number of requests answered so far.
    pub(crate) fn answered_total(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Counts an answered request. `route` is a pattern of the router, never the requested path.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let mut routes = lock(&self.routes);
        // `entry` would copy the name for every request, although the route is nearly always known.
        let entry = match routes.get_mut(route) {
            Some(entry) => entry,
            None => routes.entry(route.to_owned()).or_insert_with(|| Route {
                seconds: Histogram::new(&BOUNDS_US),
                by_status: BTreeMap::new(),
            }),
        };
        entry.seconds.observe(took);
        *entry.by_status.entry(status).or_default() += 1;
    }

    /// Counts an answered search.
    pub(crate) fn search_took(&self, took: Duration) {
        self.search.observe(took);
    }

    /// Writes all counters in the Prometheus text format.
    pub(crate) fn write(&self, text: &mut Text) {
        text.one(&UP_SECONDS, system::since(self.started).as_secs());
        text.one(&HTTP_IN_FLIGHT, self.in_flight());
        let routes = lock(&self.routes);
        let mut requests = text.begin(&HTTP_REQUESTS);
        for (route, of_route) in routes.iter() {
            for (status, count) in &of_route.by_status {
                requests.value(&[("route", route), ("status", &status.to_string())], count);
            }
        }
        let mut seconds = text.begin(&HTTP_SECONDS);
        for (route, of_route) in routes.iter() {
            seconds.times(&[("route", route)], &of_route.seconds);
        }
        text.begin(&SEARCH_SECONDS).times(&[], &self.search);
    }
}

/// Locks a mutex. A poisoned lock only means that a counter may lack one observation.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A request in progress.
pub(crate) struct InFlight<'a>(&'a AtomicU64);

// A guard, because a request that is dropped (its client disconnected) never reaches code that
// decrements the counter.
impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_end_with_all() {
        let counters = Counters::new();
        for ms in [0, 1, 3, 40, 60_000] {
            counters.answered("/page", 200, Duration::from_millis(ms));
        }
        let mut text = Text::new();
        counters.write(&mut text);
        let text = text.into_string();
        for line in [
            "weft_http_requests_total{route=\"/page\",status=\"200\"} 5",
            "weft_http_request_seconds_bucket{route=\"/page\",le=\"0.001\"} 2",
            "weft_http_request_seconds_bucket{route=\"/page\",le=\"30\"} 4",
            "weft_http_request_seconds_bucket{route=\"/page\",le=\"+Inf\"} 5",
            "weft_http_request_seconds_count{route=\"/page\"} 5",
            "weft_search_seconds_count 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}
