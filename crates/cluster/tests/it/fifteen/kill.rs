//! Kill -9: a process cannot clean up. Another is killed as soon as the first is back.

use super::harness::Fifteen;
use super::load::Load;

const HAZARD: u64 = 1;

pub(crate) async fn run(cluster: &mut Fifteen, load: &mut Load) {
    let [one, other] = cluster.victims(HAZARD);
    let counts = load
        .during(async |progress| {
            progress.reaches(10).await;
            cluster.kill(&one);
            progress.reaches(40).await;
            cluster.restart(&one);
            progress.reaches(55).await;
            cluster.kill(&other);
            progress.reaches(85).await;
            cluster.restart(&other);
        })
        .await;
    assert_eq!(counts.unserved, 0, "reads while one of fifteen is down");
    cluster.all_answer().await;
    load.look().await;
}
