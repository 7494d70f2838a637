use proptest::prelude::*;

use super::RetentionMode::{Compliance, Governance};
use super::*;
use crate::{Change, Clock, Condition, Digests, Key, Term};

const NOW: u64 = 1_000_000;

fn retention(mode: RetentionMode, until_ms: u64) -> Option<Retention> {
    Some(Retention { mode, until_ms })
}

fn protection(retention: Option<Retention>, hold: bool) -> Protection {
    Protection { retention, hold }
}

fn draft(content: u8, protection: Protection) -> Draft {
    let mut attributes: BTreeMap<_, _> = [("content-type".to_owned(), "a/b".to_owned())].into();
    protection.write_to(&mut attributes);
    Draft {
        deleted: false,
        size: 1,
        etag: String::new(),
        attributes,
        digests: Digests {
            md5: [0; 16],
            sha256: [0; 32],
            blake3: [content; 32],
        },
    }
}

fn meta(content: u8, protection: Protection) -> Meta {
    let version = Clock::new("n").after(None, Term::NONE);
    draft(content, protection).into_meta(&Key::new("b", "x").unwrap(), version)
}

fn tombstone() -> Draft {
    Draft {
        deleted: true,
        ..draft(0, Protection::default())
    }
}

fn set(to: Option<Retention>) -> Protect {
    Protect {
        retention: RetentionChange::Set(to),
        ..Protect::default()
    }
}

fn bypassing(to: Option<Retention>) -> Protect {
    Protect {
        bypass_governance: true,
        ..set(to)
    }
}

fn hold(hold: bool) -> Protect {
    Protect {
        hold: Some(hold),
        ..Protect::default()
    }
}

/// Every current protection, with every write that neither mentions protection nor has the same
/// content.
#[test]
fn what_is_protected_is_neither_deleted_nor_replaced() {
    for (current, is_refused) in [
        (protection(None, false), false),
        (protection(None, true), true),
        (protection(retention(Governance, NOW + 1), false), true),
        (protection(retention(Compliance, NOW + 1), false), true),
        (protection(retention(Compliance, NOW), false), false),
        (protection(retention(Governance, NOW - 1), false), false),
        (protection(retention(Compliance, NOW - 1), true), true),
    ] {
        let meta = meta(1, current);
        for write in [tombstone(), draft(2, Protection::default())] {
            let after = Protection::after(Some(&meta), &write, &Protect::default(), NOW);
            let expected = match current.in_force(NOW) {
                Some(in_force) => Err(in_force),
                None => Ok(Protection::default()),
            };
            assert_eq!(after, expected, "{current}");
            assert_eq!(after.is_err(), is_refused, "{current}");
            // A change of protection with the write does not help.
            let words = bypassing(retention(Compliance, NOW + 9));
            let after = Protection::after(Some(&meta), &write, &words, NOW);
            assert_eq!(after.is_err(), is_refused, "{current}");
        }
        let same = draft(1, Protection::default());
        let after = Protection::after(Some(&meta), &same, &Protect::default(), NOW);
        assert_eq!(after, Ok(current), "the same content keeps it: {current}");
    }
}

/// Every change of a retention in force.
#[test]
fn a_retention_in_force_is_shortened_only_by_those_who_may() {
    let extend = |mode, until_ms| Protect::extend(Retention { mode, until_ms });
    let (short, long) = (NOW + 10, NOW + 20);
    let governed = retention(Governance, short);
    let complied = retention(Compliance, short);
    for (current, change, expected) in [
        (None, set(governed), Some(governed)),
        (None, extend(Compliance, short), Some(complied)),
        (None, set(None), Some(None)),
        (governed, set(governed), Some(governed)),
        (
            governed,
            set(retention(Governance, long)),
            Some(retention(Governance, long)),
        ),
        (governed, set(complied), Some(complied)),
        (governed, set(retention(Governance, short - 1)), None),
        (governed, set(retention(Compliance, short - 1)), None),
        (governed, set(None), None),
        (governed, bypassing(None), Some(None)),
        (
            governed,
            bypassing(retention(Governance, 1)),
            Some(retention(Governance, 1)),
        ),
        (governed, extend(Governance, short - 1), Some(governed)),
        (governed, extend(Compliance, short - 1), Some(complied)),
        (complied, set(complied), Some(complied)),
        (
            complied,
            set(retention(Compliance, long)),
            Some(retention(Compliance, long)),
        ),
        (complied, set(retention(Governance, long)), None),
        (complied, set(retention(Compliance, short - 1)), None),
        (complied, set(None), None),
        (complied, bypassing(None), None),
        (complied, bypassing(retention(Governance, long)), None),
        (
            complied,
            extend(Governance, long),
            Some(retention(Compliance, long)),
        ),
        (complied, extend(Governance, 1), Some(complied)),
        // It has ended, so any change is allowed.
        (retention(Compliance, NOW), set(None), Some(None)),
        (
            retention(Compliance, NOW),
            extend(Governance, short),
            Some(governed),
        ),
    ] {
        let before = protection(current, false);
        let after = before.changed(&change, NOW);
        let expected = expected
            .map(|retention| protection(retention, false))
            .ok_or(before);
        assert_eq!(after, expected, "{current:?} {change:?}");
    }
}

