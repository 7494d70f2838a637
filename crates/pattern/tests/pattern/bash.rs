//! Compares random patterns and names with bash: `[[ name == pattern ]]` in a UTF-8 locale.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use pattern::Pattern;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Quotes bytes for bash's `$'...'`.
fn quoted(text: &[u8]) -> String {
    let mut quoted = String::from("$'");
    for byte in text {
        let _ = write!(quoted, "\\{byte:03o}");
    }
    quoted.push('\'');
    quoted
}

/// Returns bash's result for each pattern and name; `None` without bash or a UTF-8 locale.
fn of_bash(pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<bool>> {
    let mut script = String::from("p='?'; [[ $'\\303\\251' == $p ]] && echo y || echo n\n");
    for (pattern, name) in pairs {
        let (pattern, name) = (quoted(pattern), quoted(name));
        let _ = writeln!(script, "p={pattern}; [[ {name} == $p ]] && echo y || echo n");
    }
    let mut bash = Command::new("bash")
        .env("LC_ALL", "C.UTF-8")
        .arg("-s")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = bash.stdin.take()?;
    let writing = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = bash.wait_with_output().ok()?;
    writing.join().ok()?.ok()?;
    let answers: Vec<bool> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .map(|line| line == b"y")
        .collect();
    let (utf_8, answers) = answers.split_first()?;
    utf_8.then(|| answers[..pairs.len()].to_vec())
}

/// Brackets are closed, and no range ends in a class. Otherwise bash's result depends on which
/// member matches first.
fn patterns() -> impl Strategy<Value = Vec<u8>> {
    let member = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "é", "ß", "日", "-", "^", "!", "*", "\\]", "\\\\"]),
        1 => prop::sample::select(vec!["a-é", "[:alpha:]", "[:upper:]", "[:digit:]", "[:none:]", "b-a"]),
    ];
    let set = (
        prop::sample::select(vec!["[", "[!", "[^", "[]"]),
        prop::collection::vec(member, 1..4),
    )
        .prop_map(|(open, members)| format!("{open}{}]", members.concat()).into_bytes());
    let plain = prop::sample::select(vec![
        "a", "b", "é", "ß", "日", "E", "\\*", "\\a", "1", "/", "-", "]",
    ]);
    let element = prop_oneof![
        3 => plain.prop_map(|text| text.as_bytes().to_vec()),
        2 => Just(b"*".to_vec()),
        2 => Just(b"?".to_vec()),
        2 => set,
        1 => prop::sample::select(vec![b"\xff".to_vec(), b"\xc3".to_vec()]),
    ];
    let has_odd_range = |pattern: &[u8]| pattern.windows(3).any(|part| part == b"-[:");
    prop::collection::vec(element, 0..6)
        .prop_map(|elements| elements.concat())
        .prop_filter("a range that ends in a class", move |pattern| {
            !has_odd_range(pattern)
        })
}

fn names() -> impl Strategy<Value = Vec<u8>> {
    let text = prop::sample::select(vec![
        "a", "b", "é", "ß", "日", "E", "*", "1", "/", "-", "]", "\\", "^",
    ]);
    let piece = prop_oneof![
        9 => text.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::sample::select(vec![b"\xff".to_vec(), b"\xc3".to_vec(), b"\xa9".to_vec()]),
    ];
    // bash 5.2 treats a character that is cut by a backslash as a separate character, although `[[
    // $'\\303' == ? ]]` compares bytes.
    let is_cut = |name: &[u8]| name.windows(2).any(|two| two == b"\xc3\\");
    prop::collection::vec(piece, 0..5)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("a character cut by a backslash", move |name| !is_cut(name))
}

#[test]
fn a_pattern_matches_what_bash_matches() {
    let mut runner = TestRunner::deterministic();
    let pairs: Vec<_> = (0..20_000)
        .filter_map(|_| Some((patterns(), names()).new_tree(&mut runner).ok()?.current()))
        .collect();
    let Some(expected) = of_bash(&pairs) else {
        let _ = writeln!(std::io::stderr(), "skipped: there is no bash with a UTF-8 locale");
        return;
    };
    assert!(expected.iter().filter(|fits| **fits).count() > 500);
    for ((pattern, name), expected) in pairs.iter().zip(expected) {
        let found = Pattern::new(pattern).unwrap().matches(name);
        let (pattern, name) = (pattern.escape_ascii(), name.escape_ascii());
        assert_eq!(found, expected, "[[ $'{name}' == $'{pattern}' ]]");
    }
}
