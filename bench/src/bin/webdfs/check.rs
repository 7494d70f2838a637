//! After the run, checks that every acknowledged object exists, is correct, and has two replicas.
//! Reads every object through the servers, and every replica's file by the published format,
//! without the store's own code.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use futures_util::StreamExt;

use crate::clients::Work;
use crate::cluster::BUCKET;
use crate::content::Object;
use crate::faults::replica_files;

/// Offset of the content in a replica's file (docs/format-replica.md).
const CONTENT_OFFSET: u64 = 2048;

/// The outcome of the check.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Acknowledged objects that no server returned correctly.
    pub(crate) lost: Vec<String>,
    /// Objects that were never acknowledged, exist, and differ from the bytes sent.
    pub(crate) half: Vec<String>,
    /// Files of replicas whose content is wrong: damage that scrub and repair left in place.
    pub(crate) wrong_files: Vec<String>,
    /// Number of acknowledged objects without exactly two correct files.
    pub(crate) not_twice: u64,
    /// Correct files of acknowledged objects, by server.
    pub(crate) by_server: Vec<u64>,
    /// Their bytes, with heads and tables.
    pub(crate) file_bytes: u64,
}

/// Reads everything back.
pub(crate) async fn check(work: &Arc<Work>, volumes: &[PathBuf]) -> anyhow::Result<Checked> {
    let acknowledged = work.tally.acknowledged.lock().clone();
    let unacknowledged = work.tally.unacknowledged.lock().clone();
    let mut checked = Checked {
        by_server: vec![0; volumes.len()],
        ..Checked::default()
    };
    checked.lost = differing(work, &acknowledged, false).await;
    checked.half = differing(work, &unacknowledged, true).await;
    let work = work.clone();
    let volumes = volumes.to_vec();
    tokio::task::spawn_blocking(move || files(&work, &acknowledged, &unacknowledged, &volumes, checked))
        .await
        .context("list the files")?
}

/// Returns the objects that a server does not return unchanged. With `may_miss`, an object may be
/// missing.
async fn differing(work: &Arc<Work>, objects: &[Object], may_miss: bool) -> Vec<String> {
    let answers =
        futures_util::stream::iter(objects.iter().copied().enumerate()).map(|(turn, object)| async move {
            let server = &work.servers[turn % work.servers.len()];
            let right = match work.compare(server, object).await {
                Ok(right) => right,
                Err(object_store::Error::NotFound { .. }) => may_miss,
                Err(_) => false,
            };
            (!right).then(|| object.name())
        });
    answers
        .buffer_unordered(32)
        .filter_map(|differing| async { differing })
        .collect()
        .await
}

fn files(
    work: &Work,
    acknowledged: &[Object],
    unacknowledged: &[Object],
    volumes: &[PathBuf],
    mut checked: Checked,
) -> anyhow::Result<Checked> {
    let mut copies: HashMap<String, (Object, u64, bool)> = HashMap::new();
    for (objects, counted) in [(unacknowledged, false), (acknowledged, true)] {
        copies.extend(
            objects
                .iter()
                .map(|object| (file_stem(*object), (*object, 0, counted))),
        );
    }
    for (server, volume) in volumes.iter().enumerate() {
        for path in replica_files(volume)? {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let stem = name.split('.').next().unwrap_or_default();
            // The store's own objects (the bucket's entry) are not part of the experiment.
            let Some((object, count, counted)) = copies.get_mut(stem) else {
                continue;
            };
            if !holds(work, *object, &path)? {
                checked.wrong_files.push(path.display().to_string());
            } else if *counted {
                *count += 1;
                checked.by_server[server] += 1;
                checked.file_bytes += path.metadata()?.len();
            }
        }
    }
    checked.not_twice = copies
        .values()
        .filter(|(_, count, counted)| *counted && *count != 2)
        .count() as u64;
    Ok(checked)
}

/// Returns the first 32 hexadecimal digits of the BLAKE3 of `bucket/name`, with which the name of
/// every replica's file begins.
fn file_stem(object: Object) -> String {
    blake3::hash(format!("{BUCKET}/{}", object.name()).as_bytes()).to_hex()[..32].to_owned()
}

fn holds(work: &Work, object: Object, path: &Path) -> anyhow::Result<bool> {
    let mut file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(CONTENT_OFFSET))?;
    let mut content = file.take(object.bytes);
    let mut comparison = work.pool.comparison(object);
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = content.read(&mut buffer)?;
        if read == 0 {
            return Ok(comparison.holds());
        }
        comparison.update(&buffer[..read]);
    }
}
