//! Random captures, access rules, users, takedowns and kills: in every case each user finds exactly
//! what a reference list of captures predicts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::program::{Server, run, weft};

const HOSTS: [&str; 4] = ["a.example.org", "b.example.org", "museum.net", "paper.co.uk"];
const WORDS: [&str; 8] = [
    "river", "stone", "harbour", "letters", "winter", "engine", "garden", "copper",
];
const COLLECTIONS: [&str; 3] = ["", "crawl", "closed"];
const FILES: usize = 6;
const ROUNDS: usize = 4;

/// A small generator, so that a printed seed reproduces a history (except for the exact moments of
/// kills).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % bound as u64) as usize
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

/// A capture of a page: its words, and its links with one word each.
#[derive(Debug, Clone)]
struct Capture {
    url: String,
    /// The year; `second` counts from its beginning.
    year: u32,
    second: usize,
    file: usize,
    words: BTreeSet<&'static str>,
    links: Vec<(String, &'static str)>,
}

impl Capture {
    fn key(&self) -> String {
        urlkey::url_key(&self.url).unwrap()
    }

    fn domain(&self) -> String {
        urlkey::domain_of_key(&self.key())
    }

    fn collection(&self) -> &'static str {
        COLLECTIONS[self.file % COLLECTIONS.len()]
    }

    fn record(&self) -> String {
        let words: Vec<&str> = self.words.iter().copied().collect();
        let mut body = format!("<html lang=en><body>{}", words.join(" "));
        for (url, word) in &self.links {
            // An attribute is not text of the page, but provides the anchor.
            body.push_str(&format!("<a href=\"{url}\"><img alt={word}></a>"));
        }
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n\
             WARC-Date: {}-01-01T00:{:02}:{:02}Z\r\nWARC-Target-URI: {}\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            self.year,
            self.second / 60,
            self.second % 60,
            self.url,
            http.len()
        )
    }
}

fn captures(random: &mut Random) -> Vec<Capture> {
    let url = |random: &mut Random| format!("http://{}/p{}", random.of(&HOSTS), random.below(4));
    let mut captures = Vec::new();
    for second in 0..60 {
        let words = (0..1 + random.below(3)).map(|_| *random.of(&WORDS)).collect();
        let links = (0..random.below(3))
            .map(|_| (url(random), *random.of(&WORDS)))
            .collect();
        captures.push(Capture {
            url: url(random),
            year: 2008 + random.below(6) as u32,
            // Captures have distinct times, so that the latest is well-defined.
            second,
            file: random.below(FILES),
            words,
            links,
        });
    }
    captures
}

/// The selection of a rule or a takedown.
#[derive(Debug, Clone)]
enum Which {
    Domain(String),
    Url(String),
    Prefix(String),
    Collection(&'static str),
    Before(u32),
}

impl Which {
    fn random(random: &mut Random, captures: &[Capture], is_rule: bool) -> Which {
        let capture = random.of(captures).clone();
        match random.below(4) {
            0 if is_rule => Which::Domain(capture.domain()),
            0 | 1 => Which::Url(capture.url),
            2 => Which::Prefix(format!("http://{}/", random.of(&HOSTS))),
            _ if random.below(2) == 0 => {
                Which::Collection(COLLECTIONS[1 + random.below(COLLECTIONS.len() - 1)])
            }
            _ => Which::Before(2008 + random.below(4) as u32),
        }
    }

    fn takes(&self, capture: &Capture) -> bool {
        match self {
            Which::Domain(domain) => capture.domain() == *domain,
            Which::Url(url) => capture.url == *url,
            Which::Prefix(prefix) => capture.url.starts_with(prefix.as_str()),
            Which::Collection(label) => capture.collection() == *label,
            Which::Before(year) => capture.year < *year,
        }
    }

    /// Returns the command-line flags; a rule by date covers everything up to the end of a year.
    fn flags(&self, is_rule: bool) -> Vec<String> {
        let (name, value) = match self {
            Which::Domain(domain) => ("--domain", domain.clone()),
            Which::Url(url) => ("--url", url.clone()),
            Which::Prefix(prefix) => ("--prefix", prefix.clone()),
            Which::Collection(label) => ("--collection", (*label).to_owned()),
            Which::Before(year) if is_rule => ("--to", (year - 1).to_string()),
            Which::Before(year) => ("--before", year.to_string()),
        };
        vec![name.to_owned(), value]
    }
}

/// The archive and the reference list.
struct World {
    root: tempfile::TempDir,
    captures: Vec<Capture>,
    loaded: BTreeSet<usize>,
    /// Takedowns in the order of the register, and whether they are in force.
    takedowns: Vec<(Which, bool)>,
    /// Rules, and whether staff is exempt.
    rules: Vec<(Which, bool)>,
    kills: usize,
}

impl World {
    fn archive(&self) -> PathBuf {
        self.root.path().join("a")
    }

