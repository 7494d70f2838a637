//! A volume without free space: its objects can be read, new objects go to other volumes, and
//! return home once there is space again.

use store_protocol::VolumeState;

use super::harness::{Fifteen, SMALL, until};
use super::load::Load;

pub(crate) async fn run(cluster: &mut Fifteen, load: &mut Load) {
    let Some(small) = &cluster.small else {
        println!("  SKIPPED: a full volume: no small file system may be mounted here");
        return;
    };
    let counts = load
        .during(async |progress| {
            progress.reaches(10).await;
            small.fill();
            progress.reaches(80).await;
            small.empty();
        })
        .await;
    assert_eq!(counts.unserved, 0, "a full volume is read");
    // Other files may take even the space that a volume reserves for its index. Then it is out of
    // service until there is space.
    let volume = cluster.volume(SMALL);
    until("the volume is in service again", async || {
        let status = volume.status().await;
        status.is_ok_and(|status| status.state == VolumeState::InService)
    })
    .await;
    load.look().await;
}
