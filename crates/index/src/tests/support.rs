//! An index together with the model, and short constructors for captures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use extract::{Capture, CaptureKind, Link, Page};

use crate::model::Model;
use crate::tables::Table;
use crate::views::capture_row::text_hash;
use crate::{
    AnchorRow, Batch, CaptureRow, DumpFormat, Epoch, EpochReport, Fingerprints, Index, InputId,
    InputProgress, InputState, LedgerRow, PageChange, PastVersion, Recount, RollBack, Selector, Settings,
    Snapshot, TakedownOutcome, TakedownRequest, TopRow, View, When, past_count,
};

/// An index in a temporary directory, and a model with the same history.
pub(crate) struct Pair {
    home: tempfile::TempDir,
    index: Option<Index>,
    pub(crate) model: Model,
    /// The state of a follower of the epochs' reports.
    follower: Follower,
}

/// Past versions from the reports of epochs. For current versions, when they began and how many are
/// past.
#[derive(Default)]
struct Follower {
    past: BTreeMap<(String, i64), PastVersion>,
    pages: BTreeMap<String, (i64, u32)>,
    /// Anchor texts of pages with their weights.
    anchors: BTreeMap<String, Vec<(String, u8)>>,
}

fn weights(anchors: Vec<AnchorRow>) -> Vec<(String, u8)> {
    let weighed = |anchor: AnchorRow| (anchor.weight(), anchor.text);
    anchors
        .into_iter()
        .map(weighed)
        .map(|(weight, text)| (text, weight))
        .collect()
}

impl Follower {
    fn follow(&mut self, report: &EpochReport, snapshot: &Snapshot) {
        let mut pages = report.pages.iter();
        for change in &report.page_changes {
            match change {
                PageChange::Upsert(url_key) => {
                    let page = pages.next().expect("a page of each upsert");
                    assert_eq!(page.url_key, *url_key);
                    let known = self
                        .pages
                        .insert(url_key.clone(), (page.since_ms, page.past_versions));
                    assert_eq!(page.is_new, known.is_none(), "{url_key}");
                    match &page.anchors {
                        Some(anchors) => {
                            self.anchors.insert(url_key.clone(), weights(anchors.clone()));
                        }
                        None => assert!(self.anchors.contains_key(url_key), "{url_key}"),
                    }
                }
                PageChange::Delete(url_key) => {
                    assert!(self.pages.remove(url_key).is_some(), "{url_key}");
                    self.anchors.remove(url_key);
                }
                PageChange::Bucket(..) => {}
                PageChange::Anchors(url_key) => {
                    let now = weights(snapshot.anchors(url_key).unwrap().1);
                    let before = self.anchors.insert(url_key.clone(), now.clone());
                    assert!(before.is_some_and(|before| before != now), "{url_key}");
                }
                PageChange::Past(url_key) => assert!(!self.pages.contains_key(url_key), "{url_key}"),
            }
        }
        for changed in &report.past {
            let is_told = report
                .page_changes
                .iter()
                .any(|change| change.url_key() == changed.url_key);
            assert!(is_told, "{}", changed.url_key);
            for since_ms in &changed.gone {
                let gone = self.past.remove(&(changed.url_key.clone(), *since_ms));
                assert!(gone.is_some(), "{} since {since_ms}", changed.url_key);
            }
            for put in &changed.put {
                self.past
                    .insert((changed.url_key.clone(), put.since_ms), put.clone());
            }
        }
    }

    /// Reads changes without a report (those not made by a batch) from the index, as search does.
    fn read(&mut self, snapshot: &Snapshot, since: Epoch) {
        for change in snapshot.pages_changed_between(since, snapshot.epoch()) {
            let url_key = change.unwrap().url_key().to_owned();
            let (since_ms, past) = snapshot.history(&url_key).unwrap();
            self.pages.remove(&url_key);
            self.anchors.remove(&url_key);
            if has_content(snapshot, &url_key) {
                self.pages.insert(url_key.clone(), (since_ms, past_count(&past)));
                let now = weights(snapshot.anchors(&url_key).unwrap().1);
                self.anchors.insert(url_key.clone(), now);
            }
            self.past.retain(|(key, _), _| *key != url_key);
            for version in past {
                self.past.insert((url_key.clone(), version.since_ms), version);
            }
        }
    }

