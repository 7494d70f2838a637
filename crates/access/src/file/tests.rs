use std::fs;
use std::sync::Barrier;

use super::*;
use crate::rule::{Access, AccessRule, Condition};

fn file(text: &str) -> (tempfile::TempDir, AccessRulesFile) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rights.toml");
    fs::write(&path, text).unwrap();
    (dir, AccessRulesFile::at(path))
}

fn deny(prefix: &str) -> AccessRule {
    AccessRule {
        access: Access::Deny,
        condition: Condition {
            prefix: Some(prefix.to_owned()),
            ..Condition::default()
        },
        ..AccessRule::default()
    }
}

#[test]
fn what_was_changed_holds_for_the_next_question() {
    let (_dir, file) = file("# kept\ndefault = \"deny\"\n");
    assert_eq!(file.rules().unwrap().unwrap().default, Access::Deny);
    let again = [file.rules(), file.rules()].map(|rules| rules.unwrap().unwrap());
    assert!(
        Arc::ptr_eq(&again[0], &again[1]),
        "unchanged rules are the same value"
    );
    let change = |rules: &mut AccessRules| {
        rules.rules.push(deny("com,a)/"));
        Ok::<_, FileError>(())
    };
    file.change(change).unwrap();
    assert_eq!(file.rules().unwrap().unwrap().rules, [deny("com,a)/")]);
    assert!(
        fs::read_to_string(file.path())
            .unwrap()
            .starts_with("# kept\ndefault")
    );
    fs::remove_file(file.path()).unwrap();
    assert!(file.rules().unwrap().is_none());
}

#[test]
fn what_is_misspelt_is_no_rule_that_matches_everything() {
    let check = |text: &str, expected: &str| {
        let (_dir, file) = file(text);
        let error = file.rules().unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("rights.toml"),
            "{error}"
        );
    };
    check("[[rule]]\naccess = \"allow\"\nperfix = \"com,a)/\"\n", "perfix");
    check("[[rule]]\nprefix = \"com,a)/\"\n", "access");
    check("[[rules]]\naccess = \"allow\"\n", "rules");
    check("[[rule]]\naccess = \"allow\"\nfrom = \"soon\"\n", "rule 1");
    check("default = \"maybe\"", "maybe");
}

#[test]
fn a_rule_with_everything_comes_back() {
    let rule = AccessRule {
        access: Access::Deny,
        groups: vec!["readers".into()],
        except: vec!["staff".into()],
        condition: Condition {
            url: Some("com,a)/".into()),
            prefix: Some("com,a)".into()),
            but_not: vec!["com,a)/b".into()],
            host: Some("a.com".into()),
            domain: Some("a.com".into()),
            collection: Some("news".into()),
            mime: Some("image/*".into()),
            digest: Some("AAAA".into()),
            from: Some("2014".into()),
            to: Some("2015-01".into()),
            younger_than_days: Some(365),
            until: Some("2030-01-01".into()),
        },
        note: "why".into(),
    };
    let (_dir, file) = file("");
    file.change(|rules| {
        rules.rules.push(rule.clone());
        Ok::<_, FileError>(())
    })
    .unwrap();
    assert_eq!(file.rules().unwrap().unwrap().rules, [rule]);
}

#[test]
fn many_who_change_it_lose_nothing() {
    let (_dir, file) = file("");
    let begin = Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (file, begin) = (&file, &begin);
            scope.spawn(move || {
                begin.wait();
                file.change(|rules| {
                    rules.rules.push(deny(&format!("com,a)/{number}")));
                    Ok::<_, FileError>(())
                })
                .unwrap();
            });
        }
    });
    assert_eq!(file.rules().unwrap().unwrap().rules.len(), 8);
}

fn changed(file: &AccessRulesFile, change: impl FnOnce(&mut AccessRules)) -> String {
    let change = |rules: &mut AccessRules| {
        change(rules);
        Ok::<_, FileError>(())
    };
    file.change(change).unwrap();
    fs::read_to_string(file.path()).unwrap()
}

/// Users write comments next to rules. Commands keep them in place when they add, remove or set
/// anything.
#[test]
fn comments_stay_where_people_wrote_them() {
    let text = "# ours\n\nstrict = false # for now\n\n# asked for in 2019\n[[rule]]\naccess = \"deny\"\nprefix = \"com,a)/\"\n\n# the press\n[[rule]]\naccess = \"deny\"\nprefix = \"com,b)/\" # all\n";
    let (_dir, file) = file(text);
    assert_eq!(
        changed(&file, |rules| rules.rules.push(deny("com,c)/"))),
        format!("{text}\n[[rule]]\naccess = \"deny\"\nprefix = \"com,c)/\"\n")
    );
    assert_eq!(changed(&file, |rules| drop(rules.rules.pop())), text);
    let left = changed(&file, |rules| {
        rules.rules.remove(0);
        rules.strict = true;
        rules.default = Access::Deny;
    });
    assert_eq!(
        left,
        "# ours\ndefault = \"deny\"\n\nstrict = true # for now\n\n# asked for in 2019\n\n# the press\n[[rule]]\naccess = \"deny\"\nprefix = \"com,b)/\" # all\n"
    );
}

