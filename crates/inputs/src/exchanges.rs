//! Puts requests and answers of one input together, so that each capture knows its method.
//!
//! The request of an answer is looked for among the [`RECORDS`] records before it and behind it, in at most [`BYTES`] of the
//! input between the two. One that either names (`WARC-Concurrent-To`) goes before one of the same URL and time, and what is
//! nearer before what is farther away.
//!
//! Invariants:
//! - the method of an answer depends on the records around it alone, never on where reading began or paused: an answer is
//!   given on once no record behind it could still tell its request. The exception is the end of an input that may grow: without
//!   a request near by the answers there are given on early, so that inputs without requests are loaded to their end. Whoever
//!   goes on takes them back if a request comes ([`early_answers`]);
//! - a reader that goes on begins at [`Exchanges::context_from`], and the records before its position are only looked at;
//! - memory is bounded by twice that many records.

use std::collections::VecDeque;

use extract::{Belonging, ExchangeNames, RequestFacts};
use warc::{Entry, Record};

/// Most records between a request and its answer. Writers put one next to the other; some have a few of other exchanges between.
const RECORDS: u64 = 16;

/// Most bytes of the input between a request and its answer.
const BYTES: u64 = 4 << 20;

/// Entries of an input, in order, that wait until the methods of their captures are known.
#[derive(Default)]
pub struct Exchanges {
    /// Entries before this offset were given on before; their requests may belong to later answers.
    begin: u64,
    /// Number of the last record.
    number: u64,
    waiting: VecDeque<Waiting>,
    /// The last requests.
    requests: VecDeque<Request>,
    /// Offsets and ends of the last records that were given on, of twice the distance at which a request may be.
    given: VecDeque<(u64, u64)>,
    /// Whether answers may have been given on before their requests could be known.
    is_early: bool,
}

struct Waiting {
    entry: Entry,
    /// Of an answer.
    answer: Option<Answer>,
}

struct Answer {
    number: u64,
    /// Read with the first request nearby: of WAT this parses the record.
    names: Option<ExchangeNames>,
    found: Option<Found>,
}

/// The request of an entry that was given on.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SentBy {
    /// Its method; empty if none was found.
    pub method: String,
    /// Where its record begins.
    pub offset: u64,
}

/// The best request so far.
struct Found {
    sent_by: SentBy,
    belonging: Belonging,
    /// In records.
    distance: u64,
}

struct Request {
    number: u64,
    offset: u64,
    end: u64,
    facts: RequestFacts,
}

impl Answer {
    /// Takes a request, if it is better than what was found. A named one is never replaced: the answer may have been given on.
    fn meet(&mut self, record: &Record, (facts, offset): (&RequestFacts, u64), distance: u64) {
        if self.is_settled() {
            return;
        }
        let names = self.names.get_or_insert_with(|| extract::answer_names(record));
        let Some(belonging) = facts.belongs(names) else {
            return;
        };
        let is_better = belonging == Belonging::Named
            || self.found.as_ref().is_none_or(|found| distance < found.distance);
        if is_better {
            self.found = Some(Found {
                sent_by: SentBy {
                    method: facts.method.clone(),
                    offset,
                },
                belonging,
                distance,
            });
        }
    }

    /// Whether its request is known for sure.
    fn is_settled(&self) -> bool {
        self.found
            .as_ref()
            .is_some_and(|found| found.belonging == Belonging::Named)
    }
}

impl Exchanges {
    /// Goes on at `begin`: entries before it are only looked at.
    pub fn from(begin: u64) -> Exchanges {
        Exchanges {
            begin,
            ..Exchanges::default()
        }
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: Entry) {
        let span = entry.span();
        let mut answer = None;
        if let Entry::Record(record) = &entry {
            self.number += 1;
            if let Some(facts) = RequestFacts::of(record) {
                self.meet(&facts, span.offset);
                self.requests.push_back(Request {
                    number: self.number,
                    offset: span.offset,
                    end: span.end(),
                    facts,
                });
            } else if extract::is_answer(record) {
                answer = Some(self.answer(record));
            }
        }
        while self
            .requests
            .front()
            .is_some_and(|request| self.number - request.number >= RECORDS)
        {
            self.requests.pop_front();
        }
        match span.offset < self.begin {
            true => self.give(&entry),
            false => self.waiting.push_back(Waiting { entry, answer }),
        }
    }

    /// The next entry that is known to the end, with its request if it has one.
    pub fn pop(&mut self) -> Option<(Entry, SentBy)> {
        let first = self.waiting.front()?;
        let is_settled = first.answer.as_ref().is_none_or(|answer| {
            answer.is_settled()
                || self.number - answer.number >= RECORDS
                || self.is_far(first.entry.span().end())
        });
        is_settled.then(|| self.take_first()).flatten()
    }

