//! Failures are retried at the next missing byte, or reported; never ignored.

use std::io::ErrorKind;

use remote::Remote;

use crate::reading::{cached, content, read_all, settings};
use crate::web::Trouble::{Changed, Cut, Status};
use crate::web::{Behaviour, Web};

/// Reads all of a 1 MB file, with these failures after it was opened.
fn read_with(troubles: &[crate::web::Trouble], manner: Behaviour) -> (std::io::Result<()>, Vec<String>) {
    read_through(troubles, manner, false)
}

/// As `read_with`, with or without a cache.
fn read_through(
    troubles: &[crate::web::Trouble],
    manner: Behaviour,
    is_cached: bool,
) -> (std::io::Result<()>, Vec<String>) {
    let content = content(1_000_000);
    let web = Web::start(&content, manner);
    let remote = cached(Remote::new(settings()), is_cached);
    let stat = remote.stat(&[&web.url("/file")]).pop().unwrap().unwrap();
    web.log();
    let read = if manner == Behaviour::Ranges {
        let input = remote.open(&web.url("/file"), stat.as_ref()).unwrap();
        web.order(troubles.iter().copied());
        read_all(&*input, 10_000)
    } else {
        // The first response belongs to opening the file.
        web.order([Cut(usize::MAX)].into_iter().chain(troubles.iter().copied()));
        remote
            .open(&web.url("/file"), stat.as_ref())
            .and_then(|input| read_all(&*input, 256 << 10))
    };
    (read.map(|read| assert!(read == content)), web.log())
}

#[test]
fn answers_of_trouble_are_asked_for_again() {
    let troubles = [Status(503), Status(500), Status(429), Status(503), Cut(0)];
    for is_cached in [false, true] {
        let (read, _) = read_through(&troubles, Behaviour::Ranges, is_cached);
        read.unwrap();
    }
    let (read, _) = read_with(&troubles, Behaviour::NoRanges);
    read.unwrap();
}

#[test]
fn a_broken_answer_goes_on_at_the_byte_reached() {
    // Ten breaks with some bytes between them: only consecutive failures without bytes count.
    let (read, log) = read_with(&[Cut(5000); 10], Behaviour::Ranges);
    read.unwrap();
    let resumed: Vec<&str> = log.iter().map(String::as_str).take(5).collect();
    let expected = [
        "bytes=0-0",
        "bytes=0-65535",
        "bytes=5000-65535",
        "bytes=10000-65535",
        "bytes=15000-65535",
    ];
    assert_eq!(resumed, expected);
}

#[test]
fn patience_ends() {
    let (read, log) = read_with(&[Status(503); 100], Behaviour::Ranges);
    let error = read.unwrap_err().to_string();
    assert_eq!(log.len(), 1 + 6);
    assert!(
        error.contains("byte 0: the server says 503") && error.contains("tried 6 times"),
        "{error}"
    );
}

#[test]
fn a_changed_file_is_an_error_and_no_mixture() {
    for troubles in [
        &[Changed][..],
        &[Cut(70_000), Changed],
        &[Cut(9), Cut(9), Changed],
    ] {
        for is_cached in [false, true] {
            let (read, _) = read_through(troubles, Behaviour::Ranges, is_cached);
            let error = read.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert!(
                error.to_string().contains("changed since it was opened"),
                "{error}"
            );
        }
    }
    // The file may also change between two requests for its description.
    let web = Web::start(b"content", Behaviour::Ranges);
    let remote = Remote::new(settings());
    let stat = remote.stat(&[&web.url("/file")]).pop().unwrap().unwrap();
    web.order([Changed]);
    let error = remote.open(&web.url("/file"), stat.as_ref()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[test]
fn servers_without_ranges_are_read_once() {
    let (read, log) = read_with(&[], Behaviour::NoRanges);
    read.unwrap();
    assert_eq!(log, ["bytes=0-0", ""]);
    // The length reveals a broken response, and the copy starts again.
    let (read, log) = read_with(&[Cut(999_999)], Behaviour::NoRanges);
    read.unwrap();
    assert_eq!(log, ["bytes=0-0", "", ""]);
}

#[test]
fn a_length_may_be_untold() {
    let content = content(100_000);
    let web = Web::start(&content, Behaviour::NoLength);
    let remote = Remote::new(settings());
    let stat = remote.stat(&[&web.url("/file")]).pop().unwrap().unwrap().unwrap();
    assert_eq!(stat.size, 0);
    let input = remote.open(&web.url("/file"), Some(&stat)).unwrap();
    assert_eq!(input.size().unwrap(), 100_000);
    assert!(read_all(&*input, 9999).unwrap() == content);
}

#[test]
fn redirects_are_followed() {
    let content = content(200_000);
    let web = Web::start(&content, Behaviour::Ranges);
    let input = Remote::new(settings()).open(&web.url("/moved"), None).unwrap();
    assert!(read_all(&*input, 256 << 10).unwrap() == content);
}

#[test]
fn what_is_not_there_or_not_allowed_is_told_apart() {
    let web = Web::start(b"x", Behaviour::Ranges);
    let remote = Remote::new(settings());
    let urls = [web.url("/file"), web.url("/absent"), web.url("/secret")];
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let mut stats = remote.stat(&urls).into_iter();
    assert_eq!(
        stats.next().unwrap().unwrap().unwrap().validator.as_deref(),
        Some("\"v0\"")
    );
    assert_eq!(stats.next().unwrap().unwrap(), None);
    let error = stats.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert_eq!(
        remote.open(urls[1], None).err().unwrap().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        remote.list(&web.url("/")).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    // Probably no server listens on that port.
    let error = remote
        .open("http://127.0.0.1:9/x", None)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("tried 6 times"), "{error}");
}
