//! Two nodes cannot reach each other, while all other nodes reach both.

use super::harness::{Fifteen, PAIR};
use super::load::Load;

pub(crate) async fn run(cluster: &mut Fifteen, load: &mut Load) {
    let [one, other] = PAIR;
    let counts = load
        .during(async |progress| {
            progress.reaches(10).await;
            cluster.proxy(one).refuse(other);
            cluster.proxy(other).refuse(one);
            progress.reaches(70).await;
            cluster.proxy(one).allow_all();
            cluster.proxy(other).allow_all();
        })
        .await;
    assert_eq!(counts.unserved, 0, "clients must reach every node");
    cluster.all_answer().await;
    load.look().await;
}