    fn check(&self, snapshot: &Snapshot, model: &Model) {
        let mut past = BTreeMap::new();
        let mut texts = 0;
        for url_key in model.url_keys() {
            let history = snapshot.history(&url_key).unwrap();
            assert_eq!(history, model.history(&url_key), "history of {url_key}");
            let expected = model
                .has_content(&url_key)
                .then_some((history.0, past_count(&history.1)));
            assert_eq!(
                self.pages.get(&url_key).copied(),
                expected,
                "reported for {url_key}"
            );
            let kept = model.past_texts(&url_key);
            texts += kept.len();
            for version in history.1 {
                if let Some(hash) = version.text {
                    let text = snapshot.past_text(&url_key, hash).unwrap().expect("a text");
                    assert_eq!(text_hash(&text), hash);
                    let is_current = model.text_kept(&url_key).as_ref() == Some(&text);
                    assert!(kept.contains(&text) || is_current, "{text} of {url_key}");
                }
                past.insert((url_key.clone(), version.since_ms), version);
            }
        }
        assert_eq!(self.past, past, "past versions as reported");
        let mut follower = BTreeMap::new();
        let mut expected = model.anchors();
        for url_key in model.uri_keys() {
            let (_, anchors) = snapshot.anchors(&url_key).unwrap();
            let expected = expected.remove(&url_key).unwrap_or_default();
            assert_eq!(anchors, expected, "anchors of {url_key}");
            if has_content(snapshot, &url_key) {
                follower.insert(url_key, weights(anchors));
            }
        }
        assert_eq!(self.anchors, follower, "anchors as reported");
        let rows = snapshot.cut().iter(Table::PastTexts).count();
        assert_eq!(rows, texts, "stored texts");
    }
}

/// Little memory, and rankings of a few rows so that their floors move.
pub(crate) fn settings() -> Settings {
    Settings {
        cache_size_bytes: 4 << 20,
        memtable_size_bytes: 8 << 20,
        ranking_rows_max: 4,
        ..Settings::default()
    }
}

impl Pair {
    pub(crate) fn new() -> Pair {
        let home = tempfile::tempdir().unwrap();
        let index = Index::open(&home.path().join("index"), None, settings()).unwrap();
        Pair {
            home,
            index: Some(index),
            model: Model::default(),
            follower: Follower::default(),
        }
    }

    /// Creates a pair with one input.
    pub(crate) fn with_input() -> (Pair, InputId) {
        let mut pair = Pair::new();
        let input = pair.input("a.warc.gz");
        (pair, input)
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.home.path().join("index")
    }

    /// Takes the index, for tests that the model has no part in.
    pub(crate) fn take_index(&mut self) -> Index {
        self.index.take().unwrap()
    }

    pub(crate) fn index(&self) -> &Index {
        self.index.as_ref().unwrap()
    }

    /// Returns inputs that were started and not read to their end.
    pub(crate) fn unfinished(&self) -> Vec<InputId> {
        let begun =
            |entry: &LedgerRow| matches!(entry.state, InputState::Loading | InputState::Failed { .. });
        self.index().inputs(begun).into_iter().map(|(id, _)| id).collect()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.index().snapshot()
    }

    pub(crate) fn close(&mut self) {
        self.index = None;
    }

    pub(crate) fn reopen(&mut self) {
        self.close();
        self.index = Some(Index::open(&self.dir(), None, settings()).unwrap());
    }

    pub(crate) fn input(&mut self, name: &str) -> InputId {
        let (id, _) = self.index().register_input(entry(name), None).unwrap();
        assert_eq!(self.model.register_input(entry(name), None), id);
        id
    }

    /// Continues an input under another name.
    pub(crate) fn rename(&mut self, input: InputId, name: &str) {
        let epoch = self.snapshot().epoch();
        let (id, _) = self.index().register_input(entry(name), Some(input)).unwrap();
        let snapshot = self.snapshot();
        self.follower.read(&snapshot, epoch);
        assert_eq!(self.model.register_input(entry(name), Some(input)), id);
    }

