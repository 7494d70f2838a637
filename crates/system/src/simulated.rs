//! A simulated environment for one thread, for tests: time that only moves on request, and
//! randomness from a seed.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::SeedableRng as _;
use rand::rngs::StdRng;

/// Initial wall-clock time of a simulation, in milliseconds since 1970: 2026-01-01.
const BEGINNING_MS: u64 = 1_767_225_600_000;

thread_local! {
    static HERE: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

struct World {
    /// The start by the monotonic clock. Only differences to it are observable.
    began: Instant,
    /// The time that has passed through `advance` and pauses.
    passed: Cell<Duration>,
    /// An additional clock to follow, such as tokio's paused one.
    beside: RefCell<Option<Rc<dyn Fn() -> Duration>>>,
    wall_ahead_ms: Cell<i64>,
    dice: RefCell<StdRng>,
}

/// A simulation of this thread's environment, active until dropped: values come from a seed, and
/// clocks do not move by themselves.
///
/// Other threads are unaffected, even those that this one starts.
///
/// ```
/// use std::time::Duration;
///
/// let simulated = system::Simulated::enter(7);
/// let (begun, number) = (system::now(), system::random::<u64>());
/// simulated.advance(Duration::from_secs(3600));
/// assert_eq!(system::since(begun), Duration::from_secs(3600));
/// drop(simulated);
/// // The same seed returns the same values.
/// let _again = system::Simulated::enter(7);
/// system::now();
/// assert_eq!(system::random::<u64>(), number);
/// ```
pub struct Simulated {
    world: Rc<World>,
    /// Makes the type `!Send`: it must be dropped on the same thread.
    _here: PhantomData<*const ()>,
}

impl Simulated {
    /// Enters a simulation on this thread, which must not be in one already.
    #[expect(
        clippy::disallowed_methods,
        reason = "only differences to this moment are ever seen"
    )]
    pub fn enter(seed: u64) -> Self {
        let world = Rc::new(World {
            began: Instant::now(),
            passed: Cell::default(),
            beside: RefCell::default(),
            wall_ahead_ms: Cell::default(),
            dice: RefCell::new(StdRng::seed_from_u64(seed)),
        });
        let before = HERE.with(|here| here.replace(Some(world.clone())));
        assert!(before.is_none(), "the thread is within a simulation already");
        Self {
            world,
            _here: PhantomData,
        }
    }

    /// Makes the clocks also follow `clock`, which returns the time elapsed since some moment. It
    /// must not go back. For tokio's paused clock, within its runtime: `let began =
    /// tokio::time::Instant::now();` and `move || began.elapsed()`.
    pub fn follow(&self, clock: impl Fn() -> Duration + 'static) {
        let (kept, start) = (self.world.steady(), clock());
        let clock = move || clock().saturating_sub(start);
        // Keep the time that had passed by the previous clock.
        self.world.passed.set(kept);
        self.world.beside.replace(Some(Rc::new(clock)));
    }

    /// Advances both clocks.
    pub fn advance(&self, by: Duration) {
        self.world.pass(by);
    }

    /// Shifts the wall clock by milliseconds, forwards or backwards, without the monotonic one.
    pub fn jump_wall_ms(&self, by: i64) {
        let ahead = &self.world.wall_ahead_ms;
        ahead.set(ahead.get().saturating_add(by));
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        HERE.with(|here| here.replace(None));
    }
}

impl World {
    fn steady(&self) -> Duration {
        let beside = self.beside.borrow().clone();
        self.passed.get() + beside.map_or(Duration::ZERO, |clock| clock())
    }

    fn pass(&self, time: Duration) {
        self.passed.set(self.passed.get() + time);
    }
}

/// Returns the simulation of this thread. Returned as a value, so that nothing is borrowed while a
/// clock is read.
fn here() -> Option<Rc<World>> {
    // A thread that is exiting has no thread-local state.
    HERE.try_with(|here| here.borrow().clone()).ok().flatten()
}

