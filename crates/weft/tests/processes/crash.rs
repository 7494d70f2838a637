//! Scenario: a load is killed at any moment. The archive must open again, and the same command must
//! continue. In the end the archive equals one loaded without interruption: every view dumps the
//! same bytes, and search finds the same pages and documents.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::program::{
    Undisturbed, assert_same, dumps, load, load_few, run, said, status, undisturbed, undisturbed_few, weft,
};

/// A small generator, so that a printed seed reproduces the moments as far as possible.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Checks that every view equals that of an undisturbed load, and that search is complete.
fn check_result(shared: &Path, archive: &Path, expected: &Undisturbed, what: &str) {
    assert_same(&dumps(archive), &expected.dumps, what);
    let text = run(weft(shared, archive, &["search", "--json", "the"]), &[0]);
    assert!(text.contains("\"total\""), "{text}");
    let searched = status(shared, archive, "search_documents");
    assert_eq!(searched, expected.searched, "{what}");
}

#[test]
fn killed_at_random_moments() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let expected = undisturbed(&shared);
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or(u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("WEFT_TEST_SEED={seed}");
    let mut random = Random(seed | 1);
    for round in 0..2 {
        let root = tempfile::tempdir().unwrap();
        let archive = root.path().join("a");
        let kills = kill_until_done(&shared, &archive, &mut random);
        println!("round {round}: {kills} kills");
        check_result(
            &shared,
            &archive,
            expected,
            &format!("seed {seed}, round {round}, {kills} kills"),
        );
    }
}

/// Kills loads at random moments, later and later, until one completes.
fn kill_until_done(shared: &Path, archive: &Path, random: &mut Random) -> u64 {
    for kills in 0.. {
        let mut child = load(shared, archive).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_millis(random.below(60 + 40 * kills));
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if Instant::now() >= deadline {
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        match status {
            Some(status) if matches!(status.code(), Some(0 | 1)) => return kills,
            Some(_) => panic!("{}", said(&child.wait_with_output().unwrap())),
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
    }
    unreachable!("a load that is given ever more time ends")
}

#[test]
fn aborted_at_every_named_point() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let expected = undisturbed_few(&shared);
    // Loads without a take-back do not pass its crash points: the two tests below cover these.
    for point in index::CRASH_POINTS
        .into_iter()
        .chain(facts::CRASH_POINTS)
        .filter(|point| !is_of_take_back(point))
    {
        for nth in [1, 3] {
            let root = tempfile::tempdir().unwrap();
            let archive = root.path().join("a");
            let mut command = load_few(&shared, &archive);
            command.env("WEFT_CRASH_POINT", format!("{point}:{nth}"));
            let output = command.output().unwrap();
            if output.status.code().is_some() {
                // The load ended before it passed this point often enough; it must pass it at least
                // once.
                assert!(nth > 1, "{point}: {}", said(&output));
                continue;
            }
            run(load_few(&shared, &archive), &[0, 1]);
            check_result(&shared, &archive, expected, &format!("{point}:{nth}"));
        }
    }
}

fn is_of_take_back(point: &str) -> bool {
    point.starts_with("take_back.") || point.starts_with("retract.")
}

/// A truncated copy of a file was loaded as done. The load of the complete file is aborted while it
/// takes back the captures of the truncated copy.
#[test]
fn aborted_while_a_cut_input_is_taken_back() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let whole = std::fs::read(shared.join("crawls/etig.warc.gz")).unwrap();
    let load = |archive: &Path| {
        weft(
            root,
            archive,
            &["load", "--epoch-bytes", "200000", "etig.warc.gz"],
        )
    };
    let write = |bytes: &[u8]| write_old(&root.join("etig.warc.gz"), bytes);
    let calm = root.join("calm");
    write(&whole);
    run(load(&calm), &[0, 1]);
    let expected = Undisturbed {
        dumps: dumps(&calm),
        searched: status(root, &calm, "search_documents"),
    };
    for point in index::CRASH_POINTS
        .into_iter()
        .filter(|point| is_of_take_back(point))
    {
        let archive = root.join(point);
        write(&whole[..whole.len() / 2]);
        run(load(&archive), &[1]);
        write(&whole);
        let output = load(&archive).env("WEFT_CRASH_POINT", point).output().unwrap();
        assert_eq!(output.status.code(), None, "{point}: {}", said(&output));
        run(load(&archive), &[0, 1]);
        check_result(root, &archive, &expected, point);
    }
}

/// The captures of a truncated copy are in one file of facts, which is rewritten without the last
/// of them. The load is aborted meanwhile.
#[test]
fn aborted_while_facts_are_taken_back() {
    let whole: String = (0..24).map(record).collect();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let load = |archive: &Path| weft(root, archive, &["load", "x.warc"]);
    let write = |length: usize| write_old(&root.join("x.warc"), &whole.as_bytes()[..length]);
    let calm = root.join("calm");
    write(whole.len());
    run(load(&calm), &[0]);
    let expected = dumps(&calm);
    let points = facts::CRASH_POINTS
        .into_iter()
        .filter(|point| !point.starts_with("stage."));
    for point in points.chain(["take_back.before_publish"]) {
        let archive = root.join(point);
        write(whole.len() - 20);
        run(load(&archive), &[1]);
        write(whole.len());
        let output = load(&archive).env("WEFT_CRASH_POINT", point).output().unwrap();
        assert_eq!(output.status.code(), None, "{point}: {}", said(&output));
        run(load(&archive), &[0]);
        assert_same(&dumps(&archive), &expected, point);
    }
}