/// Rules with another layout are rewritten with the same meaning.
#[test]
fn inline_rules_are_changed_too() {
    let (_dir, file) = file("# top\nrule = [{ access = \"deny\", prefix = \"com,a)/\" }]\n");
    let text = changed(&file, |rules| rules.rules.push(deny("com,b)/")));
    assert!(text.starts_with("# top\n"), "{text}");
    changed(&file, |rules| drop(rules.rules.remove(0)));
    assert_eq!(file.rules().unwrap().unwrap().rules, [deny("com,b)/")]);
}

#[test]
fn errors_name_the_line() {
    let check = |text: &str, line: usize, expected: &str| {
        let (_dir, file) = file(text);
        let error = file.rules().unwrap_err().to_string();
        assert!(error.contains(&format!("rights.toml:{line}:")), "{error}");
        assert!(error.contains(expected), "{error}");
    };
    let good = "default = \"deny\"\n\n[[rule]]\naccess = \"allow\"\n";
    check(&format!("{good}perfix = \"com,a)/\"\n"), 5, "unknown field");
    check(
        &format!("{good}\n[[rule]]\naccess = \"deny\"\nto = \"later\"\n"),
        6,
        "rule 2",
    );
}

/// A rule that could never match a capture or apply to a client is an error, instead of silently
/// hiding nothing.
#[test]
fn rules_that_silently_do_nothing_are_errors() {
    let check = |line: &str, expected: &str| {
        let (_dir, file) = file(&format!("[[rule]]\naccess = \"deny\"\n{line}\n"));
        let error = file.rules().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("prefix = \"example.com\"", "not a URL key");
    check("url = \"www.example.com)/\"", "not a URL key");
    check("prefix = \"com,Example)/\"", "not a URL key");
    check("groups = [\"a b\"]", "not a group name");
    check("groups = []", "applies to nobody");
    check("groups = [\"Public\"]", "lower case");
    check("except = [\"ADMIN\"]", "lower case");
    check("except = [\"\"]", "not a group name");
    check("from = \"2015\"\nto = \"2014\"", "later than to");
    // If such a date were read as some other time, an embargo could end at once.
    for date in [
        "2026-00-00",
        "2030-13-01",
        "2012-02-30",
        "2012-13",
        "2026-13-45",
        "2026-11-31",
        "20261345",
        "2012-2",
        "20",
    ] {
        for name in ["from", "to", "until"] {
            check(&format!("{name} = \"{date}\""), "not a date");
        }
    }
    for mime in [
        "html",
        "pdf",
        "text/html; charset=utf-8",
        "*/*",
        "text/html, text/plain",
    ] {
        check(&format!("mime = \"{mime}\""), "not a media type");
    }
    check("domain = \"*.one.example\"", "without a star");
    check("domain = \"one.example/path\"", "a path");
    let (_dir, good) = file(
        "[[rule]]\naccess = \"deny\"\nurl = \"dns:example.com\"\n[[rule]]\naccess = \"deny\"\nprefix = \"192.0.2.1)/\"\n",
    );
    assert_eq!(good.rules().unwrap().unwrap().rules.len(), 2);
    for line in [
        "mime = \"*\"",
        "mime = \"Text/*\"",
        "domain = \".one.example\"",
        "domain = \"http://one.example/\"",
        "until = \"2028-02-29\"",
    ] {
        let (_dir, good) = file(&format!("[[rule]]\naccess = \"deny\"\n{line}\n"));
        assert!(good.rules().is_ok(), "{line}");
    }
}

#[test]
fn a_link_to_nothing_is_no_open_archive() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rights.toml");
    std::os::unix::fs::symlink(dir.path().join("gone.toml"), &path).unwrap();
    assert!(AccessRulesFile::at(path).rules().is_err());
}

/// A file with restricted permissions keeps them when it is changed.
#[test]
fn a_change_keeps_who_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_dir, file) = file("");
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
    changed(&file, |rules| rules.strict = true);
    assert_eq!(
        fs::metadata(file.path()).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

/// A pipe in place of the file is an error, and does not block.
#[test]
fn what_is_no_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rights.toml");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let error = AccessRulesFile::at(path).rules().unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}
