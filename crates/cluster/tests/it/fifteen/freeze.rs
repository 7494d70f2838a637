//! SIGSTOP: a process keeps its connections and locks, and does nothing. Later it continues where
//! it was.

use store_protocol::VolumeError;

use super::harness::{Fifteen, until};
use super::load::Load;

const HAZARD: u64 = 2;

pub(crate) async fn run(cluster: &mut Fifteen, load: &mut Load) {
    let victims: [String; 2] = cluster.victims(HAZARD);
    let counts = load
        .during(async |progress| {
            for (i, victim) in victims.iter().enumerate() {
                progress.reaches(10 + 40 * i).await;
                cluster.process(victim).stop();
                let volume = cluster.volume(victim);
                until("clients notice that a node stands still", async || {
                    matches!(volume.status().await, Err(VolumeError::Unreachable { .. }))
                })
                .await;
                progress.reaches(45 + 40 * i).await;
                cluster.process(victim).cont();
                // Listings tolerate one unreachable node, not two at once.
                cluster.all_answer().await;
            }
        })
        .await;
    assert_eq!(counts.unserved, 0, "reads while one of fifteen stands still");
    cluster.all_answer().await;
    load.look().await;
}