#[test]
fn a_hold_comes_and_goes_without_touching_the_retention() {
    let complied = protection(retention(Compliance, NOW + 1), false);
    let held = complied.changed(&hold(true), NOW).unwrap();
    assert_eq!(held, protection(complied.retention, true));
    assert_eq!(held.changed(&hold(false), NOW), Ok(complied));
    assert_eq!(held.changed(&Protect::default(), NOW), Ok(held));
    assert!(Protect::default().is_empty() && !hold(false).is_empty());
}

/// A client's attributes never set protection, not even those copied from a protected object.
#[test]
fn attributes_of_a_write_say_nothing_about_protection() {
    let claimed = protection(retention(Compliance, NOW + 9), true);
    let write = draft(1, claimed);
    let none = Protect::default();
    assert_eq!(
        Protection::after(None, &write, &none, NOW),
        Ok(Protection::default())
    );
    let kept = protection(retention(Governance, NOW + 1), false);
    assert_eq!(
        Protection::after(Some(&meta(1, kept)), &write, &none, NOW),
        Ok(kept)
    );
    let ended = protection(retention(Governance, NOW), false);
    assert_eq!(
        Protection::after(Some(&meta(2, ended)), &write, &none, NOW),
        Ok(Protection::default()),
        "new content must not inherit the protection of the old"
    );
}

#[test]
fn what_cannot_be_read_protects() {
    let with = |until: &str, mode: Option<&str>| {
        let mut attributes: BTreeMap<_, _> = [(UNTIL.to_owned(), until.to_owned())].into();
        attributes.extend(mode.map(|mode| (MODE.to_owned(), mode.to_owned())));
        Protection::of(&attributes).retention
    };
    assert_eq!(
        with("1970-01-01T00:00:00.007Z", Some("governance")),
        retention(Governance, 7)
    );
    assert_eq!(
        with("1970-01-01T00:00:00.007Z", Some("strict")),
        retention(Compliance, 7)
    );
    assert_eq!(with("1970-01-01T00:00:00.007Z", None), retention(Compliance, 7));
    for text in ["", "soon", "1969-12-31T23:59:59.000Z"] {
        assert_eq!(
            with(text, Some("governance")),
            retention(Governance, u64::MAX),
            "{text}"
        );
    }
}

/// A node that predates protection must not carry out such a change as a plain put.
#[test]
fn an_older_node_refuses_a_change_of_protection() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only parsing it is tested")]
    enum OlderChange {
        Put {
            condition: Condition,
            draft: Box<Draft>,
            stages: Vec<serde_json::Value>,
        },
        Delete {
            condition: Condition,
        },
        Settle,
    }
    let (condition, draft, uploads) = (
        Condition::Always,
        Box::new(draft(1, Protection::default())),
        Vec::new(),
    );
    let plain = Change::Put {
        condition: condition.clone(),
        draft: draft.clone(),
        uploads: Vec::new(),
    };
    let text = serde_json::to_string(&plain).unwrap();
    serde_json::from_str::<OlderChange>(&text).unwrap();
    let change = Change::Protect {
        condition,
        draft,
        uploads,
        protect: hold(true),
    };
    let text = serde_json::to_string(&change).unwrap();
    let error = serde_json::from_str::<OlderChange>(&text).unwrap_err();
    assert!(error.to_string().contains("unknown variant `protect`"), "{error}");
    let Change::Protect { protect, .. } = serde_json::from_str(&text).unwrap() else {
        panic!("{text}");
    };
    assert_eq!(protect, hold(true));
}