    /// Finds the content of an input under another name.
    pub(crate) fn find_again(&mut self, input: InputId, name: &str) {
        let epoch = self.snapshot().epoch();
        let known = self.snapshot().input(input).unwrap();
        let found = LedgerRow::pending(name, "", &known.digest, known.size, "");
        let (id, _) = self.index().register_input(found.clone(), None).unwrap();
        let snapshot = self.snapshot();
        self.follower.read(&snapshot, epoch);
        assert_eq!((id, self.model.register_input(found, None)), (input, input));
    }

    pub(crate) fn apply(&mut self, captures: Vec<(InputId, Capture)>) -> EpochReport {
        self.apply_batch(captures, Vec::new())
    }

    pub(crate) fn apply_batch(
        &mut self,
        captures: Vec<(InputId, Capture)>,
        progress: Vec<InputProgress>,
    ) -> EpochReport {
        let batch = || Batch {
            captures: captures.clone(),
            progress: progress.clone(),
            ..Batch::default()
        };
        self.model.apply(batch());
        let report = self.index().apply(batch()).unwrap();
        self.follower.follow(&report, &self.snapshot());
        report
    }

    /// Takes an input back to a position before which there are no records.
    pub(crate) fn take_back(&mut self, input: InputId, bytes_done: u64) -> EpochReport {
        let to = RollBack {
            bytes_done,
            exchange_from: 0,
            records: 0,
            state: InputState::Loading,
        };
        let model = self.model.clone();
        let mut reread = |row: &CaptureRow| {
            let capture = model.capture(row.input, row.offset);
            capture.cloned().ok_or_else(|| "not there".into())
        };
        let report = self.index().take_back(input, &to, &mut reread, None).unwrap();
        self.model.take_back(input, &to);
        self.follower.follow(&report, &self.snapshot());
        report
    }

    /// Takes captures down.
    pub(crate) fn take_down(&mut self, selector: &Selector) -> TakedownOutcome {
        let model = self.model.clone();
        let mut reread = |row: &CaptureRow| {
            let capture = model.capture(row.input, row.offset);
            capture.cloned().ok_or_else(|| "not there".into())
        };
        let asked = take_down(selector);
        let took_down = self.index().take_down(&asked, &mut reread, None).unwrap();
        self.follower.follow(&took_down.report, &self.snapshot());
        let expected = self.model.take_down(selector);
        if took_down.is_new {
            assert_eq!(took_down.takedown.captures, expected);
        }
        took_down
    }

    /// Loads one capture per epoch, and compares everything at the end.
    #[track_caller]
    pub(crate) fn load(&mut self, input: InputId, captures: impl IntoIterator<Item = Capture>) {
        for capture in captures {
            self.apply(vec![(input, capture)]);
        }
        self.check();
    }

    /// Compares all reads with the model.
    #[track_caller]
    pub(crate) fn check(&self) {
        let snapshot = self.snapshot();
        let expected = View::ALL.map(|view| (view, model_dump(&self.model, view)));
        for (view, expected) in &expected {
            assert_eq!(dump(&snapshot, *view), *expected, "view {}", view.name());
        }
        self.check_reads(&snapshot);
        self.check_links_ever(&snapshot);
        self.follower.check(&snapshot, &self.model);
        check_totals(&snapshot, &expected);
        let checked = snapshot.check().unwrap();
        assert_eq!(checked.damages, [], "tables derived from others");
        assert_eq!(checked.fingerprints, self.recount(), "recomputed");
        let totals = snapshot.totals().unwrap();
        assert_eq!((checked.uris, checked.domains), (totals.uris, totals.domains));
    }

    /// Returns the fingerprints of the model's captures.
    fn recount(&self) -> Fingerprints {
        let mut recount = Recount::new(&self.dir());
        for (entry, capture) in self.model.captures() {
            let (input, collection) = (&entry.input, &entry.collection);
            recount.add(input, collection, capture.clone()).unwrap();
        }
        recount.finish().unwrap()
    }

