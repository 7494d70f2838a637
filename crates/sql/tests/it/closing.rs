//! An idle database does not block other processes.

use std::time::{Duration, Instant};

use archive::{Archive, OpenSettings};

use crate::data::{Workspace, ask};

/// Returns the time until another process could own the archive.
fn until_free(place: &Workspace) -> Duration {
    let begun = Instant::now();
    let mut settings = OpenSettings::default();
    settings.own = true;
    while let Err(error) = Archive::open(&place.path("archive"), settings.clone()) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{error}");
    }
    begun.elapsed()
}

#[test]
fn an_archive_is_closed_when_nobody_asks() {
    let statements = [
        "SELECT 1",
        "SELECT count(*) FROM pages",
        "SELECT count(*) FROM captures",
        "SELECT * FROM uris LIMIT 1",
        "SHOW TABLES",
        "SELECT count(*) FROM search('a')",
    ];
    // At the same time, each in an archive of its own, because most of the time is that wait.
    std::thread::scope(|scope| {
        for statement in statements {
            scope.spawn(move || check(&Workspace::small(), statement));
        }
    });
}

fn check(place: &Workspace, statement: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = place.database();
    runtime.block_on(ask(&database, statement));
    // While the database still exists: it waits only two seconds for the next statement.
    let took = until_free(place);
    assert!(took < Duration::from_secs(10), "{statement}: {took:?}");
    runtime.block_on(ask(&database, statement));
    drop(database);
    let took = until_free(place);
    assert!(took < Duration::from_secs(2), "{statement}, dropped: {took:?}");
}