#[cfg(feature = "blocking")]
pub(crate) fn entered() -> bool {
    here().is_some()
}

pub(crate) fn now() -> Option<Instant> {
    here().map(|world| world.began + world.steady())
}

pub(crate) fn wall() -> Option<SystemTime> {
    let world = here()?;
    let passed = u64::try_from(world.steady().as_millis()).unwrap_or(u64::MAX);
    let ms = BEGINNING_MS
        .saturating_add(passed)
        .saturating_add_signed(world.wall_ahead_ms.get());
    Some(UNIX_EPOCH + Duration::from_millis(ms))
}

pub(crate) fn pause(time: Duration) -> bool {
    here().map(|world| world.pass(time)).is_some()
}

pub(crate) fn draw<T>(one: impl FnOnce(&mut StdRng) -> T) -> Option<T> {
    here().map(|world| one(&mut world.dice.borrow_mut()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws values of every kind.
    fn draws() -> (u64, u32, [u8; 16]) {
        (crate::random(), crate::random_range(0..=1000), crate::random())
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let of = |seed| {
            let _simulated = Simulated::enter(seed);
            (draws(), draws())
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let (first, second) = of(1);
        assert_ne!(first, second);
        // Outside a simulation the machine's values always differ.
        assert_ne!(draws(), draws());
    }

    #[test]
    fn two_threads_do_not_disturb_each_other() {
        let alone = {
            let _simulated = Simulated::enter(7);
            [draws(), draws()]
        };
        let simulated = Simulated::enter(7);
        let first = draws();
        let elsewhere = std::thread::spawn(|| {
            let machine = draws();
            let simulated = Simulated::enter(7);
            let drawn = [draws(), draws()];
            simulated.advance(Duration::from_secs(100));
            (machine, drawn)
        });
        let (machine, drawn) = elsewhere.join().unwrap();
        let second = draws();
        assert_eq!(drawn, alone);
        assert_eq!([first, second], alone);
        assert!(!alone.contains(&machine));
        assert_eq!(crate::wall_ms(), BEGINNING_MS);
        drop(simulated);
        assert!(crate::wall_ms() > BEGINNING_MS);
    }

    #[test]
    fn a_simulated_clock_does_not_move_by_itself() {
        let simulated = Simulated::enter(1);
        let began = crate::now();
        std::thread::sleep(Duration::from_millis(3));
        assert_eq!(crate::since(began), Duration::ZERO);
        simulated.advance(Duration::from_millis(5));
        crate::pause(Duration::from_secs(3600));
        assert_eq!(crate::since(began), Duration::from_millis(3_600_005));
        assert_eq!(crate::wall_ms(), BEGINNING_MS + 3_600_005);
        // The wall clock jumps, the monotonic one does not.
        simulated.jump_wall_ms(-5);
        assert_eq!(crate::wall_ms(), BEGINNING_MS + 3_600_000);
        assert_eq!(crate::since(began), Duration::from_millis(3_600_005));
    }

    #[tokio::test(start_paused = true)]
    async fn the_clocks_follow_that_of_tokio_and_work_runs_on_the_same_thread() {
        let simulated = Simulated::enter(1);
        crate::pause(Duration::from_secs(1));
        let began = tokio::time::Instant::now();
        simulated.follow(move || began.elapsed());
        let start = crate::now();
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(crate::since(start), Duration::from_mins(1));
        assert_eq!(crate::wall_ms(), BEGINNING_MS + 61_000);
        let thread = std::thread::current().id();
        let (there, drawn) = crate::blocking(|| (std::thread::current().id(), crate::random::<u64>()))
            .await
            .unwrap();
        assert_eq!(there, thread);
        drop(simulated);
        let _again = Simulated::enter(1);
        assert_eq!(crate::random::<u64>(), drawn);
    }

    #[test]
    #[should_panic(expected = "already")]
    fn a_simulation_within_another_is_refused() {
        let _outer = Simulated::enter(1);
        let _inner = Simulated::enter(2);
    }
}
