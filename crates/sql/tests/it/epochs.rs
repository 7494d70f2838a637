//! All tables of a statement have one epoch; older epochs can be requested.

use std::sync::atomic::{AtomicBool, Ordering};

use archive::question::View;
use sql::{QuerySettings, SqlError};

use crate::data::{Workspace, ask_with, dump};

/// The captures of the facts and the count of the ledger; the pages of the facts and the live ones.
const BOTH: &str = "
    SELECT
        (SELECT count(*) FROM captures) AS a,
        (SELECT sum(captures) FROM ledger) AS b,
        (SELECT count(DISTINCT url_surtkey) FROM captures) AS c,
        (SELECT count(*) FROM uris WHERE captured = 1) AS d";

#[test]
fn a_statement_sees_one_epoch_while_the_archive_is_loaded() {
    let place = Workspace::new();
    let inputs = [place.web(150, 1), place.web(150, 2)];
    let owner = place.own();
    // Queried through the socket of the owner, which is loading.
    let database = place.database();
    let is_loading = AtomicBool::new(true);
    let mut epochs = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            place.load(&owner, &inputs, Some(20_000));
            is_loading.store(false, Ordering::SeqCst);
        });
        let runtime = tokio::runtime::Runtime::new().unwrap();
        loop {
            let is_last = !is_loading.load(Ordering::SeqCst);
            let (epoch, row) = runtime
                .block_on(ask_with(&database, BOTH, &QuerySettings::default()))
                .unwrap();
            let numbers: Vec<&str> = row.split('\t').collect();
            let captures = if numbers[1].is_empty() { "0" } else { numbers[1] };
            assert_eq!(numbers[0], captures, "captures at epoch {epoch}");
            assert_eq!(numbers[2], numbers[3], "keys at epoch {epoch}");
            epochs.push(epoch);
            if is_last {
                break;
            }
        }
    });
    assert!(epochs.is_sorted());
    epochs.dedup();
    assert!(epochs.len() > 2, "{epochs:?}");
}

#[test]
fn older_epochs_are_as_they_were() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = Workspace::new();
    let inputs = [place.web(100, 1), place.web(150, 2), place.web(80, 3)];
    let statement = "SELECT url_key, title, links, inlinks, inlinks_external FROM pages ORDER BY url_key";
    let mut seen = Vec::new();
    for input in inputs {
        let owner = place.own();
        place.load(&owner, &[input], None);
        drop(owner);
        let now = runtime.block_on(ask_with(&place.database(), statement, &QuerySettings::default()));
        seen.push(now.unwrap());
    }
    assert!(
        seen.windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1)
    );
    let captures = dump(&place.own(), View::Captures).lines().count();
    let database = place.database();
    let at = |epoch, statement| {
        let mut settings = QuerySettings::default();
        settings.at_epoch = Some(epoch);
        runtime.block_on(ask_with(&database, statement, &settings))
    };
    for (epoch, rows) in &seen {
        assert_eq!(at(*epoch, statement).unwrap(), (*epoch, rows.clone()));
    }
    assert_eq!(at(0, "SELECT count(*) FROM captures").unwrap().1, "0");
    let ahead = at(99, "SELECT 1").unwrap_err();
    assert!(matches!(ahead, SqlError::Epoch { .. }), "{ahead:?}");
    let ledger = at(seen[0].0, "SELECT * FROM ledger").unwrap_err();
    assert!(ledger.to_string().contains("ledger"), "{ledger}");
    assert_eq!(
        at(seen[2].0, "SELECT count(*) FROM captures").unwrap().1,
        captures.to_string()
    );
}
