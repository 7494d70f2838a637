//! Fuzzy matching: finds keys that differ only in arguments that do not matter, so that a capture
//! of one can replace the other.
//!
//! A page requests `x.js?_=1390766784`, or a URL with its reader's session, and the crawler got
//! another number or session. Keys keep these arguments, because only the reader of an archive can
//! decide that they do not matter. Fuzzy matching is therefore used only after the lookup of the
//! exact key has failed. All rules are in the table [`FUZZY_RULES`], which docs/replay.md lists.
//!
//! The idea comes from the fuzzy rules that other replay programs share. The rules are Weft's own.

use crate::KeyRange;

/// Where a rule applies, and which parts of a key it ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuzzyRule {
    /// Name that responses give for a capture found by the rule.
    pub name: &'static str,
    /// Describes the purpose of the rule.
    pub about: &'static str,
    /// Where it applies, and how.
    pub effect: FuzzyEffect,
}

/// The effect of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzyEffect {
    /// On all hosts, ignores arguments with these names if their value is of this kind. A star at
    /// the end of a name matches any rest.
    Drops(&'static [&'static str], FuzzyValue),
    /// On some hosts, compares only these arguments. Without any, ignores the whole query.
    Keeps {
        /// The hosts in the form of keys. One that ends in a comma matches every host below it.
        hosts: &'static [&'static str],
        /// The path, or a prefix of paths if it ends in a slash.
        path: &'static str,
        /// Names of arguments. The rule applies only to keys that have the first of them.
        arguments: &'static [&'static str],
    },
    /// Ignores the whole query if the path ends in a dot and one of these. Servers send the same
    /// file for any query.
    Files(&'static [&'static str]),
}

/// Which values of an argument are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzyValue {
    /// Any value.
    Any,
    /// A number, as from clocks and random generators.
    Number,
    /// At least 16 letters and digits.
    Id,
}

const YOUTUBE: &[&str] = &["com,youtube", "com,youtube,m", "com,youtube-nocookie"];

