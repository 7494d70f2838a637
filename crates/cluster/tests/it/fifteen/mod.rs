//! Fifteen nodes as processes, five zones of three, and every kind of failure while a load runs.
//!
//! One cluster goes through all hazards, one after the other, as a real cluster does: each hazard
//! starts from the state that the previous one left. After each hazard all objects are read back. A
//! repair and a census examine every partition of every volume, which takes seconds. Hazards with
//! the same effects (copies away from home, unanswered attempts) therefore share one; the
//! [`load::Load::check`] after it fixes the values that clients must read from then on.
//!
//! `WEFT_TEST_SEED` replays the choices: operations, sizes, victims, damage. It cannot replay how
//! the processes interleave.

mod cut;
mod damage;
mod freeze;
mod full;
mod harness;
mod kill;
mod layout;
mod load;
mod model;
mod proxy;
mod wipe;

use std::time::Instant;

use harness::Fifteen;
use load::Load;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_whatever_happens_to_fifteen_nodes() {
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or_else(rand::random, |seed| seed.parse().unwrap());
    println!("WEFT_TEST_SEED={seed}");
    let begun = Instant::now();
    let told = |what: &str| println!("{:5.1} s: {what}", begun.elapsed().as_secs_f64());
    let mut cluster = Fifteen::start(seed).await;
    let mut load = Load::new(seed, &cluster.stores(), &cluster.pair());
    load.lay_kept().await;
    told("the cluster serves");
    kill::run(&mut cluster, &mut load).await;
    told("killed and restarted");
    freeze::run(&mut cluster, &mut load).await;
    told("frozen and thawed");
    cluster.settle("killed, frozen").await;
    load.check().await;
    cut::run(&mut cluster, &mut load).await;
    told("cut off from each other");
    full::run(&mut cluster, &mut load).await;
    told("filled");
    cluster.settle("cut off, filled").await;
    load.check().await;
    damage::run(&mut cluster, &mut load).await;
    told("damaged");
    wipe::run(&mut cluster, &mut load).await;
    told("wiped");
    layout::run(&mut cluster, &mut load).await;
    told("layouts changed");
    cluster.end().await;
}
