//! Published test vectors of placement.
//!
//! They fix placement permanently: existing stores find their objects by these tables. If this test
//! fails, undo the change that made it fail; do not change the vectors.

use expect_test::expect_file;
use serde::Serialize;

use super::support::*;
use crate::*;

#[derive(Serialize)]
struct Vectors {
    rule: u32,
    keys: Vec<KeyVector>,
    tables: Vec<TableVector>,
}

#[derive(Serialize)]
struct KeyVector {
    key: String,
    hash: String,
    partition: u16,
}

#[derive(Serialize)]
struct TableVector {
    name: &'static str,
    seed: u64,
    replicas: u8,
    /// Name, node, zone and weight.
    volumes: Vec<(String, String, String, u32)>,
    layout_digest: String,
    table_digest: String,
    /// Volumes of the partitions 0 to 15.
    first: Vec<String>,
    /// Fallbacks of partition 0.
    fallbacks: String,
}

fn key(key: &str) -> KeyVector {
    let hash = blake3::hash(key.as_bytes());
    KeyVector {
        key: key.to_owned(),
        hash: hash.to_hex().to_string(),
        partition: Partition::of_hash(hash.as_bytes()).0,
    }
}

fn table(name: &'static str, layout: &Layout) -> TableVector {
    check(layout);
    let placement = Placement::compute(layout);
    let join = |ids: &[VolumeId]| ids.iter().map(|id| id.0.as_ref()).collect::<Vec<_>>().join(" ");
    let volumes = layout.roles.volumes.iter();
    TableVector {
        name,
        seed: layout.seed,
        replicas: layout.roles.replicas,
        volumes: volumes
            .map(|v| (v.id.to_string(), v.node.to_string(), v.zone.clone(), v.weight))
            .collect(),
        layout_digest: layout.digest(),
        table_digest: placement.digest(),
        first: (0..16)
            .map(|partition| join(placement.replicas(Partition(partition))))
            .collect(),
        fallbacks: join(&placement.fallbacks(Partition(0))),
    }
}

fn disks(list: &[(&str, &str, u32)]) -> Vec<Disk> {
    list.iter()
        .map(|(zone, node, weight)| ((*zone).to_owned(), (*node).to_owned(), *weight))
        .collect()
}

#[test]
fn placement_is_as_published() {
    let weighted = disks(&[("a", "a", 4), ("b", "b", 2), ("c", "c", 1), ("d", "d", 1)]);
    let mixed = disks(&[
        ("north", "n1", 300),
        ("north", "n1", 500),
        ("north", "n2", 800),
        ("south", "s1", 7),
        ("south", "s1", 1200),
        ("south", "s2", 0),
        ("west", "w1", 250),
    ]);
    let nodes = disks(&[
        ("z", "a", 3),
        ("z", "a", 5),
        ("z", "b", 2),
        ("z", "c", 2),
        ("z", "c", 4),
    ]);
    let zones = disks(&[
        ("a", "n", 1),
        ("a", "n", 1),
        ("a", "m", 3),
        ("b", "o", 2),
        ("b", "p", 6),
    ]);
    let vectors = Vectors {
        rule: 1,
        keys: [
            "a/b",
            "crawl/2009/part-00000.warc.gz",
            ".uploads/..//%2F",
            "s3/\u{e9}t\u{e9}",
        ]
        .into_iter()
        .map(key)
        .collect(),
        tables: vec![
            table("one volume", &layout(0, roles(2, &disks(&[("a", "a", 1)])))),
            table(
                "two volumes",
                &layout(1, roles(2, &disks(&[("a", "a", 1), ("a", "a", 1)]))),
            ),
            table("weights 4:2:1:1", &layout(2, roles(2, &weighted))),
            table("5 zones of 3", &layout(2009, roles(2, &grid(5, 3)))),
            table("mixed zones", &layout(u64::MAX, roles(2, &mixed))),
            table("one zone", &layout(3, roles(2, &nodes))),
            table("more copies than zones", &layout(4, roles(3, &zones))),
            table("single copies", &layout(5, roles(1, &grid(2, 3)))),
        ],
    };
    let text = serde_json::to_string_pretty(&vectors).unwrap() + "\n";
    expect_file!["../../tests/vectors/layout-1.json"].assert_eq(&text);
}
