//! Measures the speed of a load over the last seconds, because it varies during a load.

use std::collections::VecDeque;

use crate::question::JobStage;

/// Period over which rates are measured.
const WINDOW_MS: u64 = 10_000;

/// Minimum time between samples. A sample closer to the one before is left out.
const APART_MS_MIN: u64 = 200;

/// Progress of a load at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) elapsed_ms: u64,
    /// Progress within the stage, in its own unit, and the total.
    pub(super) done: u64,
    pub(super) whole: u64,
    pub(super) pages: u64,
}

/// Samples of the last seconds, oldest first, all of one stage.
#[derive(Debug, Default)]
pub(super) struct Pace {
    stage: JobStage,
    seen: VecDeque<Sample>,
}

/// Rates of a load per second, and its remaining time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) done_per_s: f64,
    pub(super) pages_per_s: f64,
    /// Absent if there is no progress.
    pub(super) left_ms: Option<u64>,
}

impl Pace {
    /// Adds a sample.
    pub(super) fn note(&mut self, stage: JobStage, sample: Sample) {
        // Progress in different stages cannot be compared, nor in another round of the same stage.
        let is_another = self.seen.back().is_some_and(|last| last.done > sample.done);
        if stage != self.stage || is_another {
            self.stage = stage;
            self.seen.clear();
        }
        let newest = sample.elapsed_ms;
        // All samples except the last are apart in time; the last is always the newest.
        if self.seen.len() > 1
            && newest.saturating_sub(self.seen[self.seen.len() - 2].elapsed_ms) < APART_MS_MIN
        {
            self.seen.pop_back();
        }
        self.seen.push_back(sample);
        while self.seen.len() > 2 && newest.saturating_sub(self.seen[1].elapsed_ms) >= WINDOW_MS {
            self.seen.pop_front();
        }
    }

    /// Returns the rates between the first and the last sample.
    pub(super) fn rates(&self) -> Rates {
        let (Some(first), Some(last)) = (self.seen.front(), self.seen.back()) else {
            return Rates::default();
        };
        let ms = last.elapsed_ms.saturating_sub(first.elapsed_ms);
        if ms == 0 {
            return Rates::default();
        }
        let per_s = |first: u64, last: u64| last.saturating_sub(first) as f64 * 1000.0 / ms as f64;
        let done_per_s = per_s(first.done, last.done);
        let left = last.whole.saturating_sub(last.done) as f64;
        Rates {
            done_per_s,
            pages_per_s: per_s(first.pages, last.pages),
            left_ms: (done_per_s > 0.0).then(|| (left * 1000.0 / done_per_s) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(samples: impl IntoIterator<Item = (u64, u64, u64)>) -> Rates {
        let mut pace = Pace::default();
        for (elapsed_ms, done, pages) in samples {
            let sample = Sample {
                elapsed_ms,
                done,
                whole: 10_000,
                pages,
            };
            pace.note(JobStage::Loading, sample);
        }
        pace.rates()
    }

    #[test]
    fn the_last_seconds_count() {
        // A slow minute, then ten seconds at 100 per second.
        let slow = (0..60).map(|second| (second * 1000, second, 0));
        let fast = (0..=10).map(|second| (60_000 + second * 1000, 60 + second * 100, second * 7));
        let rates = noted(slow.chain(fast));
        assert_eq!((rates.done_per_s, rates.pages_per_s), (100.0, 7.0));
        assert_eq!(rates.left_ms, Some((10_000 - 1060) * 10));
    }

    #[test]
    fn what_stands_still_has_no_end() {
        assert_eq!(noted([(0, 5, 0), (2_000, 5, 0)]).left_ms, None);
        assert_eq!(noted([(0, 5, 0)]), Rates::default());
        assert_eq!(noted([]), Rates::default());
    }

    #[test]
    fn many_samples_take_no_room_and_lose_nothing() {
        let mut pace = Pace::default();
        for ms in 0..100_000 {
            let sample = Sample {
                elapsed_ms: ms,
                done: ms,
                whole: 100_000,
                pages: ms,
            };
            pace.note(JobStage::Loading, sample);
        }
        assert!(pace.seen.len() < 60, "{}", pace.seen.len());
        let rates = pace.rates();
        assert!((990.0..1010.0).contains(&rates.done_per_s), "{rates:?}");
    }

    #[test]
    fn another_stage_begins_anew() {
        let mut pace = Pace::default();
        let sample = |elapsed_ms, done| Sample {
            elapsed_ms,
            done,
            whole: 100,
            pages: 0,
        };
        pace.note(JobStage::Loading, sample(0, 0));
        pace.note(JobStage::Loading, sample(1_000, 90));
        pace.note(JobStage::Finishing, sample(2_000, 1));
        assert_eq!(pace.rates(), Rates::default());
        pace.note(JobStage::Finishing, sample(3_000, 11));
        assert_eq!(pace.rates().left_ms, Some(8_900));
    }
}
