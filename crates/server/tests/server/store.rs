//! The attached store: whether it is shown, and its report.

use std::sync::Arc;

use axum::Router;
use server::storage::{StoreReport, VolumeCondition};
use server::{ServerParts, ServerSettings};
use store::RequestCount;

use crate::fake::{FakeStore, get, owned, router, sample, served};

fn reporting(report: StoreReport) -> Router {
    let served = ServerParts {
        store: Some(Arc::new(FakeStore(report))),
        ..served(sample)
    };
    owned(server::router(served, ServerSettings::default()))
}

#[tokio::test]
async fn without_a_store_nothing_leads_to_one() {
    let served = ServerParts {
        store: None,
        ..served(sample)
    };
    let router = owned(server::router(served, ServerSettings::default()));
    for path in [
        "/",
        "/about",
        "/page?url=http://example.com/",
        "/nowhere",
        "/store",
        "/page",
    ] {
        let reply = get(&router, path).await;
        assert!(!reply.body.contains("href=\"/store\""), "{path}");
    }
    let page = get(&router, "/store").await;
    assert_eq!(page.status, 404);
    assert!(
        page.body.contains("<h1") && page.body.contains("--volume"),
        "{}",
        page.body
    );
    let answer = get(&router, "/api/v1/store").await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["error"]["code"].as_str()),
        (404, Some("not_found"))
    );
    assert!(!get(&router, "/metrics").await.body.contains("weft_store_"));
}

#[tokio::test]
async fn with_a_store_every_page_leads_to_it() {
    let router = router(sample);
    for path in [
        "/",
        "/about",
        "/page?url=http://example.com/",
        "/nowhere",
        "/page",
    ] {
        assert!(
            get(&router, path).await.body.contains("href=\"/store\""),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_well_store_says_so_and_a_hurt_one_says_where() {
    let mut report = crate::sample::store();
    report
        .volumes
        .iter_mut()
        .for_each(|volume| (volume.state, volume.bad) = (VolumeCondition::InService, 0));
    (report.census, report.replicas_asked) = (None, None);
    let body = get(&reporting(report.clone()), "/store").await.body;
    assert!(
        body.contains("badge good\">healthy") && !body.contains("attention"),
        "{body}"
    );

    report.nodes[0].reachable = false;
    report.nodes[0].problem = "connection refused".into();
    report.volumes[0].state = VolumeCondition::Out;
    report.volumes[0].problem = "sync failed".into();
    report.volumes[0].bad = 1;
    report.census = crate::sample::store().census;
    let body = get(&reporting(report), "/store").await.body;
    for said in [
        "attention",
        "node local does not respond",
        "volume local/a is out: sync failed",
        "volume local/a has 1 bad replica (damaged or missing); run weft store repair",
        "1 replica is missing where the new layout requires a copy",
        "connection refused",
        "lost.warc.gz: bytes 0-262143",
    ] {
        assert!(body.contains(said), "{said} is not in\n{body}");
    }
}

#[tokio::test]
async fn the_api_tells_all_but_where_volumes_lie() {
    let answer = get(&router(sample), "/api/v1/store").await.json();
    assert_eq!(answer["answer"], "store");
    assert_eq!(answer["volumes"][0]["path"], "");
    assert_eq!(answer["volumes"][0]["capacity_bytes"], 4_000_000_000_000_u64);
    assert_eq!(answer["nodes"][0]["workers"][0]["name"], "scrub local/a");
    assert_eq!(answer["census"]["replicas_missing"], 1);
    assert_eq!(answer["s3"][0]["operation"], "GetObject");
}

#[tokio::test]
async fn figures_of_the_store_are_metrics() {
    let body = get(&router(sample), "/metrics").await.body;
    for line in [
        "weft_store_layout 3",
        "weft_store_node_up{node=\"local\",zone=\"local\"} 1",
        "weft_store_volume_free_bytes{volume=\"local/a\",zone=\"local/a\"} 1300000000000",
        "weft_store_worker_found_total{node=\"local\",worker=\"scrub local/a\"} 2",
        "weft_store_requests_total{node=\"local\",operation=\"put\"} 1250",
        "weft_store_request_seconds_sum{node=\"local\",operation=\"put\"} 4.1",
        "weft_s3_requests_total{operation=\"GetObject\"} 1250",
        "weft_store_census_replicas{state=\"missing\"} 1",
        "weft_store_census_whole 0",
    ] {
        assert!(body.lines().any(|l| l == line), "{line} is not in\n{body}");
    }
    let names: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names.len(), "a metric is declared twice");
}

/// An operation without requests has no row. A time beyond the last bucket is shown as such.
#[tokio::test]
async fn requests_are_shown_when_there_were_some() {
    let mut report = crate::sample::store();
    let mut buckets = vec![0; store::LATENCY_MICROS.len() + 1];
    if let Some(last) = buckets.last_mut() {
        *last = 5;
    }
    report.nodes[0].requests = vec![
        RequestCount {
            operation: "slow-one".into(),
            count: 5,
            buckets,
            ..report.nodes[0].requests[0].clone()
        },
        RequestCount {
            operation: "never-asked".into(),
            count: 0,
            ..report.nodes[0].requests[0].clone()
        },
    ];
    let body = get(&reporting(report), "/store").await.body;
    assert!(body.contains("slow-one") && body.contains("over 50 s"), "{body}");
    assert!(!body.contains("never-asked"));
}
