//! `weft redact` killed while writing leaves no copy, and the next run completes.

use crate::crash::{record, write_old};
use crate::program::{run, weft};

#[test]
fn a_redaction_that_is_killed_leaves_no_copy() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let archive = root.join("archive");
    let records: Vec<String> = (0..4).map(record).collect();
    write_old(&root.join("x.warc"), records.concat().as_bytes());
    run(weft(root, &archive, &["load", "x.warc"]), &[0]);
    run(weft(root, &archive, &["forget", "--url", "http://a.com/2"]), &[0]);
    let expected = [&records[0], &records[1], &records[3]]
        .map(String::as_str)
        .concat();
    for point in archive::CRASH_POINTS
        .into_iter()
        .filter(|point| point.starts_with("redact."))
    {
        let mut command = weft(root, &archive, &["redact", "x.warc", "out.warc"]);
        let output = command.env("WEFT_CRASH_POINT", point).output().unwrap();
        assert_eq!(output.status.code(), None, "{point}");
        assert!(!root.join("out.warc").exists(), "{point}");
    }
    // An existing file to be replaced stays unchanged.
    std::fs::write(root.join("out.warc"), "before").unwrap();
    let replace = || weft(root, &archive, &["redact", "x.warc", "out.warc", "--force"]);
    let output = replace()
        .env("WEFT_CRASH_POINT", "redact.before_rename")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None);
    assert_eq!(std::fs::read(root.join("out.warc")).unwrap(), b"before");
    run(replace(), &[0]);
    assert_eq!(std::fs::read_to_string(root.join("out.warc")).unwrap(), expected);
}