/// All rules. If several apply to a key, the rule of its site comes before the others, and `file`
/// comes last.
pub const FUZZY_RULES: &[FuzzyRule] = &[
    FuzzyRule {
        name: "cache-buster",
        about: "numbers that bypass caches",
        effect: FuzzyEffect::Drops(
            &[
                "_",
                "__",
                "cb",
                "bust",
                "cachebust*",
                "cache_bust*",
                "nocache",
                "uncache",
                "rnd",
                "rand",
                "random",
                "ord",
                "ts",
                "timestamp",
                "dojo.preventcache",
                "preventcache",
            ],
            FuzzyValue::Number,
        ),
    },
    FuzzyRule {
        name: "callback",
        about: "the name of the JSONP callback function",
        effect: FuzzyEffect::Drops(
            &["callback", "jsonp", "jsonpcallback", "jsoncallback"],
            FuzzyValue::Any,
        ),
    },
    FuzzyRule {
        name: "session",
        about: "session IDs, also after a semicolon in the path",
        effect: FuzzyEffect::Drops(
            &[
                "jsessionid",
                "phpsessid",
                "aspsessionid*",
                "sessionid",
                "session_id",
                "sessid",
                "oscsid",
                "zenid",
                "cfid",
                "cftoken",
            ],
            FuzzyValue::Any,
        ),
    },
    FuzzyRule {
        name: "session-id",
        about: "session IDs under names that also have other meanings",
        effect: FuzzyEffect::Drops(&["sid", "s"], FuzzyValue::Id),
    },
    FuzzyRule {
        name: "campaign",
        about: "campaign and click tracking",
        effect: FuzzyEffect::Drops(
            &[
                "utm_*", "gclid", "gclsrc", "dclid", "fbclid", "msclkid", "yclid", "igshid", "mc_cid",
                "mc_eid", "_ga", "_gl",
            ],
            FuzzyValue::Any,
        ),
    },
    FuzzyRule {
        name: "youtube-film",
        about: "a video file, sent by any of the servers",
        effect: FuzzyEffect::Keeps {
            hosts: &["com,googlevideo,"],
            path: "/videoplayback",
            arguments: &["id", "itag"],
        },
    },
    FuzzyRule {
        name: "youtube-info",
        about: "what the player requests about a video",
        effect: FuzzyEffect::Keeps {
            hosts: YOUTUBE,
            path: "/get_video_info",
            arguments: &["video_id"],
        },
    },
    FuzzyRule {
        name: "youtube-captions",
        about: "the subtitles of a video",
        effect: FuzzyEffect::Keeps {
            hosts: YOUTUBE,
            path: "/api/timedtext",
            arguments: &["v", "lang", "kind", "fmt"],
        },
    },
    FuzzyRule {
        name: "youtube-page",
        about: "the page of a video",
        effect: FuzzyEffect::Keeps {
            hosts: YOUTUBE,
            path: "/watch",
            arguments: &["v"],
        },
    },
    FuzzyRule {
        name: "youtube-embed",
        about: "the player embedded in other pages",
        effect: FuzzyEffect::Keeps {
            hosts: YOUTUBE,
            path: "/embed/",
            arguments: &[],
        },
    },
    FuzzyRule {
        name: "vimeo-film",
        about: "a video file whose URL is signed",
        effect: FuzzyEffect::Keeps {
            hosts: &["com,vimeocdn,"],
            path: "/",
            arguments: &[],
        },
    },
    FuzzyRule {
        name: "file",
        about: "versions of static files, which do not depend on the query",
        effect: FuzzyEffect::Files(&[
            "css", "js", "mjs", "png", "gif", "jpg", "jpeg", "webp", "avif", "svg", "ico", "bmp", "woff",
            "woff2", "ttf", "otf", "eot", "swf", "mp3", "mp4", "webm", "ogg",
        ]),
    },
];

/// The argument that captures of posted forms have. Their keys are never treated as files.
const METHOD: &str = "__wb_method=";

/// How close a fuzzy match is. The smallest is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FuzzyMatch {
    /// 0 if only ignored arguments differ; 1 if the query differs and the file is the same.
    pub rank: u8,
    /// The rule by which the difference is ignored.
    pub rule: &'static str,
}

/// Tests which keys can replace a key that was not captured.
#[derive(Debug, Clone)]
pub struct Fuzzy {
    url_key: String,
    form: Form,
    /// The key up to its query, if it is the key of a file.
    file: Option<String>,
}

/// A key without its ignored parts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Form {
    text: String,
    /// The first rule that removed something.
    rule: Option<&'static str>,
}

impl Fuzzy {
    /// Creates the test for captures that can replace `url_key`.
    pub fn new(url_key: &str) -> Fuzzy {
        Fuzzy {
            url_key: url_key.to_owned(),
            form: form(url_key),
            file: file(url_key).map(str::to_owned),
        }
    }

    /// Returns the key without its ignored parts, which is the best match if it was captured;
    /// `None` if that is the key itself.
    pub fn plain(&self) -> Option<&str> {
        let is_another = self.form.text != self.url_key && site_rule(&self.url_key).is_none();
        is_another.then_some(&self.form.text)
    }

    /// Returns the ranges that contain all matches, in ascending order and disjoint. They may hold
    /// very many keys.
    pub fn ranges(&self) -> Vec<KeyRange> {
        if let Some(host) = site_rule(&self.url_key).and_then(|site| site.any_host) {
            return vec![KeyRange::of_prefix(host.to_owned())];
        }
        let place = without_session(split(&self.url_key).0);
        let itself = KeyRange {
            start: place.to_owned(),
            end: format!("{place}\0"),
        };
        let behind = [';', '?'].map(|mark| KeyRange::of_prefix(format!("{place}{mark}")));
        std::iter::once(itself).chain(behind).collect()
    }