#[test]
fn protection_is_told_in_words() {
    let until_ms = u64::try_from(format::date::ms_of_iso("2036-01-01T00:00:00.000Z").unwrap()).unwrap();
    let complied = retention(Compliance, until_ms);
    for (protection, text) in [
        (protection(None, false), "not protected"),
        (protection(None, true), "under a legal hold"),
        (
            protection(complied, false),
            "kept until 2036-01-01T00:00:00Z (compliance)",
        ),
        (
            protection(complied, true),
            "kept until 2036-01-01T00:00:00Z (compliance) and under a legal hold",
        ),
    ] {
        assert_eq!(protection.to_string(), text);
    }
}

fn any_retention() -> impl Strategy<Value = Retention> {
    let mode = prop_oneof![Just(Governance), Just(Compliance)];
    (mode, 0..NOW * 2).prop_map(|(mode, until_ms)| Retention { mode, until_ms })
}

fn any_protection() -> impl Strategy<Value = Protection> {
    (proptest::option::of(any_retention()), any::<bool>())
        .prop_map(|(retention, hold)| Protection { retention, hold })
}

fn any_protect() -> impl Strategy<Value = Protect> {
    let retention = prop_oneof![
        Just(RetentionChange::Keep),
        any_retention().prop_map(RetentionChange::Extend),
        proptest::option::of(any_retention()).prop_map(RetentionChange::Set),
    ];
    (retention, any::<Option<bool>>(), any::<bool>()).prop_map(|(retention, hold, bypass_governance)| {
        Protect {
            retention,
            hold,
            bypass_governance,
        }
    })
}

proptest! {
    #[test]
    fn attributes_carry_it(protection in any_protection(), other in any_protection()) {
        let mut attributes = BTreeMap::new();
        other.write_to(&mut attributes);
        protection.write_to(&mut attributes);
        prop_assert_eq!(Protection::of(&attributes), protection);
    }

    /// Whatever changes are requested, in any order: a compliance retention only gets longer before
    /// its end.
    #[test]
    fn compliance_only_grows(
        mut protection in any_protection(),
        changes in proptest::collection::vec((any_protect(), 0..NOW / 4), 1..20),
    ) {
        let mut now_ms = 0;
        for (change, passed_ms) in changes {
            now_ms += passed_ms;
            let before = protection.in_force(now_ms).and_then(|protection| protection.retention);
            protection = protection.changed(&change, now_ms).unwrap_or(protection);
            if let Some(before) = before.filter(|before| before.mode == Compliance) {
                let after = protection.retention.unwrap();
                prop_assert!(after.mode == Compliance && after.until_ms >= before.until_ms);
            }
        }
    }
}

#[test]
fn a_copy_covers_what_is_protected_no_longer_and_no_more_strictly() {
    let object = meta(1, protection(retention(Governance, NOW + 5), true));
    for (copy, expected) in [
        (meta(1, protection(retention(Governance, NOW + 5), true)), true),
        (meta(1, protection(retention(Compliance, NOW + 6), true)), true),
        (meta(2, protection(retention(Governance, NOW + 5), true)), false),
        (meta(1, protection(retention(Governance, NOW + 4), true)), false),
        (meta(1, protection(retention(Governance, NOW + 5), false)), false),
        (meta(1, protection(None, true)), false),
    ] {
        assert_eq!(
            Protection::is_covered_by(&object, &copy, NOW),
            expected,
            "{copy:?}"
        );
    }
    let strict = meta(1, protection(retention(Compliance, NOW + 5), false));
    let weaker = meta(1, protection(retention(Governance, NOW + 9), false));
    assert!(!Protection::is_covered_by(&strict, &weaker, NOW));
    // An ended retention needs no cover.
    assert!(Protection::is_covered_by(
        &strict,
        &meta(1, Protection::default()),
        NOW + 5
    ));
}