/// A takedown is aborted while it removes a page from the index, the facts and their tables. The
/// same command then completes the work, or finds it done.
#[test]
fn aborted_while_captures_are_taken_down() {
    let whole: String = (0..4).map(record).collect();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write_old(&root.join("x.warc"), whole.as_bytes());
    let forget = |archive: &Path| weft(root, archive, &["forget", "--url", "http://a.com/2"]);
    let state = |archive: &Path| {
        let tables = ["captures", "links"].map(|table| {
            let table = archive.join("facts").join(table);
            facts::table_as_text(&table, &["input_id", "epoch"]).unwrap()
        });
        (dumps(archive), tables)
    };
    let calm = root.join("calm");
    run(weft(root, &calm, &["load", "x.warc"]), &[0]);
    run(forget(&calm), &[0]);
    let expected = state(&calm);
    assert!(!expected.1[0].contains("a.com/2"));
    let of_facts = facts::CRASH_POINTS
        .into_iter()
        .filter(|point| !point.starts_with("stage."));
    let of_index = index::CRASH_POINTS
        .into_iter()
        .filter(|point| is_of_take_back(point));
    for point in of_index.chain(of_facts) {
        let archive = root.join(point);
        run(weft(root, &archive, &["load", "x.warc"]), &[0]);
        let output = forget(&archive).env("WEFT_CRASH_POINT", point).output().unwrap();
        assert_eq!(output.status.code(), None, "{point}: {}", said(&output));
        run(forget(&archive), &[0]);
        let (views, tables) = state(&archive);
        assert_same(&views, &expected.0, point);
        assert_eq!(tables, expected.1, "{point}");
        run(weft(root, &archive, &["verify"]), &[0]);
    }
}

/// Returns a WARC record of a page.
pub(crate) fn record(number: usize) -> String {
    let block = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>page {number}</title><a href=/x>x</a>"
    );
    let length = block.len();
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{number}>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
         WARC-Target-URI: http://a.com/{number}\r\nContent-Type: application/http\r\nContent-Length: {length}\r\n\r\n\
         {block}\r\n\r\n"
    )
}

/// A file that ends in the middle of a record is loaded, and the load is aborted after each of its
/// epochs in turn. Then the file is completed. The truncated record must not be committed before
/// the input is done, or the next load would take its middle for the beginning of a record.
#[test]
fn aborted_around_the_cut_end_of_an_input_that_goes_on() {
    let whole: String = (0..24).map(record).collect();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let load = |archive: &Path| weft(root, archive, &["load", "--epoch-bytes", "1", "x.warc"]);
    let write = |length: usize| write_old(&root.join("x.warc"), &whole.as_bytes()[..length]);
    let calm = root.join("calm");
    write(whole.len());
    run(load(&calm), &[0]);
    let expected = dumps(&calm);
    for nth in 1.. {
        let archive = root.join(nth.to_string());
        write(whole.len() - 20);
        let mut aborted = load(&archive);
        aborted.env("WEFT_CRASH_POINT", format!("apply.before_publish:{nth}"));
        if aborted.output().unwrap().status.code().is_some() {
            assert!(nth > 4, "an epoch for every record");
            break;
        }
        write(whole.len());
        run(load(&archive), &[0]);
        assert_same(&dumps(&archive), &expected, &format!("aborted after epoch {nth}"));
    }
}

/// Writes a file with an old modification time, so that it counts as complete.
pub(crate) fn write_old(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600))
        .unwrap();
}

#[test]
fn aborted_again_and_again_at_the_same_point() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let expected = undisturbed(&shared);
    let root = tempfile::tempdir().unwrap();
    let archive = root.path().join("a");
    for attempt in 1.. {
        let mut command = load(&shared, &archive);
        // The epoch is durable before the abort: every attempt advances by one.
        command.env("WEFT_CRASH_POINT", "apply.before_publish:1");
        let output = command.output().unwrap();
        if matches!(output.status.code(), Some(0 | 1)) {
            assert!(attempt > 5, "{attempt} attempts");
            break;
        }
        assert!(attempt < 500, "{}", said(&output));
    }
    check_result(&shared, &archive, expected, "aborted after every epoch");
}

/// The load of an index is aborted in its first epochs and continued: no line is missing or
/// duplicated.
#[test]
fn an_index_whose_load_was_aborted_is_there_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let lines: String = (0..3000)
        .map(|n| format!("k 20140126200624 http://example.com/{n} text/html 200 D{n} - - 50 {n} x.warc.gz\n"))
        .collect();
    std::fs::write(root.join("x.cdx"), lines).unwrap();
    let load = |archive: &Path| weft(root, archive, &["load", "--epoch-bytes", "60000", "x.cdx"]);
    let lines_of = |archive: &Path| run(weft(root, archive, &["cdx", "example.com/*"]), &[0, 1]);
    let calm = root.join("calm");
    run(load(&calm), &[0]);
    let expected = lines_of(&calm);
    assert_eq!(expected.lines().count(), 3000);
    for point in [
        "apply.before_commit:3",
        "apply.before_sync:2",
        "apply.before_publish:1",
    ] {
        let archive = root.join(point);
        let output = load(&archive).env("WEFT_CRASH_POINT", point).output().unwrap();
        assert_eq!(output.status.code(), None, "{point}: {}", said(&output));
        let begun = lines_of(&archive).lines().count();
        assert!(begun < 3000, "{point}: {begun} lines");
        run(load(&archive), &[0]);
        assert_eq!(lines_of(&archive), expected, "{point}");
        run(weft(root, &archive, &["verify"]), &[0]);
    }
}
