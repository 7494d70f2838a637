//! Maintenance of the facts: fewer files, the same rows, even during a load.

use std::time::Duration;

use archive::question::View;
use sql::verify::verify;
use sql::{Database, MaintainReport, maintain};

use crate::data::{Workspace, ask, dump};

fn run(database: &Database, keep: Duration) -> Vec<MaintainReport> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(maintain(database, keep)).unwrap()
}

fn data_files(place: &Workspace, table: &str) -> usize {
    let dir = place.path("archive/facts").join(table);
    let names = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().ends_with(".parquet"))
        .count()
}

#[test]
fn small_files_are_put_together_and_loads_go_on() {
    let place = Workspace::new();
    let owner = place.own();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (round, seed) in [1, 2].into_iter().enumerate() {
        let web = place.web(100, seed);
        place.load(&owner, &[web], Some(100_000));
        // Concurrently with the owner, through its socket.
        let database = place.database();
        let done = run(&database, Duration::from_secs(3600));
        let captures = &done[0];
        assert_eq!(captures.table, "captures");
        assert!(captures.files_before > 8 && captures.files_after < 4, "{done:#?}");
        assert!(captures.checkpoint, "{done:#?}");
        // All files are younger than an hour.
        assert_eq!(captures.files_removed, 0);
        assert!(data_files(&place, "captures") > captures.files_before);
        let verified = runtime.block_on(verify(&database, &mut |_| ())).unwrap();
        assert!(verified.is_clean(), "round {round}: {verified:#?}");
    }
    // Captures that are taken back also leave the compacted files.
    let database = place.database();
    let rows = dump(&owner, View::Captures).lines().count();
    let count = runtime.block_on(ask(&database, "SELECT count(*) FROM captures"));
    assert_eq!(count, rows.to_string());
    let done = run(&database, Duration::ZERO);
    assert!(done.iter().all(|table| table.files_removed > 0), "{done:#?}");
    for table in ["captures", "links"] {
        assert!(data_files(&place, table) < 6);
    }
    let verified = runtime.block_on(verify(&database, &mut |_| ())).unwrap();
    assert!(verified.is_clean(), "{verified:#?}");
    drop(owner);
    // Another owner reads the checkpoint and continues.
    let owner = place.own();
    let web = place.web(100, 9);
    place.load(&owner, &[web], None);
    let verified = runtime.block_on(verify(&database, &mut |_| ())).unwrap();
    assert!(verified.is_clean(), "{verified:#?}");
}
