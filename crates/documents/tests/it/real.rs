//! Tests with real files.

use std::path::Path;

use extract::DocumentFormat;

use crate::read;

/// Documents from system packages, with words that they contain.
const FILES: &[(&str, &str)] = &[
    (
        "/usr/share/doc/libtasn1-doc/libtasn1.pdf",
        "Abstract Syntax Notation One",
    ),
    (
        "/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf",
        "Shared MIME-info Database",
    ),
];

pub(crate) fn files() {
    for (path, words) in FILES {
        let Ok(bytes) = std::fs::read(Path::new(path)) else {
            println!("skipped: no {path} here");
            continue;
        };
        let found = read(DocumentFormat::Pdf, &bytes).unwrap();
        let text = found.text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(words),
            "{path}: {}",
            text.chars().take(200).collect::<String>()
        );
        assert!(!found.truncated);
    }
}