    /// Returns whether `candidate` can replace the key, and how close it is.
    pub fn matches(&self, candidate: &str) -> Option<FuzzyMatch> {
        if candidate == self.url_key {
            return None;
        }
        let other = form(candidate);
        if other.text == self.form.text
            && let Some(rule) = self.form.rule.or(other.rule)
        {
            return Some(FuzzyMatch { rank: 0, rule });
        }
        let is_file = self.file.is_some() && self.file.as_deref() == file(candidate);
        is_file.then_some(FuzzyMatch {
            rank: 1,
            rule: "file",
        })
    }
}

/// Splits a key into place and query.
fn split(url_key: &str) -> (&str, &str) {
    url_key.split_once('?').unwrap_or((url_key, ""))
}

/// Removes a servlet's session from a place.
fn without_session(place: &str) -> &str {
    place.find(";jsessionid=").map_or(place, |at| &place[..at])
}

fn form(url_key: &str) -> Form {
    let (place, query) = split(url_key);
    let arguments = query.split('&').filter(|argument| !argument.is_empty());
    if let Some(site) = site_rule(url_key) {
        let kept: Vec<&str> = arguments
            .filter(|argument| site.arguments.contains(&name_of(argument)))
            .collect();
        let place = site.any_host.unwrap_or(place);
        return Form {
            text: format!("{place}?{}", kept.join("&")),
            rule: Some(site.rule),
        };
    }
    let short = without_session(place);
    let mut rule = (short.len() < place.len()).then_some("session");
    let mut text = short.to_owned();
    let mut mark = '?';
    for argument in arguments {
        match dropped_by(argument) {
            Some(name) => rule = rule.or(Some(name)),
            None => {
                text.push(mark);
                text.push_str(argument);
                mark = '&';
            }
        }
    }
    Form { text, rule }
}

/// The effect of a site's rule on a key.
struct Site {
    rule: &'static str,
    /// Names of the arguments that are compared.
    arguments: &'static [&'static str],
    /// Prefix of the keys of all hosts that may have sent the same content.
    any_host: Option<&'static str>,
}

/// Returns the rule of a key's site, if there is one.
fn site_rule(url_key: &str) -> Option<Site> {
    let (place, query) = split(url_key);
    let (host, path) = place.split_once(')')?;
    let has = |name: &str| query.split('&').any(|argument| name_of(argument) == name);
    FUZZY_RULES.iter().find_map(|rule| {
        let FuzzyEffect::Keeps {
            hosts,
            path: known,
            arguments,
        } = rule.effect
        else {
            return None;
        };
        let of_site = hosts.iter().find(|known| is_host(known, host))?;
        let is_path = path == known || known.ends_with('/') && path.starts_with(known);
        let has_first = arguments.first().is_none_or(|first| has(first));
        (is_path && has_first).then_some(Site {
            rule: rule.name,
            arguments,
            // Without arguments, the path identifies the content, and only on one host.
            any_host: (of_site.ends_with(',') && !arguments.is_empty()).then_some(*of_site),
        })
    })
}

fn is_host(known: &str, host: &str) -> bool {
    known == host || known.ends_with(',') && host.starts_with(known)
}

/// Returns the rule by which an argument is ignored.
fn dropped_by(argument: &str) -> Option<&'static str> {
    let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
    let is_of = |rule: &&FuzzyRule| match rule.effect {
        FuzzyEffect::Drops(names, values) => {
            names.iter().any(|known| is_name(known, name)) && is_value(values, value)
        }
        _ => false,
    };
    FUZZY_RULES.iter().find(is_of).map(|rule| rule.name)
}

fn is_name(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => known == name,
    }
}

fn is_value(kind: FuzzyValue, value: &str) -> bool {
    match kind {
        FuzzyValue::Any => true,
        FuzzyValue::Number => {
            !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        }
        FuzzyValue::Id => value.len() >= 16 && value.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    }
}

