use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Condition, ConditionError> {
    Condition::parse(
        text,
        &ConditionNames {
            user: &|name| (name == "root").then_some(0),
            group: &|_| None,
            class: &|name| (name == "empty").then(|| Arc::new(read("size == 0").unwrap())),
        },
    )
}

const DAY_NS: i64 = 86_400_000_000_000;

/// Tests a condition on a WARC file of 2 GiB that is 40 days old.
fn holds(text: &str) -> bool {
    let file = Attributes {
        size_bytes: 2 << 30,
        modified_ns: 60 * DAY_NS,
        links: 1,
        format: Format::of_name(b"a.warc.gz"),
        ..Attributes::default()
    };
    let subject = Subject {
        path: b"/data/x/a.warc.gz",
        depth: 2,
        file: &file,
        digest: None,
        now_ms: 100 * 86_400_000,
    };
    read(text).unwrap().holds(&subject)
}

#[test]
fn conditions_hold_as_they_read() {
    for text in [
        r#"size > 1 GiB and format == "warc" and last_modified > 30 d"#,
        "size == 2 GiB and size > 2 GB",
        r#"name == "*.warc.gz" and path == "/data/**""#,
        r#"not class == "empty""#,
        r#"class != "empty" and owner == "root" and owner == "0""#,
        "size < 1 or size > 1 and links == 1",
        "not (size < 1 or depth > 2)",
        "last_verified > 10 y and replicas < 2 and not damaged",
        "size >= 1.5GiB",
        r#"type == "file""#,
    ] {
        assert!(holds(text), "{text}");
    }
    for text in [
        "size > 1 GiB and last_modified > 41 d",
        r#"name == "*.warc""#,
        "damaged",
        "(size < 1 or size > 1) and links == 2",
    ] {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn errors_name_their_place() {
    let check = |text: &str, offset: usize, part: &str| {
        let wrong = read(text).unwrap_err();
        assert_eq!(wrong.offset, offset, "{text}: {}", wrong.message);
        assert!(wrong.message.contains(part), "{text}: {}", wrong.message);
    };
    check("size > 1 GiB and colour == 'red'", 17, "unknown field");
    check("size = 1", 5, "equality is `==`");
    check("size > 1 d", 7, "a size such as");
    check("last_modified > 30", 16, "an age such as");
    check("format == 'wark'", 10, "unknown format");
    check("name == 'x", 8, "is not closed");
    check("(size > 1", 9, "expected `and`, `or` or `)`");
    check("size > 1 size", 7, "expected");
    check("", 0, "expected a field");
    check("class == 'full'", 9, "[class.full]");
    check("owner == 'nobody at all'", 9, "give the number");
    check(&"(".repeat(200), 100, "too deeply");
    check("size > 99999999999999999999", 7, "");
}

proptest! {
    #[test]
    fn no_text_panics(text: String, marks in "[()=<>'\"a-z0-9 %.]{0,40}") {
        let _ = read(&text);
        let _ = read(&marks);
        let _ = quantity(&text, Unit::Bytes);
    }
}
