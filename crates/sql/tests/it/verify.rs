//! LiveTableProvider views match their definitions over the facts, and differences are found.

use std::path::PathBuf;

use archive::question::View;
use index::Index;
use sql::verify::{VerifyReport, verify};

use crate::data::{Workspace, dump, shared_inputs};

fn verified(place: &Workspace) -> VerifyReport {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(verify(&place.database(), &mut |_| ())).unwrap()
}

#[track_caller]
fn assert_clean(place: &Workspace) -> VerifyReport {
    let verified = verified(place);
    assert!(verified.is_clean(), "{verified:#?}");
    verified
}

#[test]
fn real_crawls_loaded_in_any_order_are_as_defined() {
    let Some(mut inputs) = shared_inputs(&["crawls", "commoncrawl"]) else {
        return;
    };
    // Their own order is that of the suite of `weft`, which compares with DuckDB.
    let mut orders: Vec<(Vec<PathBuf>, Option<u64>)> = Vec::new();
    inputs.reverse();
    orders.push((inputs.clone(), Some(200_000)));
    inputs.rotate_left(7);
    orders.push((inputs, None));
    for (inputs, epoch_bytes) in orders {
        let place = Workspace::new();
        let owner = place.own();
        // One after the other, which also changes the order of epochs.
        for part in inputs.chunks(9) {
            place.load(&owner, part, epoch_bytes);
        }
        let captures = dump(&owner, View::Captures).lines().count() as u64;
        drop(owner);
        let verified = assert_clean(&place);
        assert_eq!(verified.views[0].rows, captures);
        assert!(verified.views.iter().all(|view| view.rows > 100), "{verified:#?}");
    }
}

/// A row deleted from a table of the index is reported as missing in the views derived from it.
#[test]
fn a_row_lost_from_a_live_view_is_found() {
    // The archives of this test are all alike.
    assert_clean(&Workspace::small());
    for (table, views) in [
        ("captures", ["captures"].as_slice()),
        ("versions", &["pages"]),
        ("links", &["links", "inlinks"]),
        ("uris", &["uris", "top"]),
        ("domains", &["domains"]),
    ] {
        let place = Workspace::small();
        let index = place.path("archive/index");
        Index::open(&index, None, index::Settings::default())
            .unwrap()
            .lose_row(table)
            .unwrap();
        let verified = verified(&place);
        assert!(!verified.is_clean());
        for view in &verified.views {
            let is_meant = views.contains(&view.view);
            // Other views derived from the row may differ as well, but no expected difference may
            // be missing.
            assert!(!is_meant || view.difference.is_some(), "{table}: {verified:#?}");
        }
        // Derived views can be rebuilt as the message advises.
        if ["uris", "domains"].contains(&table) {
            rebuild(&place, views, false);
            assert_clean(&place);
        }
    }
}

fn rebuild(place: &Workspace, views: &[&str], search: bool) {
    let question = archive::question::Rebuild {
        views: views.iter().map(|view| (*view).to_owned()).collect(),
        search,
    };
    place.own().ask(question).unwrap();
}

#[test]
fn a_row_lost_from_the_facts_is_found() {
    for (table, views) in [
        ("captures", ["captures", "pages"].as_slice()),
        ("links", &["links", "inlinks"]),
    ] {
        let place = Workspace::small();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(lose_fact(&place.path("archive/facts"), table));
        let verified = verified(&place);
        for view in views {
            let found = verified.views.iter().find(|found| found.view == *view).unwrap();
            assert!(found.difference.is_some(), "{table}: {verified:#?}");
        }
    }
}

/// Deletes one row of a current page, as another vendor's engine would.
async fn lose_fact(facts: &std::path::Path, table: &str) {
    use datafusion::prelude::{col, lit};
    let url = url::Url::from_directory_path(facts.join(table)).unwrap();
    let delta = deltalake_core::open_table(url).await.unwrap();
    let key = match table {
        "captures" => "url_surtkey",
        _ => "target_surtkey",
    };
    let context = datafusion::prelude::SessionContext::new();
    let provider = delta.table_provider().await.unwrap();
    context.register_table("t", provider).unwrap();
    delta.update_datafusion_session(&context.state()).unwrap();
    let rows = context
        .sql(&format!("SELECT min({key}) FROM t"))
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    let options = sql::arrow::util::display::FormatOptions::new();
    let first = sql::arrow::util::display::ArrayFormatter::try_new(rows[0].column(0), &options).unwrap();
    let first = first.value(0).to_string();
    let (_, metrics) = delta
        .delete()
        .with_predicate(col(key).eq(lit(first)))
        .await
        .unwrap();
    assert!(metrics.num_deleted_rows > Some(0));
}

#[test]
fn a_document_lost_from_the_search_index_is_found() {
    let place = Workspace::small();
    // The search index of another archive at the same epoch, with other pages.
    let other = Workspace::new();
    let web = other.web(60, 1);
    other.load(&other.own(), &[web], None);
    let search = place.path("archive/search");
    std::fs::remove_dir_all(&search).unwrap();
    std::fs::rename(other.path("archive/search"), &search).unwrap();
    let verified = verified(&place);
    assert!(
        verified
            .damages
            .iter()
            .any(|damage| damage.part == "search index"),
        "{verified:#?}"
    );
    assert!(verified.views.iter().all(|view| view.difference.is_none()));
    rebuild(&place, &[], true);
    assert_clean(&place);
}