fn name_of(argument: &str) -> &str {
    argument.split('=').next().unwrap_or(argument)
}

/// Returns the place of a key, if it is the key of a file.
fn file(url_key: &str) -> Option<&str> {
    let (place, query) = split(url_key);
    let (_, path) = place.split_once(')')?;
    let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
    let is_known =
        |rule: &FuzzyRule| matches!(rule.effect, FuzzyEffect::Files(known) if known.contains(&extension));
    (!query.contains(METHOD) && FUZZY_RULES.iter().any(is_known)).then_some(place)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::url_key;

    /// Returns the match for `wanted` if only `captured` was captured.
    fn found(wanted: &str, captured: &str) -> Option<(u8, &'static str)> {
        let key = |url: &str| url_key(&format!("http://{url}")).expect("a key");
        let (fuzzy, captured) = (Fuzzy::new(&key(wanted)), key(captured));
        let found = fuzzy.matches(&captured);
        let is_in_range = fuzzy.ranges().iter().any(|range| range.contains(&captured));
        assert!(
            found.is_none() || is_in_range,
            "{captured} is in no range for {wanted}"
        );
        found.map(|found| (found.rank, found.rule))
    }

    #[track_caller]
    fn check(wanted: &str, captured: &str, expected: Option<(u8, &'static str)>) {
        assert_eq!(found(wanted, captured), expected, "{wanted} by {captured}");
        assert_eq!(found(captured, wanted), expected, "{captured} by {wanted}");
    }

    #[test]
    fn what_does_not_matter_may_differ() {
        check(
            "a.example/x?b=1&_=17",
            "a.example/x?b=1&_=23",
            Some((0, "cache-buster")),
        );
        check(
            "a.example/x?b=1&_=17",
            "a.example/x?b=1",
            Some((0, "cache-buster")),
        );
        check("a.example/x?rnd=0.123", "a.example/x", Some((0, "cache-buster")));
        check(
            "a.example/x?CB=12",
            "a.example/x?cb=13",
            Some((0, "cache-buster")),
        );
        check(
            "a.example/x?callback=jQuery17_2&q=1",
            "a.example/x?callback=jQuery1_9&q=1",
            Some((0, "callback")),
        );
        check(
            "a.example/x?utm_source=y&id=1",
            "a.example/x?id=1",
            Some((0, "campaign")),
        );
        check(
            "a.example/x;jsessionid=AB12?id=1",
            "a.example/x?id=1",
            Some((0, "session")),
        );
        check(
            "a.example/x.do;jsessionid=AB12",
            "a.example/x.do;jsessionid=CD34",
            Some((0, "session")),
        );
        check(
            "a.example/x?phpsessid=1",
            "a.example/x?phpsessid=2",
            Some((0, "session")),
        );
        check(
            "a.example/x?s=0123456789abcdef0&t=5",
            "a.example/x?s=1123456789abcdef0&t=5",
            Some((0, "session-id")),
        );
        check("a.example/x.css?v=1", "a.example/x.css?v=2", Some((1, "file")));
        check("a.example/x.PNG?20140101", "a.example/x.png", Some((1, "file")));
        check(
            "a.example/x.js?_=1",
            "a.example/x.js?_=2",
            Some((0, "cache-buster")),
        );
    }

    #[test]
    fn what_matters_may_not() {
        for (wanted, captured) in [
            ("a.example/x?b=1", "a.example/x?b=2"),
            ("a.example/x?b=1&_=1", "a.example/x?b=2&_=1"),
            ("a.example/x?_=abc", "a.example/x?_=abd"),
            ("a.example/x?s=small", "a.example/x?s=large"),
            ("a.example/x.php?v=1", "a.example/x.php?v=2"),
            ("a.example/x", "a.example/y"),
            ("a.example/x.css", "b.example/x.css"),
            ("a.example/x.css", "a.example/x.css"),
            (
                "a.example/x.js?__wb_method=POST&q=1",
                "a.example/x.js?__wb_method=POST&q=2",
            ),
            ("a.example/x?__wb_method=POST&q=1&_=5", "a.example/x?q=1&_=5"),
        ] {
            check(wanted, captured, None);
        }
        check(
            "a.example/x?__wb_method=POST&q=1&_=5",
            "a.example/x?__wb_method=POST&q=1&_=6",
            Some((0, "cache-buster")),
        );
    }

    #[test]
    fn films_are_known_by_what_names_them() {
        let film = "r3---sn-a.googlevideo.com/videoplayback?expire=1&id=o-A&itag=18&sig=x";
        check(
            film,
            "r7---sn-b.googlevideo.com/videoplayback?expire=2&id=o-A&itag=18",
            Some((0, "youtube-film")),
        );
        check(
            film,
            "r3---sn-a.googlevideo.com/videoplayback?expire=1&id=o-A&itag=22&sig=x",
            None,
        );
        check(
            "youtube.com/watch?v=a&feature=b",
            "youtube.com/watch?v=a",
            Some((0, "youtube-page")),
        );
        check("youtube.com/watch?v=a", "youtube.com/watch?v=b", None);
        check(
            "youtube.com/embed/a?rel=0",
            "youtube.com/embed/a",
            Some((0, "youtube-embed")),
        );
        check("youtube.com/embed/a?rel=0", "youtube.com/embed/b?rel=0", None);
        check(
            "1.vimeocdn.com/a.mp4?token=1",
            "1.vimeocdn.com/a.mp4?token=2",
            Some((0, "vimeo-film")),
        );
    }

    #[test]
    fn the_key_without_what_does_not_matter_is_asked_for_first() {
        let plain = |url: &str| {
            Fuzzy::new(&url_key(url).expect("a key"))
                .plain()
                .map(str::to_owned)
        };
        assert_eq!(
            plain("http://a.example/x?b=1&_=1").as_deref(),
            Some("example,a)/x?b=1")
        );
        assert_eq!(plain("http://a.example/x?b=1"), None);
        assert_eq!(plain("http://youtube.com/watch?v=a&t=1"), None);
    }

    /// docs/replay.md lists every rule, with all of its words.
    #[test]
    fn the_manual_has_the_whole_table() {
        let path = test_env::crate_dir().join("../../docs/replay.md");
        let manual = std::fs::read_to_string(path).expect("docs/replay.md");
        for rule in FUZZY_RULES {
            let row = format!("| `{}` | {} |", rule.name, rule.about);
            let line = manual.lines().find(|line| line.starts_with(&row));
            let line = line.unwrap_or_else(|| panic!("no line of docs/replay.md begins with {row}"));
            let words: Vec<&str> = match rule.effect {
                FuzzyEffect::Drops(names, _) => names.to_vec(),
                FuzzyEffect::Keeps { path, arguments, .. } => [&[path], arguments].concat(),
                FuzzyEffect::Files(known) => known.to_vec(),
            };
            for word in words {
                assert!(line.contains(&format!("`{word}`")), "{word} is not in {line}");
            }
        }
    }

    proptest! {
        /// For any URLs, a match is the same in both directions and is within the ranges.
        #[test]
        fn matches_are_mutual_and_in_range(
            path in "[a-c/.;]{0,4}(\\.js|;jsessionid=1)?",
            one in "(_=[0-9]|b=[0-9]|utm_a=x|v|sid=0123456789abcdef|&){0,4}",
            other in "(_=[0-9]|b=[0-9]|utm_a=x|v|sid=0123456789abcdef|&){0,4}",
        ) {
            let (one, other) = (format!("a.example/{path}?{one}"), format!("a.example/{path}?{other}"));
            prop_assert_eq!(found(&one, &other).map(|found| found.0), found(&other, &one).map(|found| found.0));
        }
    }
}
