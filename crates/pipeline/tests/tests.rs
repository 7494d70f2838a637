//! Pipelines are compared with a simple model: no item is lost or duplicated and order is kept,
//! under random delays.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline::{Batch, Flow, FlowError, Item, StageError, StageSettings, key_of, table};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    key: u64,
    number: u64,
}

impl Item for Job {
    fn bytes(&self) -> u64 {
        10 + self.number % 90
    }
}

/// A small random generator, so that a printed seed reproduces a run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn nap(random: &mut Random) {
    match random.below(40) {
        0 => std::thread::sleep(Duration::from_micros(random.below(300))),
        1..8 => std::thread::yield_now(),
        _ => {}
    }
}

fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("FLOW_SEED") {
        Ok(seed) => vec![seed.parse().expect("FLOW_SEED must be a number")],
        Err(_) => {
            let start = std::process::id() as u64 * 1000 + 1;
            println!("seeds {start} to {} (FLOW_SEED=n replays one)", start + count - 1);
            (start..start + count).collect()
        }
    }
}

fn jobs(random: &mut Random) -> Vec<Job> {
    let keys = 1 + random.below(12);
    (0..200 + random.below(400))
        .map(|number| Job {
            key: random.below(keys),
            number,
        })
        .collect()
}

/// Runs `jobs` through a keyed, an ordered and a batched stage whose settings depend on the seed,
/// and checks the results.
fn check(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let jobs = jobs(&mut random);
    let running: Arc<Mutex<HashMap<u64, u64>>> = Arc::default();
    let keyed: Arc<Mutex<Vec<Job>>> = Arc::default();
    let arrived: Arc<Mutex<Vec<Job>>> = Arc::default();
    let left: Arc<Mutex<Vec<Job>>> = Arc::default();
    let settings = |name, random: &mut Random| {
        StageSettings::new(name)
            .threads(1 + random.below(4) as usize)
            .queue(1 + random.below(20) as usize, 1 + random.below(500))
    };
    let first = settings("keyed", &mut random);
    let note = settings("note", &mut random).threads(1);
    let second = settings("ordered", &mut random);
    let third = settings("batched", &mut random).threads(1);
    let batch = Batch {
        items_max: 1 + random.below(9) as usize,
        bytes_max: 1 + random.below(300),
        age_max: Duration::from_micros(random.below(200)),
    };
    let (in_running, in_keyed) = (running, keyed.clone());
    let (in_arrived, in_left) = (arrived.clone(), left.clone());
    let (feeder, pipeline) = Flow::<Job, Job>::new()
        .by_key(|job| key_of(&job.key))
        .stage(first, move |index| {
            let (running, keyed) = (in_running.clone(), in_keyed.clone());
            let mut random = Random(seed + index as u64 + 1);
            move |job: Job, out: &mut pipeline::Out<'_, Job>| {
                let other = running.lock().unwrap().insert(job.key, job.number);
                assert_eq!(
                    other, None,
                    "seed {seed}: two items of key {} run at the same time",
                    job.key
                );
                nap(&mut random);
                keyed.lock().unwrap().push(job);
                running.lock().unwrap().remove(&job.key);
                out.send(job)
            }
        })
        .stage(note, move |_| {
            let arrived = in_arrived.clone();
            move |job: Job, out: &mut pipeline::Out<'_, Job>| {
                arrived.lock().unwrap().push(job);
                out.send(job)
            }
        })
        .ordered(second, move |index| {
            let mut random = Random(seed + index as u64 + 77);
            move |job: Job, out: &mut pipeline::Out<'_, Job>| {
                nap(&mut random);
                // Zero to two results per item.
                for _ in 0..job.number % 3 {
                    out.send(job)?;
                }
                Ok(())
            }
        })
        .batched(third, batch, move |_| {
            let left = in_left.clone();
            move |batch_items: Vec<Job>, _: &mut pipeline::Out<'_, ()>| {
                assert!(batch_items.len() <= batch.items_max, "seed {seed}");
                left.lock().unwrap().extend(batch_items);
                Ok(())
            }
        })
        .start()
        .unwrap();
    for job in &jobs {
        feeder.send(*job).unwrap();
    }
    drop(feeder);
    let monitor = pipeline.monitor();
    pipeline.join().unwrap();

    let mut model: BTreeMap<u64, Vec<Job>> = BTreeMap::new();
    let mut found: BTreeMap<u64, Vec<Job>> = BTreeMap::new();
    jobs.iter()
        .for_each(|job| model.entry(job.key).or_default().push(*job));
    keyed
        .lock()
        .unwrap()
        .iter()
        .for_each(|job| found.entry(job.key).or_default().push(*job));
    assert_eq!(found, model, "seed {seed}: order per key");

    let expected: Vec<Job> = arrived
        .lock()
        .unwrap()
        .iter()
        .flat_map(|job| std::iter::repeat_n(*job, (job.number % 3) as usize))
        .collect();
    assert_eq!(*left.lock().unwrap(), expected, "seed {seed}: order of arrival");

    for stage in monitor.stages() {
        assert_eq!((stage.waiting, stage.running), (0, 0), "seed {seed}: {stage:?}");
        assert_eq!(stage.total, stage.done, "seed {seed}: {stage:?}");
    }
    assert_eq!(monitor.stages()[3].done, expected.len() as u64, "seed {seed}");
}

