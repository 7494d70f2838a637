//! Builds a pipeline from source to sink, and starts it.

use std::sync::Arc;

use crate::ordered::Order;
use crate::outlet::{KeyFn, Out, Outlet};
use crate::pipeline::{Build, Feeder, Pipeline};
use crate::queue::Queue;
use crate::stage::{Batch, Worker};
use crate::stats::StageStats;
use crate::{FlowError, Item, StageResult};

/// Settings of one stage and of the queue before it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StageSettings {
    /// Name in statistics, errors and thread names.
    pub name: &'static str,
    /// Number of threads, at least 1. After [`Flow::by_key`] each has a separate queue.
    pub threads: usize,
    /// Maximum number of items in a queue.
    pub queue_items: usize,
    /// Maximum bytes in a queue, unless a single item is larger.
    pub queue_bytes: u64,
    /// Whether to skip the handler: items are counted and dropped. Disabling one stage after
    /// another finds the slowest.
    pub off: bool,
}

impl StageSettings {
    /// Returns settings with one thread and a queue of 16 items and 16 MiB.
    pub fn new(name: &'static str) -> StageSettings {
        StageSettings {
            name,
            threads: 1,
            queue_items: 16,
            queue_bytes: 16 << 20,
            off: false,
        }
    }

    /// Sets the number of threads; 0 counts as 1.
    pub fn threads(mut self, threads: usize) -> StageSettings {
        self.threads = threads.max(1);
        self
    }

    /// Sets the bounds of the queue, in items and in bytes.
    pub fn queue(mut self, items: usize, bytes: u64) -> StageSettings {
        self.queue_items = items;
        self.queue_bytes = bytes;
        self
    }

    /// Sets whether to skip the handler; see the field `off`.
    pub fn off(mut self, off: bool) -> StageSettings {
        self.off = off;
        self
    }
}

type Assemble<I, T> = Box<dyn FnOnce(&mut Build, Outlet<T>) -> Result<Outlet<I>, FlowError>>;

/// A pipeline that has not been started. It takes items of type `I`, and its last stage so far
/// sends items of type `T`.
#[must_use = "a flow does nothing until it is started"]
pub struct Flow<I: Item, T: Item> {
    /// Receives the outlet after this part, starts all stages before it and returns the outlet into
    /// the first one.
    assemble: Assemble<I, T>,
}

/// A flow whose next stage handles items with the same key in order: see [`Flow::by_key`].
#[must_use = "a flow does nothing until it is started"]
pub struct Keyed<I: Item, T: Item> {
    flow: Flow<I, T>,
    key: KeyFn<T>,
}

impl<T: Item> Flow<T, T> {
    /// Creates an empty pipeline.
    #[expect(
        clippy::new_without_default,
        reason = "a flow without stages is not a useful default"
    )]
    pub fn new() -> Flow<T, T> {
        Flow {
            assemble: Box::new(|_, outlet| Ok(outlet)),
        }
    }
}

