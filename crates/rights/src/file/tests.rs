use std::sync::Barrier;

use super::*;
use crate::rule::{Access, Condition, Rule};

fn file(text: &str) -> (tempfile::TempDir, RightsFile) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rights.toml");
    fs::write(&path, text).unwrap();
    (dir, RightsFile::at(path))
}

fn deny(prefix: &str) -> Rule {
    Rule {
        access: Access::Deny,
        condition: Condition {
            prefix: Some(prefix.to_owned()),
            ..Condition::default()
        },
        ..Rule::default()
    }
}

#[test]
fn what_was_changed_holds_for_the_next_question() {
    let (_dir, file) = file("# kept\ndefault = \"deny\"\n");
    assert_eq!(file.rules().unwrap().unwrap().default, Access::Deny);
    let change = |rules: &mut Rules| {
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
    let rule = Rule {
        access: Access::Deny,
        groups: vec!["readers".into()],
        except: vec!["staff".into()],
        condition: Condition {
            url: Some("com,a)/".into()),
            prefix: Some("com,a)".into()),
            but_not: vec!["com,a)/b".into()],
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