#[test]
fn agrees_with_a_plain_model() {
    for seed in seeds(60) {
        check(seed);
    }
}

#[test]
fn a_full_queue_makes_senders_wait() {
    let in_flight = Arc::new(AtomicU64::new(0));
    let seen_max = Arc::new(AtomicU64::new(0));
    let (sink_flight, sink_max) = (in_flight.clone(), seen_max.clone());
    let (feeder, pipeline) = Flow::<Job, Job>::new()
        .stage(StageSettings::new("slow").queue(1000, 300), move |_| {
            let (in_flight, seen_max) = (sink_flight.clone(), sink_max.clone());
            move |job: Job, _: &mut pipeline::Out<'_, ()>| {
                seen_max.fetch_max(in_flight.load(Ordering::SeqCst), Ordering::SeqCst);
                std::thread::sleep(Duration::from_micros(200));
                in_flight.fetch_sub(job.bytes(), Ordering::SeqCst);
                Ok(())
            }
        })
        .start()
        .unwrap();
    for number in 0..300 {
        let job = Job { key: 0, number };
        feeder.send(job).unwrap();
        in_flight.fetch_add(job.bytes(), Ordering::SeqCst);
    }
    drop(feeder);
    pipeline.join().unwrap();
    // The bytes of the queue, of the item being handled, and of the item just counted.
    let max = seen_max.load(Ordering::SeqCst);
    assert!(max <= 300 + 200, "{max} bytes in flight");
}

#[test]
fn an_item_larger_than_the_queue_still_passes() {
    let (feeder, pipeline) = Flow::<String, String>::new()
        .stage(StageSettings::new("sink").queue(4, 10), |_| {
            |_: String, _: &mut pipeline::Out<'_, ()>| Ok(())
        })
        .start()
        .unwrap();
    for _ in 0..5 {
        feeder.send("x".repeat(100)).unwrap();
    }
    drop(feeder);
    pipeline.join().unwrap();
}

fn run_to_error(handler: fn(u64) -> Result<(), StageError>) -> FlowError {
    let (feeder, pipeline) = Flow::<u64, u64>::new()
        .ordered(StageSettings::new("pass").threads(3).queue(2, 100), |_| {
            |n: u64, out: &mut pipeline::Out<'_, u64>| out.send(n)
        })
        .stage(StageSettings::new("fragile").queue(2, 100), move |_| {
            move |n: u64, _: &mut pipeline::Out<'_, ()>| handler(n)
        })
        .start()
        .unwrap();
    let mut number = 0;
    while feeder.send(number).is_ok() {
        number += 1;
    }
    drop(feeder);
    pipeline.join().unwrap_err()
}