impl<I: Item, T: Item> Flow<I, T> {
    /// Adds a stage that handles one item at a time. With several threads, results leave in any
    /// order. `make` creates the handler of each thread, given its index.
    pub fn stage<U, H>(self, settings: StageSettings, make: impl Fn(usize) -> H + 'static) -> Flow<I, U>
    where
        U: Item,
        H: FnMut(T, &mut Out<'_, U>) -> StageResult + Send + 'static,
    {
        self.add(settings, None, move |index| {
            let handler = make(index);
            move |worker: Worker<T, U>| worker.each(handler)
        })
    }

    /// Adds a stage whose results leave in the order in which the items arrived, even if threads
    /// finish in another order.
    pub fn ordered<U, H>(self, settings: StageSettings, make: impl Fn(usize) -> H + 'static) -> Flow<I, U>
    where
        U: Item,
        H: FnMut(T, &mut Out<'_, U>) -> StageResult + Send + 'static,
    {
        // Twice the number of threads: while one item is slow, each other thread may be one item
        // ahead.
        let order = Arc::new(Order::new(2 * settings.threads as u64));
        let registered = order.clone();
        let flow = self.add(settings, None, move |index| {
            let handler = make(index);
            let order = order.clone();
            move |worker: Worker<T, U>| worker.ordered(&order, handler)
        });
        Flow {
            assemble: Box::new(move |build, outlet| {
                build.control.register(registered);
                (flow.assemble)(build, outlet)
            }),
        }
    }

    /// Adds a stage that handles batches of items.
    pub fn batched<U, H>(
        self,
        settings: StageSettings,
        batch: Batch,
        make: impl Fn(usize) -> H + 'static,
    ) -> Flow<I, U>
    where
        U: Item,
        H: FnMut(Vec<T>, &mut Out<'_, U>) -> StageResult + Send + 'static,
    {
        self.add(settings, None, move |index| {
            let handler = make(index);
            move |worker: Worker<T, U>| worker.batched(batch, handler)
        })
    }

    /// Makes the next stage handle items with the same key sequentially, in order of arrival.
    pub fn by_key(self, key: impl Fn(&T) -> u64 + Send + Sync + 'static) -> Keyed<I, T> {
        Keyed {
            flow: self,
            key: Box::new(key),
        }
    }

    fn add<U: Item, R>(
        self,
        settings: StageSettings,
        key: Option<KeyFn<T>>,
        make: impl Fn(usize) -> R + 'static,
    ) -> Flow<I, U>
    where
        R: FnOnce(Worker<T, U>) -> StageResult + Send + 'static,
    {
        Flow {
            assemble: Box::new(move |build, outlet| {
                let inlet = start_stage(build, &settings, key, outlet, &make)?;
                (self.assemble)(build, inlet)
            }),
        }
    }
}

impl<I: Item, T: Item> Keyed<I, T> {
    /// Like [`Flow::stage`], with the items of each key in order.
    pub fn stage<U, H>(self, settings: StageSettings, make: impl Fn(usize) -> H + 'static) -> Flow<I, U>
    where
        U: Item,
        H: FnMut(T, &mut Out<'_, U>) -> StageResult + Send + 'static,
    {
        self.flow.add(settings, Some(self.key), move |index| {
            let handler = make(index);
            move |worker: Worker<T, U>| worker.each(handler)
        })
    }

    /// Like [`Flow::batched`]; a batch holds only items whose keys belong to the same thread.
    pub fn batched<U, H>(
        self,
        settings: StageSettings,
        batch: Batch,
        make: impl Fn(usize) -> H + 'static,
    ) -> Flow<I, U>
    where
        U: Item,
        H: FnMut(Vec<T>, &mut Out<'_, U>) -> StageResult + Send + 'static,
    {
        self.flow.add(settings, Some(self.key), move |index| {
            let handler = make(index);
            move |worker: Worker<T, U>| worker.batched(batch, handler)
        })
    }
}

impl<I: Item> Flow<I, ()> {
    /// Starts all threads.
    ///
    /// # Errors
    /// [`FlowError::Spawn`] if a thread cannot be started; the threads started before it are
    /// stopped.
    pub fn start(self) -> Result<(Feeder<I>, Pipeline), FlowError> {
        let mut build = Build::default();
        match (self.assemble)(&mut build, Outlet::end()) {
            Ok(inlet) => Ok((Feeder::new(inlet), build.finish())),
            Err(error) => {
                build.abort();
                Err(error)
            }
        }
    }
}

/// Creates the queues of a stage, starts its threads, and returns the outlet into the stage.
fn start_stage<T: Item, U: Item, R>(
    build: &mut Build,
    settings: &StageSettings,
    key: Option<KeyFn<T>>,
    outlet: Outlet<U>,
    make: &dyn Fn(usize) -> R,
) -> Result<Outlet<T>, FlowError>
where
    R: FnOnce(Worker<T, U>) -> StageResult + Send + 'static,
{
    let stats = Arc::new(StageStats::new(settings.name, settings.threads));
    build.stages.push(stats.clone());
    // With a key each thread has its own queue, so that the items of a key all reach the same
    // thread.
    let queues = make_queues(build, settings, if key.is_some() { settings.threads } else { 1 });
    let outlet = Arc::new(outlet);
    for index in 0..settings.threads {
        let worker = Worker {
            queue: queues[index % queues.len()].clone(),
            outlet: outlet.clone(),
            stats: stats.clone(),
            control: build.control.clone(),
            off: settings.off,
        };
        let run = make(index);
        build.spawn(settings.name, index, move || run(worker))?;
    }
    Ok(Outlet::new(queues, key, stats))
}

fn make_queues<T: Item>(build: &Build, settings: &StageSettings, count: usize) -> Vec<Arc<Queue<T>>> {
    // The bounds in the settings apply to all queues of the stage together.
    let share = settings.queue_bytes / count as u64;
    let queues: Vec<Arc<Queue<T>>> = (0..count)
        .map(|_| Arc::new(Queue::new(settings.queue_items.div_ceil(count), share)))
        .collect();
    for queue in &queues {
        build.control.register(queue.clone());
    }
    queues
}
