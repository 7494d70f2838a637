//! Matches requests and responses of one input, so that each capture knows its method.
//!
//! The request of a response is searched among the [`RECORDS`] records before and after it, within
//! [`BYTES`] of the input. A request linked by `WARC-Concurrent-To` takes precedence over one of
//! the same URL and time, and a nearer one over a farther one.
//!
//! Invariants:
//! - the method of a response depends only on the records around it, not on where reading began or
//!   paused: a response is released when no later record can be its request. The exception is the
//!   end of an input that may grow. Without a request nearby, responses there are released early,
//!   so that inputs without requests are loaded to their end. If a request follows later, they are
//!   taken back ([`early_answers`]);
//! - a reader that continues begins at [`Exchanges::context_from`], and only inspects the records
//!   before its position;
//! - memory is bounded by twice that many records.

use std::collections::VecDeque;

use extract::{Belonging, ExchangeNames, RequestFacts};
use warc::{Entry, Record};

/// Limit of records between a request and its response. Writers put them next to each other; some
/// write a few records of other exchanges in between.
const RECORDS: u64 = 16;

/// Limit of bytes of the input between a request and its response.
const BYTES: u64 = 4 << 20;

/// Entries of an input, in order, that wait until the methods of their captures are known.
#[derive(Default)]
pub struct Exchanges {
    /// Entries before this offset were released before; their requests may belong to later
    /// responses.
    begin: u64,
    /// Number of the last record.
    number: u64,
    waiting: VecDeque<PendingEntry>,
    /// The most recent requests.
    requests: VecDeque<Request>,
    /// Offsets and ends of the most recent records released, up to twice the allowed distance of a
    /// request.
    given: VecDeque<(u64, u64)>,
    /// Whether responses may have been released before their requests could be known.
    is_early: bool,
}

struct PendingEntry {
    entry: Entry,
    /// Set for a response.
    answer: Option<PendingResponse>,
}

struct PendingResponse {
    number: u64,
    /// Parsed when the first request nearby is found, because for WAT this parses the record.
    names: Option<ExchangeNames>,
    found: Option<RequestMatch>,
}

/// The request of an entry that was released.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RequestMethod {
    /// Method of the request; empty if none was found.
    pub method: String,
    /// Offset of the request's record.
    pub offset: u64,
}

/// The best request so far.
struct RequestMatch {
    request: RequestMethod,
    belonging: Belonging,
    /// Distance in records.
    distance: u64,
}

struct Request {
    number: u64,
    offset: u64,
    end: u64,
    facts: RequestFacts,
}

impl PendingResponse {
    /// Takes a request if it is better than the one found so far. A linked one is never replaced,
    /// because the response may already have been released.
    fn offer(&mut self, record: &Record, (facts, offset): (&RequestFacts, u64), distance: u64) {
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
            self.found = Some(RequestMatch {
                request: RequestMethod {
                    method: facts.method.clone(),
                    offset,
                },
                belonging,
                distance,
            });
        }
    }

    /// Returns whether its request is certain.
    fn is_settled(&self) -> bool {
        self.found
            .as_ref()
            .is_some_and(|found| found.belonging == Belonging::Named)
    }
}

impl Exchanges {
    /// Continues at `begin`: entries before it are only inspected.
    pub fn from(begin: u64) -> Exchanges {
        Exchanges {
            begin,
            ..Exchanges::default()
        }
    }