    /// Compares the links of past versions, at every time and of all time.
    #[track_caller]
    fn check_links_ever(&self, snapshot: &Snapshot) {
        // The model is slow for each link, so large histories are sampled.
        let linked = self.model.linked_ever();
        for (target, linking) in linked.iter().step_by(linked.len() / 40 + 1) {
            let candidates = snapshot.sources_ever(target, None, usize::MAX).unwrap();
            let mut asked = linking.clone();
            asked.extend(candidates.iter().cloned());
            let mut ever = Vec::new();
            for source in asked.iter().step_by(asked.len() / 40 + 1) {
                let whens = [0, 999, 1000, 2000, 3000, i64::MAX].map(Some);
                for at_ms in whens.into_iter().chain([None]) {
                    let holds = |time_ms: i64| at_ms.is_some_and(|at_ms| time_ms <= at_ms);
                    let when = at_ms.map_or(When::Ever, |_| When::At(&holds));
                    let found = snapshot.link_when(source, target, when, None).unwrap();
                    let expected = self.model.link_when(source, target, at_ms);
                    assert_eq!(found, expected, "from {source} to {target} at {at_ms:?}");
                    if at_ms.is_none() && found.is_some() {
                        ever.push(source.clone());
                    }
                }
            }
            for source in &ever {
                assert!(candidates.contains(source), "{source} to {target}");
            }
            let mut paged: Vec<String> = Vec::new();
            loop {
                let after = paged.last().map(String::as_str);
                let page = snapshot.sources_ever(target, after, 7).unwrap();
                if page.is_empty() {
                    break;
                }
                paged.extend(page);
            }
            assert_eq!(paged, candidates, "pages of the sources of {target}");
        }
        let sets = self.model.past_links().len();
        let kept = snapshot.cut().iter(Table::PastLinks).count();
        assert_eq!(kept, sets, "stored sets");
    }

    #[track_caller]
    fn check_shown(&self, snapshot: &Snapshot, key: &str) {
        let shown = snapshot.shown(key).unwrap();
        assert_eq!(
            shown.text.as_deref(),
            self.model.text(key).as_deref(),
            "text shown of {key}"
        );
        let uri = snapshot.uri(key).unwrap();
        let counts = uri.map_or((0, 0), |uri| (uri.inlinks, uri.inlinks_external));
        assert_eq!(
            (shown.inlinks, shown.inlinks_external),
            counts,
            "in-links shown of {key}"
        );
    }

    #[track_caller]
    fn check_reads(&self, snapshot: &Snapshot) {
        let mut expected = self.model.inlinks();
        for key in self.model.url_keys() {
            let inlinks = snapshot.inlinks(&key, None, usize::MAX).unwrap();
            let inlinks: Vec<_> = inlinks.into_iter().map(|l| (l.source_key, l.anchor)).collect();
            let expected = expected.remove(&key).unwrap_or_default();
            assert_eq!(inlinks, expected, "in-links of {key}");
            assert_eq!(
                snapshot.text(&key).unwrap(),
                self.model.text(&key),
                "text of {key}"
            );
            // Twice, because the second read hits the cache.
            for _ in 0..2 {
                self.check_shown(snapshot, &key);
            }
            let last_seen = snapshot.version(&key).unwrap().map(|v| v.last_seen_ms);
            assert_eq!(last_seen, self.model.last_seen_ms(&key), "last seen of {key}");
        }
        let domains: Vec<String> = snapshot
            .domains(None, usize::MAX)
            .unwrap()
            .into_iter()
            .map(|d| d.domain)
            .collect();
        let ranked = self.model.top();
        for domain in domains.iter().map(|d| Some(d.as_str())).chain([None]) {
            let is_of = |row: &&TopRow| domain.is_none_or(|d| urlkey::domain_of_key(&row.url_key) == d);
            let expected: Vec<TopRow> = ranked.iter().filter(is_of).cloned().collect();
            assert_eq!(
                snapshot.top(domain, None, usize::MAX).unwrap(),
                expected,
                "ranking of {domain:?}"
            );
            // Small pages are read up to some dozens, because rows behind a floor are sorted for each.
            let page_rows = (expected.len() / 40).max(3);
            let mut paged = Vec::new();
            loop {
                let page = snapshot.top(domain, paged.last(), page_rows).unwrap();
                if page.is_empty() {
                    break;
                }
                paged.extend(page);
            }
            assert_eq!(paged, expected, "pages of the ranking of {domain:?}");
        }
    }
}