    /// The next entry where an input ends that may grow. Without a request near by none is waited for: a writer that keeps
    /// requests has them beside its answers.
    pub fn pop_where_it_may_grow(&mut self) -> Option<(Entry, SentBy)> {
        if !self.requests.is_empty() {
            return self.pop();
        }
        self.is_early = true;
        self.take_first()
    }

    /// The next entry at the end of the input, where nothing comes any more.
    pub fn pop_at_end(&mut self) -> Option<(Entry, SentBy)> {
        self.take_first()
    }

    /// Where a reader must begin that goes on behind what was given on: at the first record that may be the request of a later
    /// answer, or of one that was given on early. `position` is where it goes on.
    pub fn context_from(&self, position: u64) -> u64 {
        let Some((_, last_end)) = self.given.back() else {
            return position;
        };
        let is_near = |(_, end): &&(u64, u64)| last_end.saturating_sub(*end) <= BYTES;
        let context = match self.is_early {
            true => self.given.front(),
            false => self
                .given
                .iter()
                .rev()
                .take(RECORDS as usize)
                .take_while(is_near)
                .last(),
        };
        context.map_or(position, |(offset, _)| *offset)
    }

    /// Whether an answer that ends here is so far from the last entry that no later one is near enough.
    fn is_far(&self, end: u64) -> bool {
        let last = self
            .waiting
            .back()
            .map_or(0, |waiting| waiting.entry.span().end());
        last.saturating_sub(end) > BYTES
    }

    fn take_first(&mut self) -> Option<(Entry, SentBy)> {
        let Waiting { entry, answer } = self.waiting.pop_front()?;
        self.give(&entry);
        let found = answer.and_then(|answer| answer.found);
        Some((entry, found.map(|found| found.sent_by).unwrap_or_default()))
    }

    fn give(&mut self, entry: &Entry) {
        let span = entry.span();
        if matches!(entry, Entry::Record(_)) {
            self.given.push_back((span.offset, span.end()));
        }
        let is_of_no_use = |(_, end): &(u64, u64)| span.end().saturating_sub(*end) > 2 * BYTES;
        while self.given.len() as u64 > 2 * RECORDS || self.given.front().is_some_and(is_of_no_use) {
            self.given.pop_front();
        }
    }

    /// Tells a request to the answers that wait.
    fn meet(&mut self, facts: &RequestFacts, offset: u64) {
        for waiting in self.waiting.iter_mut().rev() {
            let end = waiting.entry.span().end();
            let (Entry::Record(record), Some(answer)) = (&waiting.entry, &mut waiting.answer) else {
                continue;
            };
            let distance = self.number - answer.number;
            if distance > RECORDS || offset.saturating_sub(end) > BYTES {
                break;
            }
            answer.meet(record, (facts, offset), distance);
        }
    }

    /// An answer, with what the requests before it say.
    fn answer(&self, record: &Record) -> Answer {
        let mut answer = Answer {
            number: self.number,
            names: None,
            found: None,
        };
        for request in self.requests.iter().rev() {
            if record.span.offset.saturating_sub(request.end) > BYTES {
                break;
            }
            answer.meet(
                record,
                (&request.facts, request.offset),
                self.number - request.number,
            );
        }
        answer
    }
}

/// Answers that were given on early, at the end of what was there of an input.
#[derive(Debug, PartialEq, Eq)]
pub struct EarlyAnswers {
    /// Where the entry before the first of them ends.
    pub begin: u64,
    /// Number of records from there on.
    pub records: u64,
}

/// The answers before `position` that were given on early, if a request has come behind it that may be of one of them. `reader` begins at
/// the context of `position`.
///
/// # Errors
/// What the reader says.
pub fn early_answers(
    reader: &mut warc::Reader,
    (context_from, position): (u64, u64),
) -> Result<Option<EarlyAnswers>, warc::ReadError> {
    let mut exchanges = Exchanges::default();
    let (mut settled, mut begin) = (0, context_from);
    let mut came = 0;
    while let Some(entry) = reader.next_entry()? {
        let span = entry.span();
        let is_record = matches!(entry, Entry::Record(_));
        if span.offset < position {
            exchanges.push(entry);
            while let Some((entry, _)) = exchanges.pop() {
                begin = entry.span().end();
                settled += u64::from(matches!(entry, Entry::Record(_)));
            }
            continue;
        }
        // Without all records near them nobody knows whether they were early: context is kept for those that were.
        let has_context =
            context_from == 0 || settled >= RECORDS || begin.saturating_sub(context_from) > BYTES;
        if exchanges.waiting.is_empty() || !has_context || came >= RECORDS || span.offset - position > BYTES {
            return Ok(None);
        }
        if matches!(&entry, Entry::Record(record) if RequestFacts::of(record).is_some()) {
            let records = exchanges.waiting.iter();
            let records = records.filter(|waiting| matches!(waiting.entry, Entry::Record(_)));
            return Ok(Some(EarlyAnswers {
                begin,
                records: records.count() as u64,
            }));
        }
        came += u64::from(is_record);
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
