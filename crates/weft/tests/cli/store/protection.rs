//! Write once, read many on the command line.

use super::TwoVolumes;
use super::served::STORE_SERVE;
use crate::fixture;
use crate::serve::Served;

const SMALL: &str = "crawls/2014/small.txt";
const LARGE: &str = "crawls/2014/large.warc.gz";

impl TwoVolumes {
    /// Checks that the command fails with this message.
    #[track_caller]
    fn check_refused(&self, arguments: &[&str], said: &str) {
        let run = self.run(arguments);
        assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

#[test]
fn what_is_retained_is_not_removed_and_the_others_are() {
    let kept = TwoVolumes::filled();
    let said = kept.good(&["retain", SMALL, "--until", "2090-01-01", "--mode", "compliance"]);
    let until = "kept until 2090-01-01T00:00:00Z (compliance)";
    assert_eq!(said, format!("store://{SMALL}  {until}\n"));
    let stat = kept.good(&["stat", SMALL]);
    assert!(stat.contains(&format!("protected {until}\n")), "{stat}");
    let stat = &kept.json(&["stat", SMALL])[0]["protection"];
    assert_eq!(stat["until"], "2090-01-01T00:00:00.000Z");
    assert_eq!(stat["mode"], "compliance");
    assert!(stat["in_force"] == true && stat["hold"] == false, "{stat}");

    kept.check_refused(&["rm", SMALL], until);
    kept.place.write("small.txt", b"other");
    kept.check_refused(&["put", "small.txt", "crawls/2014/"], until);
    kept.check_refused(&["retain", SMALL, "--lift"], until);
    // Neither a shorter time nor a weaker mode takes effect: the request is a minimum.
    let said = kept.good(&["retain", SMALL, "--for", "1y"]);
    assert!(said.contains(until), "{said}");
    kept.check_refused(&["rm", "crawls/", "--recursive", "--yes"], until);
    assert_eq!(kept.good(&["get", SMALL, "-"]), "small");
    let all = kept.good(&["ls", "crawls", "--recursive"]);
    assert!(all.ends_with("1 object, 5 B\n"), "the other is gone: {all}");
    kept.check_refused(&["retain", LARGE, "--for", "1y"], "no object");
}

#[test]
fn governance_is_lifted_and_a_hold_is_ended() {
    let kept = TwoVolumes::filled();
    kept.good(&["retain", "crawls/", "--recursive", "--for", "30d"]);
    kept.check_refused(&["rm", SMALL, LARGE], "(governance)");
    let said = kept.good(&["retain", SMALL, "--lift"]);
    assert_eq!(said, format!("store://{SMALL}  not protected\n"));
    kept.good(&["hold", SMALL]);
    kept.check_refused(&["rm", SMALL], "under a legal hold");
    let ended = &kept.json(&["hold", SMALL, "--off"])[0];
    assert_eq!(ended["protection"]["hold"], false, "{ended}");
    kept.good(&["rm", SMALL]);
    kept.check_refused(&["rm", LARGE], "(governance)");
}

#[test]
fn ends_that_are_none_are_refused() {
    let kept = TwoVolumes::filled();
    for wrong in [
        &["--for", "6m"] as &[&str],
        &["--for", "101y"],
        &["--until", "2020-01-01"],
        &["--until", "2090-02-30"],
        &["--for", "1y", "--until", "2090-01-01"],
        &["--lift", "--mode", "compliance"],
        &["--for", "1y", "--mode", "strict"],
        &[],
    ] {
        let run = kept.run(&[&["retain", SMALL], wrong].concat());
        assert_eq!(run.code, Some(2), "{wrong:?} {}", run.stderr);
    }
    for wrong in [
        &["load", "x", "--retain", "1y"] as &[&str],
        &["load", "x", "--keep", "--retain-mode", "compliance"],
    ] {
        let run = kept.place.run(wrong);
        assert_eq!(run.code, Some(2), "{wrong:?} {}", run.stderr);
    }
    kept.good(&["rm", SMALL]);
}

/// One volume is lost, and a replica on the other is deleted manually. Repair restores both, and
/// protected objects stay protected.
#[test]
fn protection_comes_through_losses_and_repair() {
    let kept = TwoVolumes::filled();
    kept.good(&["retain", SMALL, LARGE, "--for", "10y", "--mode", "compliance"]);
    kept.wipe("b");
    kept.check_refused(&["rm", SMALL], "(compliance)");
    kept.good(&["repair"]);
    for file in kept.replica_files("a") {
        std::fs::remove_file(file).expect("remove a replica");
        kept.run(&["repair"]);
    }
    kept.good(&["repair"]);
    kept.good(&["scrub"]);
    kept.good(&["census"]);
    assert_eq!(kept.good(&["get", SMALL, "-"]), "small");
    kept.check_refused(&["rm", SMALL, LARGE], "(compliance)");
    // A third volume is added, then one is drained: replicas move together with their protection.
    let three = ["--volume", "a", "--volume", "b,weight=0", "--volume", "c"];
    let apply = kept
        .place
        .run(&[&["store", "layout", "apply"] as &[&str], &three].concat());
    assert_eq!(apply.code, Some(0), "{}{}", apply.stdout, apply.stderr);
    let three = ["--volume", "a", "--volume", "b", "--volume", "c"];
    let repaired = kept
        .place
        .run(&[&["store", "repair"] as &[&str], &three].concat());
    assert_eq!(repaired.code, Some(0), "{}{}", repaired.stdout, repaired.stderr);
    let removed = kept
        .place
        .run(&[&["store", "rm", SMALL, LARGE] as &[&str], &three].concat());
    assert_eq!(removed.code, Some(1));
    assert_eq!(
        removed.stderr.matches("(compliance)").count(),
        2,
        "{}",
        removed.stderr
    );
}

#[test]
fn a_serving_process_keeps_it_as_well() {
    let kept = TwoVolumes::filled();
    let mut served = Served::start_with(&kept.place, &STORE_SERVE);
    kept.good(&["retain", LARGE, "--for", "1h", "--mode", "compliance"]);
    kept.check_refused(&["rm", LARGE], "(compliance)");
    kept.good(&["rm", SMALL]);
    assert_eq!(served.stop(), Some(0));
    kept.check_refused(&["rm", LARGE], "(compliance)");
}

/// Objects kept by a load are retained even if they already existed, and never for a shorter time.
#[test]
fn a_load_retains_what_it_keeps() {
    let kept = TwoVolumes::new();
    kept.place.write_old("one.warc", &fixture::small_web());
    let load = |more: &[&str]| {
        let volumes = ["--volume", "a", "--volume", "b"];
        let run = kept
            .place
            .run(&[&["load", "--keep", "one.warc"], &volumes as &[&str], more].concat());
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
        run.stdout
    };
    let plain = load(&[]);
    assert!(
        plain.contains("kept: one.warc") && !plain.contains("until"),
        "{plain}"
    );
    let retained = load(&["--retain-until", "2090-01-01"]);
    let until = "kept until 2090-01-01T00:00:00Z";
    assert!(
        retained.contains("already kept: one.warc") && retained.contains(&format!("{until} (governance)")),
        "{retained}"
    );
    let stricter = load(&["--retain", "1d", "--retain-mode", "compliance", "--json"]);
    assert!(
        stricter.contains(r#""until":"2090-01-01T00:00:00.000Z","mode":"compliance""#),
        "{stricter}"
    );
    kept.check_refused(&["rm", "inputs/one.warc"], until);
    kept.place.write_old("two.warc", &fixture::small_web());
    let volumes = ["--volume", "a", "--volume", "b"];
    let new = kept.place.run(
        &[
            &["load", "--keep", "two.warc", "--retain", "1h"],
            &volumes as &[&str],
        ]
        .concat(),
    );
    assert!(
        new.stdout.contains("(governance)"),
        "{}{}",
        new.stdout,
        new.stderr
    );
    kept.check_refused(&["rm", "inputs/two.warc"], "(governance)");
}