#[track_caller]
fn check_totals(snapshot: &Snapshot, expected: &[(View, String)]) {
    let totals = snapshot.totals().unwrap();
    let lines = |view| {
        let of_view = expected.iter().find(|(of, _)| *of == view);
        of_view.map_or(0, |(_, dump)| dump.lines().count() as u64)
    };
    assert_eq!(totals.captures, lines(View::Captures));
    assert_eq!(totals.pages, lines(View::Pages));
    assert_eq!(totals.links, lines(View::Links));
    assert_eq!(totals.uris, lines(View::Uris));
    assert_eq!(totals.domains, lines(View::Domains));
    assert_eq!(totals.quarantined, lines(View::Quarantine));
    assert_eq!(totals.inputs, lines(View::Ledger));
}

pub(crate) fn take_down(selector: &Selector) -> TakedownRequest {
    TakedownRequest {
        selector: selector.clone(),
        who: "somebody".to_owned(),
        reason: "asked for".to_owned(),
        at_ms: 7,
    }
}

pub(crate) fn dump(snapshot: &Snapshot, view: View) -> String {
    let mut out = Vec::new();
    snapshot.dump(view, DumpFormat::Tsv, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn model_dump(model: &Model, view: View) -> String {
    let mut out = Vec::new();
    model.dump(view, DumpFormat::Tsv, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn all_dumps(snapshot: &Snapshot) -> Vec<String> {
    View::ALL.iter().map(|&view| dump(snapshot, view)).collect()
}

pub(crate) fn entry(name: &str) -> LedgerRow {
    let (location, digest) = (format!("/inputs/{name}"), format!("sha256:{name}"));
    LedgerRow::pending(name, &location, &digest, 1000, "")
}

pub(crate) fn progress(input: InputId, bytes_done: u64, state: InputState) -> InputProgress {
    InputProgress {
        input,
        bytes_done,
        exchange_from: 0,
        records: 1,
        captures_recounted: 0,
        quarantined: Vec::new(),
        state,
        cut: None,
        digested: None,
    }
}

/// Returns whether search has a key.
fn has_content(snapshot: &Snapshot, url_key: &str) -> bool {
    let version = snapshot.version(url_key).unwrap();
    version.is_some_and(|version| version.is_page || version.is_document)
}

pub(crate) fn key(url: &str) -> String {
    urlkey::url_key(url).unwrap()
}

/// A page fetched at second `time`, stored at offset `time`, linking to `(url, anchor)`.
pub(crate) fn page(url: &str, time: i64, links: &[(&str, &str)]) -> Capture {
    let link = |&(url, anchor): &(&str, &str)| Link {
        url_key: key(url),
        url: url.into(),
        anchor: anchor.into(),
        nofollow: false,
        kind: Default::default(),
    };
    Capture {
        url_key: key(url),
        url: url.into(),
        fetch_time_ms: time * 1000,
        mime: "text/html".into(),
        status: 200,
        digest: format!("D{time}"),
        offset: time as u64,
        length: 10,
        kind: CaptureKind::Response,
        page: Some(Page {
            title: format!("Title {time}"),
            text: format!("Text {time}"),
            links: links.iter().map(link).collect(),
            ..Page::default()
        }),
        ..Capture::default()
    }
}

/// The same URL and time with another kind of capture.
pub(crate) fn as_kind(kind: CaptureKind, mut capture: Capture) -> Capture {
    capture.kind = kind;
    if kind == CaptureKind::Revisit {
        capture.page = None;
        capture.mime = "warc/revisit".into();
    }
    capture
}

/// 96 kB of text that compresses to half.
pub(crate) fn noise(mut seed: u64) -> String {
    let mut text = String::new();
    for _ in 0..12_000 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:08x}", seed >> 32));
    }
    text
}

/// Runs the test `child` of this binary in another process that ends at a crash point. Passes `dir`
/// in the environment variable `variable`. Returns whether the child completed.
pub(crate) fn run_child(child: &str, variable: &str, dir: &Path, point: &str) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", child, "--test-threads", "1"])
        .env(variable, dir)
        .env("WEFT_CRASH_POINT", point)
        .output()
        .unwrap();
    output.status.success()
}
