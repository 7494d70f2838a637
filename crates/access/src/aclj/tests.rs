use proptest::prelude::*;

use super::*;
use crate::groups::Groups;
use crate::matcher::CaptureAttributes;
use crate::rules::AccessRules;

const KEYS: [&str; 7] = [
    "com,example)/",
    "com,example)/a",
    "com,example)/ab",
    "com,example)/a/b",
    "com,example,sub)/",
    "com,other)/",
    "org,example)/",
];

fn sees(imported: &ImportedRules, default: Access, user: &str, url_key: &str) -> bool {
    let rules = AccessRules {
        default,
        strict: false,
        rules: imported.rules.clone(),
    };
    let subject = CaptureAttributes {
        url_key,
        collection: "",
        mime: "text/html",
        digest: "",
        fetch_time_ms: 0,
    };
    rules
        .filter_for(&Groups::listed(user), 0)
        .unwrap()
        .is_visible(&subject)
}

/// Finds a rule as pywb does: the lines in descending order, those of the user before those of
/// everybody.
fn as_pywb(lines: &[(String, Option<&str>, Access)], default: Access, user: &str, url_key: &str) -> Access {
    let mut sorted: Vec<_> = lines.iter().collect();
    sorted.sort_by(|a, b| b.0.cmp(&a.0));
    let mut last: Option<(&str, Access)> = None;
    for (key, of, access) in sorted {
        if let Some((last_key, access)) = last
            && last_key != key
        {
            return access;
        }
        let is_match = match key.strip_suffix(EXACT) {
            Some(exact) => exact == url_key,
            None => url_key.starts_with(key.as_str()),
        };
        if !is_match {
            continue;
        }
        match of {
            Some(of) if *of == user => return *access,
            Some(_) => {}
            None => last = last.or(Some((key, *access))),
        }
    }
    last.map_or(default, |(_, access)| access)
}

#[test]
fn the_examples_of_its_documentation_mean_the_same() {
    let text = "com,example)/ - {\"access\": \"block\"}\n\
                com,example)/ - {\"access\": \"allow\", \"user\": \"staff\"}\n\
                com,example)/a### - {\"access\": \"allow\"}\n\
                org,example)/ - {\"access\": \"exclude\"}\n";
    let imported = import(text, Access::Allow).unwrap();
    assert_eq!(imported.excluded, 1);
    let check = |user, url_key, expected| {
        assert_eq!(
            sees(&imported, Access::Allow, user, url_key),
            expected,
            "{user} {url_key}"
        );
    };
    check("", "com,example)/", false);
    check("", "com,example)/a", true);
    check("", "com,example)/ab", false);
    check("staff", "com,example)/ab", true);
    check("staff", "org,example)/", false);
    check("", "com,other)/", true);
}

#[test]
fn a_line_that_is_none_is_named() {
    let check = |text: &str, line: usize| {
        assert_eq!(import(text, Access::Allow).unwrap_err().line, line, "{text}");
    };
    check("com,example)/", 1);
    check("\ncom,example)/ - {\"access\": \"perhaps\"}", 2);
    check("com,example)/ - access", 1);
}

proptest! {
    #[test]
    fn imported_rules_say_what_a_pywb_says(
        by_user in prop::collection::vec((0..KEYS.len(), any::<bool>(), 0_usize..3, any::<bool>()), 0..10),
        closed in any::<bool>(),
    ) {
        let default = if closed { Access::Deny } else { Access::Allow };
        let mut lines: Vec<(String, Option<&str>, Access)> = Vec::new();
        for (key, exact, user, allows) in by_user {
            let key = format!("{}{}", KEYS[key], if exact { EXACT } else { "" });
            let user = [None, Some("anna"), Some("ben")][user];
            // Two lines with the same key and user would be found in the order of their text, which
            // has no meaning.
            if !lines.iter().any(|(k, u, _)| *k == key && *u == user) {
                lines.push((key, user, if allows { Access::Allow } else { Access::Deny }));
            }
        }
        let text: String = lines
            .iter()
            .map(|(key, user, access)| {
                let access = if *access == Access::Allow { "allow" } else { "block" };
                match user {
                    Some(user) => format!("{key} - {{\"access\": \"{access}\", \"user\": \"{user}\"}}\n"),
                    None => format!("{key} - {{\"access\": \"{access}\"}}\n"),
                }
            })
            .collect();
        let imported = import(&text, default).unwrap();
        for user in ["", "anna", "ben"] {
            for url_key in KEYS.iter().chain(&["com,example)/a/b/c", "com,example", "net,no)/"]) {
                let expected = as_pywb(&lines, default, user, url_key) == Access::Allow;
                prop_assert_eq!(sees(&imported, default, user, url_key), expected, "{} {}\n{}", user, url_key, text);
            }
        }
    }
}
