//! Compares rules with a direct reading of them, one capture at a time.

use proptest::prelude::*;

use super::*;
use crate::matcher::CaptureAttributes;
use crate::rule::{Condition, DAY_MS, RuleError};

/// 2020-06-15T12:00:00Z.
const NOW_MS: i64 = 1_592_222_400_000;

const KEYS: [&str; 6] = [
    "com,example)/",
    "com,example)/secret/a",
    "com,example)/secret/open/b",
    "com,example,shop)/",
    "com,example-x)/",
    "org,archive)/secret",
];

fn rule(access: Access, condition: Condition) -> AccessRule {
    AccessRule {
        access,
        condition,
        ..AccessRule::default()
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn subject(url_key: &str) -> CaptureAttributes<'_> {
    CaptureAttributes {
        url_key,
        collection: "news",
        mime: "text/html",
        digest: "AAAA",
        fetch_time_ms: NOW_MS - 30 * DAY_MS,
    }
}

#[track_caller]
fn check(rules: &AccessRules, groups: &str, expected: &[&str]) {
    let sight = rules.filter_for(&Groups::listed(groups), NOW_MS).unwrap();
    let seen: Vec<&str> = KEYS
        .into_iter()
        .filter(|key| sight.is_visible(&subject(key)))
        .collect();
    assert_eq!(seen, expected, "{groups:?}");
}

#[test]
fn without_rules_an_archive_is_public_or_closed() {
    check(&AccessRules::default(), "", &KEYS);
    let closed = AccessRules {
        default: Access::Deny,
        ..AccessRules::default()
    };
    check(&closed, "staff", &[]);
}

#[test]
fn deny_wins_and_unknown_groups_are_the_public() {
    let secret = Condition {
        prefix: some("com,example)/secret"),
        ..Condition::default()
    };
    let mut deny = rule(Access::Deny, secret.clone());
    deny.except = vec!["staff".to_owned()];
    let mut for_guests = rule(
        Access::Deny,
        Condition {
            domain: some("archive.org"),
            ..Condition::default()
        },
    );
    for_guests.groups = vec!["public".to_owned()];
    let rules = AccessRules {
        rules: vec![rule(Access::Allow, secret), deny, for_guests],
        ..AccessRules::default()
    };
    let public = ["com,example)/", "com,example,shop)/", "com,example-x)/"];
    check(&rules, "", &public);
    check(&rules, "nobody-knows-these, others", &public);
    check(&rules, "staff", &KEYS);
    check(&rules, "staff, others", &KEYS);
}

#[test]
fn a_domain_is_its_host_and_those_below() {
    let rules = AccessRules {
        default: Access::Deny,
        rules: vec![rule(
            Access::Allow,
            Condition {
                domain: some("example.com"),
                but_not: Vec::new(),
                ..Condition::default()
            },
        )],
        ..AccessRules::default()
    };
    check(&rules, "", &KEYS[..4]);
}

/// Regression: `domain = "www.x"` made all of `x` visible, including hosts below it, in an archive
/// with default deny.
#[test]
fn www_in_front_is_refused_because_no_key_has_it() {
    let clause = |condition: Condition| condition.matcher(NOW_MS).map(|_| ());
    let refused = |condition: Condition, without: &str| match clause(condition.clone()) {
        Err(RuleError::Www { without: found, .. }) => assert_eq!(found, without, "{condition:?}"),
        other => panic!("{condition:?}: {other:?}"),
    };
    let empty = Condition::default;
    for www in [
        "www.example.com",
        "WWW.Example.com.",
        "http://www2.example.com/",
        "ｗｗｗ.example.com",
    ] {
        refused(
            Condition {
                host: some(www),
                ..empty()
            },
            "example.com",
        );
        refused(
            Condition {
                domain: some(www),
                ..empty()
            },
            "example.com",
        );
    }
    refused(
        Condition {
            url: some("com,example,www)/a"),
            ..empty()
        },
        "com,example)/a",
    );
    refused(
        Condition {
            prefix: some("com,example,www2:8080)/"),
            ..empty()
        },
        "com,example:8080)/",
    );
    let but_not = Condition {
        prefix: some("com,example)/"),
        but_not: vec!["com,example,www)/a".to_owned()],
        ..empty()
    };
    refused(but_not, "com,example)/a");
    // Other names that contain `www`, and prefixes of some.
    for host in ["www.com", "www", "wwwx.example.com", "a.www.example.com"] {
        assert_eq!(
            clause(Condition {
                host: some(host),
                ..empty()
            }),
            Ok(()),
            "{host}"
        );
    }
    for prefix in ["com,example,www", "com,example,www,", "com,www)/"] {
        assert_eq!(
            clause(Condition {
                prefix: some(prefix),
                ..empty()
            }),
            Ok(()),
            "{prefix}"
        );
    }
    for more in [
        "example.com:8080",
        "example.com/a",
        "a@example.com",
        "*.example.com",
        "exa%6Dple.com",
        "",
    ] {
        assert!(
            matches!(
                clause(Condition {
                    host: some(more),
                    ..empty()
                }),
                Err(RuleError::Host { .. })
            ),
            "{more}"
        );
    }
}

#[test]
fn a_host_alone_has_none_of_those_below_or_beside_it() {
    let keys = [
        "com,example)/",
        "com,example)/secret/a",
        "com,example,shop)/",
        "com,example-x)/",
        "com,example2)/",
        "com,example:8080)/",
        "com,example,shop,b)/",
        "com,example,shop:8080)/",
    ];
    let seen = |condition: Condition| {
        let rules = AccessRules {
            default: Access::Deny,
            rules: vec![rule(Access::Allow, condition)],
            ..AccessRules::default()
        };
        let sight = rules.filter_for(&Groups::public(), NOW_MS).unwrap();
        let seen = keys.into_iter().filter(|key| sight.is_visible(&subject(key)));
        seen.collect::<Vec<_>>()
    };
    let host = |host: &str| {
        seen(Condition {
            host: some(host),
            ..Condition::default()
        })
    };
    let domain = |domain: &str| {
        seen(Condition {
            domain: some(domain),
            ..Condition::default()
        })
    };
    assert_eq!(host("example.com"), [keys[0], keys[1], keys[5]]);
    assert_eq!(host("Shop.Example.com."), [keys[2], keys[7]]);
    assert_eq!(domain("shop.example.com"), [keys[2], keys[6], keys[7]]);
    assert_eq!(
        domain("example.com"),
        [keys[0], keys[1], keys[2], keys[5], keys[6], keys[7]]
    );
    let both = seen(Condition {
        host: some("example.com"),
        prefix: some("com,example)/secret"),
        ..Condition::default()
    });
    assert_eq!(both, [keys[1]]);
}

#[test]
fn an_embargo_ends_by_itself() {
    let until = |date: &str| AccessRules {
        rules: vec![rule(
            Access::Deny,
            Condition {
                until: some(date),
                ..Condition::default()
            },
        )],
        ..AccessRules::default()
    };
    check(&until("2020-06-16"), "", &[]);
    check(&until("2020-06-15"), "", &KEYS);
    let younger = |days| AccessRules {
        rules: vec![rule(
            Access::Deny,
            Condition {
                younger_than_days: Some(days),
                ..Condition::default()
            },
        )],
        ..AccessRules::default()
    };
    check(&younger(29), "", &KEYS);
    check(&younger(31), "", &[]);
}

/// Regression: `to = "2019"` meant month 99 of 2019, and let everything up to 2027 through.
#[test]
fn dates_are_whole_to_their_end() {
    let times = |from: &str, to: &str| {
        let condition = Condition {
            from: some(from),
            to: some(to),
            ..Condition::default()
        };
        let (first, last) = condition.matcher(NOW_MS).unwrap().unwrap().fetch_time_ms;
        (format::date::iso(first), format::date::iso(last))
    };
    let check = |text: &str, first: &str, last: &str| {
        assert_eq!(times(text, text), (first.to_owned(), last.to_owned()), "{text}");
    };
    check("2019", "2019-01-01T00:00:00.000Z", "2019-12-31T23:59:59.999Z");
    check("2019-12", "2019-12-01T00:00:00.000Z", "2019-12-31T23:59:59.999Z");
    check("2020-02", "2020-02-01T00:00:00.000Z", "2020-02-29T23:59:59.999Z");
    check(
        "2020-02-29",
        "2020-02-29T00:00:00.000Z",
        "2020-02-29T23:59:59.999Z",
    );
    check(
        "20200229101112",
        "2020-02-29T10:11:12.000Z",
        "2020-02-29T10:11:12.999Z",
    );
}

#[test]
fn what_means_nothing_is_told_with_its_number() {
    let check = |condition: Condition, expected: &str| {
        let rules = AccessRules {
            rules: vec![AccessRule::default(), rule(Access::Deny, condition)],
            ..AccessRules::default()
        };
        let (number, error) = rules.filter_for(&Groups::public(), NOW_MS).unwrap_err();
        assert_eq!(number, 2);
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(
        Condition {
            from: some("soon"),
            ..Condition::default()
        },
        "not a date",
    );
    check(
        Condition {
            domain: some(""),
            ..Condition::default()
        },
        "not a host name",
    );
    check(
        Condition {
            prefix: some("http://example.com/"),
            ..Condition::default()
        },
        "not a URL key",
    );
    check(
        Condition {
            but_not: vec!["com,a)".into()],
            ..Condition::default()
        },
        "requires `prefix`",
    );
    check(
        Condition {
            mime: some(" "),
            ..Condition::default()
        },
        "is empty",
    );
}

#[test]
fn ten_thousand_rules_of_one_form_are_two_clauses() {
    let of = |number: usize| {
        rule(
            Access::Deny,
            match number % 2 {
                0 => Condition {
                    prefix: Some(format!("com,example)/{number}/")),
                    ..Condition::default()
                },
                _ => Condition {
                    digest: Some(format!("D{number}")),
                    ..Condition::default()
                },
            },
        )
    };
    let rules = AccessRules {
        rules: (0..10_000).map(of).collect(),
        ..AccessRules::default()
    };
    let sight = rules.filter_for(&Groups::public(), NOW_MS).unwrap();
    assert_eq!(sight.deny().len(), 2);
    assert_eq!(sight.is_key_visible("com,example)/4444/a"), Some(false));
    let subject = subject("com,example)/");
    assert!(
        !sight.is_visible(&CaptureAttributes {
            digest: "D77",
            ..subject
        }) && sight.is_visible(&CaptureAttributes {
            digest: "D78",
            ..subject
        })
    );
}

/// Applies a rule literally, as a person would.
fn matches(condition: &Condition, subject: &CaptureAttributes<'_>) -> bool {
    let key = subject.url_key;
    let host_is_below = |domain: &str| {
        let host = urlkey::host_of_key(key).to_string();
        host == domain || host.ends_with(&format!(".{domain}"))
    };
    condition.url.as_ref().is_none_or(|url| url == key)
        && condition.prefix.as_ref().is_none_or(|prefix| {
            key.starts_with(prefix.as_str())
                && !condition.but_not.iter().any(|but| key.starts_with(but.as_str()))
        })
        && condition
            .host
            .as_deref()
            .is_none_or(|host| urlkey::host_of_key(key) == host)
        && condition.domain.as_deref().is_none_or(host_is_below)
        && condition
            .collection
            .as_ref()
            .is_none_or(|collection| collection == subject.collection)
        && condition
            .mime
            .as_ref()
            .is_none_or(|mime| match mime.strip_suffix('*') {
                Some(kind) => subject.mime.starts_with(kind),
                None => subject.mime == mime,
            })
        && condition
            .digest
            .as_ref()
            .is_none_or(|digest| digest == subject.digest)
}

fn conditions() -> impl Strategy<Value = Condition> {
    let maybe =
        |texts: Vec<&'static str>| prop::option::of(prop::sample::select(texts).prop_map(str::to_owned));
    let prefixes = vec!["com,example)/", "com,example)/secret", "com,ex", "org,archive)/"];
    (
        maybe(KEYS.to_vec()),
        maybe(prefixes.clone()),
        prop::collection::vec(prop::sample::select(prefixes).prop_map(str::to_owned), 0..2),
        (
            maybe(vec!["example.com", "shop.example.com", "com"]),
            maybe(vec!["example.com", "archive.org", "com"]),
        ),
        maybe(vec!["news", "other"]),
        maybe(vec!["text/html", "text/*", "image/*"]),
        maybe(vec!["AAAA", "BBBB"]),
    )
        .prop_map(
            |(url, prefix, but_not, (host, domain), collection, mime, digest)| Condition {
                but_not: if prefix.is_some() { but_not } else { Vec::new() },
                // Mostly absent, or few rules would match.
                url: url.filter(|url| url.len() % 3 == 0),
                prefix,
                // Rare, or few rules would match.
                host: host.filter(|_| domain.is_none()),
                domain,
                collection,
                mime,
                digest,
                ..Condition::default()
            },
        )
}

proptest! {
    #[test]
    fn a_sight_sees_what_its_rules_say_one_by_one(
        default_denies in any::<bool>(),
        written in prop::collection::vec((any::<bool>(), conditions(), 0_u8..4), 0..12),
        staff in any::<bool>(),
    ) {
        let of = |(denies, condition, whom): (bool, Condition, u8)| AccessRule {
            access: if denies { Access::Deny } else { Access::Allow },
            groups: match whom { 0 => vec!["staff".to_owned()], 1 => vec![PUBLIC.to_owned()], _ => Vec::new() },
            except: if whom == 2 { vec!["staff".to_owned()] } else { Vec::new() },
            condition,
            note: String::new(),
        };
        let rules = AccessRules {
            default: if default_denies { Access::Deny } else { Access::Allow },
            strict: false,
            rules: written.into_iter().map(of).collect(),
        };
        let knows_staff = rules.rules.iter().any(|r| r.groups == ["staff"] || r.except == ["staff"]);
        let is_staff = staff && knows_staff;
        let is_for = |rule: &AccessRule| match (rule.groups.first().map(String::as_str), rule.except.first()) {
            (Some("staff"), _) => is_staff,
            (Some(_), _) => !is_staff,
            (None, Some(_)) => !is_staff,
            (None, None) => true,
        };
        let groups = Groups::listed(if staff { "staff,unheard-of" } else { "" });
        let sight = rules.filter_for(&groups, NOW_MS).unwrap();
        for url_key in KEYS {
            for (collection, mime, digest) in [("news", "text/html", "AAAA"), ("other", "image/png", "BBBB"), ("", "text/plain", "")] {
                let subject = CaptureAttributes { url_key, collection, mime, digest, fetch_time_ms: 0 };
                let is_any = |access| rules.rules.iter().any(|rule| {
                    rule.access == access && is_for(rule) && matches(&rule.condition, &subject)
                });
                let expected = !is_any(Access::Deny) && (!default_denies || is_any(Access::Allow));
                prop_assert_eq!(sight.is_visible(&subject), expected, "{:?} {:?}", subject, sight);
                if let Some(by_key) = sight.is_key_visible(url_key) {
                    prop_assert_eq!(by_key, expected, "by key alone: {:?} {:?}", subject, sight);
                }
                if let Some((from, to)) = sight.hidden_key_range(url_key) {
                    let is_within = |key: &&str| from.is_none_or(|from| from <= *key) && to.is_none_or(|to| *key < to);
                    prop_assert!(is_within(&url_key));
                    for key in KEYS.iter().filter(|key| is_within(key)) {
                        prop_assert_eq!(sight.is_key_visible(key), Some(false), "{} around {}: {:?}", key, url_key, sight);
                    }
                }
                if sight.sees_everything() {
                    prop_assert!(expected);
                }
            }
        }
    }
}

/// A digest matches in lower case, and a label with surrounding white space.
#[test]
fn conditions_match_however_they_are_written() {
    for condition in [
        Condition {
            digest: some("sha1:aaaa"),
            ..Condition::default()
        },
        Condition {
            digest: some("AAAA "),
            ..Condition::default()
        },
        Condition {
            collection: some(" news "),
            ..Condition::default()
        },
    ] {
        let clause = condition.matcher(NOW_MS).unwrap().unwrap();
        assert!(clause.matches(&subject("com,example)/")), "{condition:?}");
    }
}