    /// Runs a command. Sometimes kills it on the way and runs it again.
    fn command(&mut self, random: &mut Random, arguments: &[String], codes: &[i32]) -> String {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if random.below(3) == 0 {
            let mut child = weft(self.root.path(), &self.archive(), &arguments)
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(random.below(300) as u64));
            child.kill().unwrap();
            let ended = child.wait_with_output().unwrap();
            self.kills += usize::from(!ended.status.success());
        }
        run(weft(self.root.path(), &self.archive(), &arguments), codes)
    }

    fn load(&mut self, random: &mut Random, file: usize) {
        let mut arguments: Vec<String> = ["load", &format!("{file}.warc"), "--epoch-bytes", "2000"]
            .map(str::to_owned)
            .into();
        let label = COLLECTIONS[file % COLLECTIONS.len()];
        if !label.is_empty() {
            arguments.extend(["--collection".to_owned(), label.to_owned()]);
        }
        self.command(random, &arguments, &[0]);
        self.loaded.insert(file);
    }

    fn forget(&mut self, random: &mut Random) {
        let which = Which::random(random, &self.captures, false);
        let arguments = [vec!["forget".to_owned()], which.flags(false)].concat();
        self.command(random, &arguments, &[0]);
        self.takedowns.push((which, true));
        // A repeated selection is one takedown, and a kill may have come after it was done.
        let listed = self.json(&["forget", "--list"], "");
        let in_force: Vec<bool> = listed["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["undone"].is_null())
            .collect();
        if in_force.len() < self.takedowns.len() {
            self.takedowns.pop();
        }
        assert_eq!(in_force.len(), self.takedowns.len(), "{listed}");
    }

    fn undo(&mut self, random: &mut Random) {
        let number = random.below(self.takedowns.len());
        if self.takedowns[number].1 {
            let number_text = (number + 1).to_string();
            run(
                weft(
                    self.root.path(),
                    &self.archive(),
                    &["forget", "--undo", &number_text],
                ),
                &[0],
            );
            self.takedowns[number].1 = false;
            // Reloading the inputs brings excluded captures back.
            for file in self.loaded.clone() {
                self.load(random, file);
            }
        }
    }

    fn rule(&mut self, random: &mut Random) {
        if !self.rules.is_empty() && random.below(3) == 0 {
            let number = random.below(self.rules.len());
            let number_text = (number + 1).to_string();
            run(
                weft(self.root.path(), &self.archive(), &["rights", "rm", &number_text]),
                &[0],
            );
            self.rules.remove(number);
            return;
        }
        let which = Which::random(random, &self.captures, true);
        let but_staff = random.below(2) == 0;
        let mut arguments = [
            vec!["rights".to_owned(), "add".to_owned(), "--deny".to_owned()],
            which.flags(true),
        ]
        .concat();
        if but_staff {
            arguments.extend(["--except".to_owned(), "staff".to_owned()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(weft(self.root.path(), &self.archive(), &arguments), &[0]);
        self.rules.push((which, but_staff));
    }

    fn json(&self, arguments: &[&str], who: &str) -> Value {
        let mut arguments = [arguments, &["--json"]].concat();
        if !who.is_empty() {
            arguments.extend(["--as", if who == "public" { "" } else { who }]);
        }
        let text = run(weft(self.root.path(), &self.archive(), &arguments), &[0]);
        serde_json::from_str(text.trim()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Returns existing captures by key, the latest last.
    fn there(&self) -> BTreeMap<String, Vec<&Capture>> {
        let mut there: BTreeMap<String, Vec<&Capture>> = BTreeMap::new();
        for capture in &self.captures {
            let mut takedowns = self.takedowns.iter().filter(|(_, is_in_force)| *is_in_force);
            if self.loaded.contains(&capture.file) && !takedowns.any(|(which, _)| which.takes(capture)) {
                there.entry(capture.key()).or_default().push(capture);
            }
        }
        for captures in there.values_mut() {
            captures.sort_by_key(|capture| (capture.year, capture.second));
        }
        there
    }

    fn sees(&self, who: &str, capture: &Capture) -> bool {
        let hides =
            |(which, but_staff): &(Which, bool)| which.takes(capture) && !(*but_staff && who == "staff");
        who.is_empty() || !self.rules.iter().any(hides)
    }

    /// Compares all answers for each user with the reference list.
    fn check(&self, what: &str) {
        let there = self.there();
        let current: BTreeMap<&String, &Capture> = there
            .iter()
            .map(|(key, captures)| (key, *captures.last().unwrap()))
            .collect();
        let mut said: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (key, capture) in &current {
            let mut targets = BTreeSet::new();
            for (url, word) in &capture.links {
                let target = urlkey::url_key(url).unwrap();
                // One link per target, with the text of the first; no link to the page itself.
                if target != **key && targets.insert(target.clone()) {
                    said.entry(target).or_default().insert(word);
                }
            }
        }
        for who in ["", "public", "staff"] {
            let sees_all = who.is_empty()
                || self
                    .rules
                    .iter()
                    .all(|(_, but_staff)| *but_staff && who == "staff");
            for word in WORDS {
                let expected: BTreeMap<&str, &&Capture> = current
                    .iter()
                    .filter(|(key, capture)| {
                        let linked = sees_all && said.get(**key).is_some_and(|words| words.contains(word));
                        self.sees(who, capture) && (capture.words.contains(word) || linked)
                    })
                    .map(|(key, capture)| (key.as_str(), capture))
                    .collect();
                let found = self.json(&["search", word, "--facets", "--limit", "100"], who);
                let hits = found["hits"].as_array().unwrap();
                let keys: BTreeSet<&str> = hits.iter().map(|hit| hit["url_key"].as_str().unwrap()).collect();
                assert_eq!(
                    keys,
                    expected.keys().copied().collect(),
                    "{what}: {word} as {who:?}"
                );
                assert_eq!(
                    found["total"].as_u64(),
                    Some(expected.len() as u64),
                    "{what}: {word} as {who:?}"
                );
                check_facets(&found, &expected, &format!("{what}: {word} as {who:?}"));
            }
            self.check_captures(&there, who, what);
        }
    }

    fn check_captures(&self, there: &BTreeMap<String, Vec<&Capture>>, who: &str, what: &str) {
        for host in HOSTS {
            let url = format!("http://{host}/*");
            let mut arguments = vec!["cdx", &url, "--limit", "1000"];
            if !who.is_empty() {
                arguments.extend(["--as", if who == "public" { "" } else { who }]);
            }
            let of_host = there
                .values()
                .flatten()
                .filter(|capture| capture.url.starts_with(&url[..url.len() - 1]));
            let expected = of_host.filter(|capture| self.sees(who, capture)).count();
            // An empty result has exit code 1.
            let code = i32::from(expected == 0);
            let text = run(weft(self.root.path(), &self.archive(), &arguments), &[code]);
            assert_eq!(
                text.lines().count(),
                expected,
                "{what}: captures of {host} as {who:?}: {text}"
            );
        }
    }
}

fn check_facets(found: &Value, expected: &BTreeMap<&str, &&Capture>, what: &str) {
    for (field, of) in [
        (
            "domain",
            &(|capture: &Capture| capture.domain()) as &dyn Fn(&Capture) -> String,
        ),
        ("year", &|capture: &Capture| capture.year.to_string()),
    ] {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for capture in expected.values() {
            *counts.entry(of(capture)).or_default() += 1;
        }
        let facets = found["facets"].as_array().unwrap();
        let facet = facets.iter().find(|facet| facet["field"] == field);
        let values = facet
            .map(|facet| facet["values"].as_array().unwrap().clone())
            .unwrap_or_default();
        let values: BTreeMap<String, u64> = values
            .iter()
            .map(|value| {
                (
                    value["value"].as_str().unwrap().to_owned(),
                    value["count"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(values, counts, "{what}: by {field}");
    }
}

fn write_files(root: &Path, captures: &[Capture]) {
    for file in 0..FILES {
        let records: String = captures
            .iter()
            .filter(|capture| capture.file == file)
            .map(Capture::record)
            .collect();
        std::fs::write(root.join(format!("{file}.warc")), records).unwrap();
    }
}

#[test]
fn everybody_finds_what_a_list_of_the_captures_says() {
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or(u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("WEFT_TEST_SEED={seed}");
    let mut random = Random(seed | 1);
    let captures = captures(&mut random);
    let root = tempfile::tempdir().unwrap();
    write_files(root.path(), &captures);
    let mut world = World {
        root,
        captures,
        loaded: BTreeSet::new(),
        takedowns: Vec::new(),
        rules: Vec::new(),
        kills: 0,
    };
    for round in 0..ROUNDS {
        for _ in 0..5 {
            match random.below(6) {
                0 if !world.loaded.is_empty() => world.forget(&mut random),
                1 if !world.takedowns.is_empty() => world.undo(&mut random),
                2 | 3 if !world.loaded.is_empty() => world.rule(&mut random),
                _ => {
                    let file = random.below(FILES);
                    world.load(&mut random, file);
                }
            }
        }
        let what = format!(
            "seed {seed}, round {round}, {} kills; takedowns {:?}; rules {:?}",
            world.kills, world.takedowns, world.rules
        );
        // Questions open the archive themselves, or ask the server that has it open.
        let server = (round % 2 == 1).then(|| Server::start(world.root.path(), &world.archive()));
        world.check(&what);
        if let Some(server) = server {
            server.stop();
        }
        run(weft(world.root.path(), &world.archive(), &["verify"]), &[0]);
    }
    println!("{} kills", world.kills);
}