    /// Adds the next entry.
    pub fn push(&mut self, entry: Entry) {
        let span = entry.span();
        let mut answer = None;
        if let Entry::Record(record) = &entry {
            self.number += 1;
            if let Some(facts) = RequestFacts::from_record(record) {
                self.offer(&facts, span.offset);
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
        if span.offset < self.begin {
            self.give(&entry)
        } else {
            self.waiting.push_back(PendingEntry { entry, answer })
        }
    }

    /// Returns the next entry whose method is final, with its request if it has one.
    pub fn pop(&mut self) -> Option<(Entry, RequestMethod)> {
        let first = self.waiting.front()?;
        let is_settled = first.answer.as_ref().is_none_or(|answer| {
            answer.is_settled()
                || self.number - answer.number >= RECORDS
                || self.is_far(first.entry.span().end())
        });
        is_settled.then(|| self.take_first()).flatten()
    }

    /// Returns the next entry at the end of an input that may grow. If there is no request nearby,
    /// it does not wait for one: a writer that keeps requests writes them next to their responses.
    pub fn pop_where_it_may_grow(&mut self) -> Option<(Entry, RequestMethod)> {
        if !self.requests.is_empty() {
            return self.pop();
        }
        self.is_early = true;
        self.take_first()
    }

    /// Returns the next entry at the end of the input, where no record can follow.
    pub fn pop_at_end(&mut self) -> Option<(Entry, RequestMethod)> {
        self.take_first()
    }

    /// Returns where a reader must begin to continue after the entries released: at the first
    /// record that may be the request of a later response, or of one released early. `position` is
    /// where it continues.
    pub fn context_from(&self, position: u64) -> u64 {
        let Some((_, last_end)) = self.given.back() else {
            return position;
        };
        let is_near = |(_, end): &&(u64, u64)| last_end.saturating_sub(*end) <= BYTES;
        let context = if self.is_early {
            self.given.front()
        } else {
            self.given
                .iter()
                .rev()
                .take(RECORDS as usize)
                .take_while(is_near)
                .last()
        };
        context.map_or(position, |(offset, _)| *offset)
    }

    /// Returns whether a response that ends here is so far from the last entry that no later
    /// request is near enough.
    fn is_far(&self, end: u64) -> bool {
        let last = self
            .waiting
            .back()
            .map_or(0, |waiting| waiting.entry.span().end());
        last.saturating_sub(end) > BYTES
    }

    fn take_first(&mut self) -> Option<(Entry, RequestMethod)> {
        let PendingEntry { entry, answer } = self.waiting.pop_front()?;
        self.give(&entry);
        let found = answer.and_then(|answer| answer.found);
        Some((entry, found.map(|found| found.request).unwrap_or_default()))
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

    /// Offers a request to the waiting responses.
    fn offer(&mut self, facts: &RequestFacts, offset: u64) {
        for waiting in self.waiting.iter_mut().rev() {
            let end = waiting.entry.span().end();
            let (Entry::Record(record), Some(answer)) = (&waiting.entry, &mut waiting.answer) else {
                continue;
            };
            let distance = self.number - answer.number;
            if distance > RECORDS || offset.saturating_sub(end) > BYTES {
                break;
            }
            answer.offer(record, (facts, offset), distance);
        }
    }

    /// Returns a response, matched with the requests before it.
    fn answer(&self, record: &Record) -> PendingResponse {
        let mut answer = PendingResponse {
            number: self.number,
            names: None,
            found: None,
        };
        for request in self.requests.iter().rev() {
            if record.span.offset.saturating_sub(request.end) > BYTES {
                break;
            }
            answer.offer(
                record,
                (&request.facts, request.offset),
                self.number - request.number,
            );
        }
        answer
    }
}

/// Responses released early, at the end of an input that has grown since.
#[derive(Debug, PartialEq, Eq)]
pub struct EarlyAnswers {
    /// End of the entry before the first of them.
    pub begin: u64,
    /// Number of records from there on.
    pub records: u64,
}

/// Returns the responses before `position` that were released early, if a later request may belong
/// to one of them. `reader` must begin at the context of `position`.
///
/// # Errors
/// The error of the reader.
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
        // Without all records near them it is unknown whether they were released early. The context
        // is kept for those that were.
        let has_context =
            context_from == 0 || settled >= RECORDS || begin.saturating_sub(context_from) > BYTES;
        if exchanges.waiting.is_empty() || !has_context || came >= RECORDS || span.offset - position > BYTES {
            return Ok(None);
        }
        if matches!(&entry, Entry::Record(record) if RequestFacts::from_record(record).is_some()) {
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
