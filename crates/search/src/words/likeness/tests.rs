use super::*;

/// The likeness is part of the format: likenesses on disk are compared with it.
#[test]
fn the_likeness_of_a_text_stays() {
    assert_eq!(
        of_text("The root zone is small."),
        of_text("the ROOT zone; is small")
    );
    assert_eq!(
        of_text("root zone"),
        Some(hash_of_shingle(&[0, hash_of_word("root"), hash_of_word("zone")]))
    );
    assert_eq!(hash_of_word("a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(
        of_text("one two three"),
        Some(hash_of_shingle(&["one", "two", "three"].map(hash_of_word)))
    );
    assert_eq!((of_text(""), of_text(" .,;")), (None, None));
}

#[test]
fn a_likeness_is_written_and_read() {
    for likeness in [0, 1, 0xfedc_ba98_7654_3210, u64::MAX] {
        assert_eq!(read(&text(likeness)), Some(likeness));
    }
    for odd in [
        "",
        "12",
        "+123456789abcdef",
        "0123456789abcdeg",
        "00123456789abcdef",
    ] {
        assert_eq!(read(odd), None, "{odd}");
    }
}

/// Returns random words for the texts to compare.
fn words(seed: u64, count: usize) -> Vec<String> {
    (0..count as u64)
        .map(|n| format!("w{}", mixed(seed * 1_000_003 + n) % 5000))
        .collect()
}

#[test]
fn few_changes_leave_a_text_near_and_another_text_is_far() {
    let (mut near, mut far) = (0, 0);
    for seed in 0..100 {
        let text = words(seed, 600);
        let likeness = of_text(&text.join(" ")).unwrap();
        let mut changed = text.clone();
        for n in 0..3 {
            changed[mixed(seed + n) as usize % 600] = format!("changed{n}");
        }
        near += usize::from(are_near(likeness, of_text(&changed.join(" ")).unwrap()));
        far += usize::from(are_near(
            likeness,
            of_text(&words(seed + 1000, 600).join(" ")).unwrap(),
        ));
    }
    assert!(near >= 90, "{near} of 100");
    assert_eq!(far, 0);
}

#[test]
fn documents_are_alike_by_name_only_if_the_names_are_equal() {
    let names: Vec<String> = (0..300).map(|n| format!("http://example.com/{n}.png")).collect();
    let likenesses: Vec<u64> = names.iter().map(|name| of_name(name)).collect();
    for (place, likeness) in likenesses.iter().enumerate() {
        assert_eq!(of_name(&names[place]), *likeness);
        assert!(
            !likenesses[..place]
                .iter()
                .any(|other| are_near(*other, *likeness)),
            "{place}"
        );
    }
}
