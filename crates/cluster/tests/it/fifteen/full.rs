//! A volume that has no room: what it held is read, what is new goes elsewhere, and home when there is room
//! again.

use contract::VolumeState;

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
    // Others may take even the room that a volume keeps for its index; it is out of service then until there
    // is room.
    let volume = cluster.volume(SMALL);
    until("the volume is in service again", async || {
        let status = volume.status().await;
        status.is_ok_and(|status| status.state == VolumeState::InService)
    })
    .await;
    load.look().await;
}