#[test]
fn a_panic_becomes_an_error_that_names_the_stage() {
    let error = run_to_error(|n| if n == 50 { panic!("broken at {n}") } else { Ok(()) });
    assert_eq!(error.to_string(), "stage fragile panicked: broken at 50");
}

#[test]
fn a_failure_ends_the_pipeline() {
    let error = run_to_error(|n| {
        if n == 50 {
            Err(std::io::Error::other("disk on fire").into())
        } else {
            Ok(())
        }
    });
    assert_eq!(error.to_string(), "stage fragile: disk on fire");
}

#[test]
fn cancel_wakes_everybody() {
    let handled = Arc::new(AtomicUsize::new(0));
    let in_handled = handled.clone();
    let (feeder, pipeline) = Flow::<u64, u64>::new()
        .ordered(StageSettings::new("pass").threads(2).queue(2, 100), |_| {
            |n: u64, out: &mut pipeline::Out<'_, u64>| out.send(n)
        })
        .batched(
            StageSettings::new("patient").queue(2, 100),
            Batch {
                items_max: 1_000_000,
                bytes_max: u64::MAX,
                age_max: Duration::from_secs(3600),
            },
            move |_| {
                let handled = in_handled.clone();
                move |items: Vec<u64>, _: &mut pipeline::Out<'_, ()>| {
                    handled.fetch_add(items.len(), Ordering::SeqCst);
                    Ok(())
                }
            },
        )
        .start()
        .unwrap();
    for number in 0..100 {
        feeder.send(number).unwrap();
    }
    pipeline.monitor().cancel();
    assert!(feeder.send(1).is_err());
    assert!(matches!(pipeline.join(), Err(FlowError::Cancelled)));
    assert_eq!(handled.load(Ordering::SeqCst), 0);
}

#[test]
fn dropping_a_pipeline_ends_its_threads() {
    let (feeder, pipeline) = Flow::<u64, u64>::new()
        .stage(StageSettings::new("sink"), |_| {
            |_: u64, _: &mut pipeline::Out<'_, ()>| Ok(())
        })
        .start()
        .unwrap();
    drop(pipeline);
    assert!(feeder.send(1).is_err());
}

#[test]
fn a_stage_that_is_off_counts_and_drops() {
    let (feeder, pipeline) = Flow::<u64, u64>::new()
        .stage(StageSettings::new("read"), |_| {
            |n: u64, out: &mut pipeline::Out<'_, u64>| out.send(n)
        })
        .stage(StageSettings::new("write").off(true), |_| {
            |_: u64, _: &mut pipeline::Out<'_, ()>| panic!("must not run")
        })
        .start()
        .unwrap();
    (0..10).for_each(|n| feeder.send(n).unwrap());
    drop(feeder);
    let monitor = pipeline.monitor();
    pipeline.join().unwrap();
    assert_eq!(monitor.stages()[1].done, 10);
}

#[test]
fn batches_show_in_the_statistics() {
    let (feeder, pipeline) = Flow::<u64, u64>::new()
        .batched(
            StageSettings::new("apply").queue(100, 1000),
            Batch {
                items_max: 4,
                bytes_max: u64::MAX,
                age_max: Duration::from_secs(60),
            },
            |_| |_: Vec<u64>, _: &mut pipeline::Out<'_, ()>| Ok(()),
        )
        .start()
        .unwrap();
    (0..9).for_each(|n| feeder.send(n).unwrap());
    drop(feeder);
    let monitor = pipeline.monitor();
    pipeline.join().unwrap();
    let report = &monitor.stages()[0];
    assert_eq!((report.done, report.batch_mean), (9, 3.0));
    assert!((report.batched_share - 8.0 / 9.0).abs() < 1e-9);
    assert!(table(&monitor.stages()).contains("apply"));
}
