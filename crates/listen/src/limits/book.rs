//! Counts open connections by network. The types are plain values, without clocks or sockets.
//!
//! Invariants:
//! - `strangers` is the sum of all counts in `by_network`, all of which are above 0.
//! - A connection is a stranger from its entry until it is trusted or leaves. It cannot become one
//!   again.
//! - `known` has at most [`KNOWN_MAX`] networks without an open connection.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Time that a network is known after its last trusted connection ended.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// Maximum number of remembered networks without an open trusted connection.
const KNOWN_MAX: usize = 4096;

/// Limits on the open connections of a port.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of open connections. Further ones wait in the system's queue.
    pub connections_max: usize,
    /// Maximum number of connections of one address that are not trusted (all of them, if no
    /// connection is ever trusted). Further ones are closed at once. An address is an IPv4 address
    /// or an IPv6 network of 64 bits, because a client with one address of such a network usually
    /// has all of them.
    pub per_address_max: usize,
    /// Number of `connections_max` that are reserved for recently trusted networks; 0 if no
    /// connection is ever trusted.
    pub reserve: usize,
}

/// All addresses that a client can choose freely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Network(IpAddr);

impl Network {
    pub(crate) fn of(address: IpAddr) -> Network {
        Network(match address.to_canonical() {
            // The first 64 bits name the network; the client chooses the rest.
            IpAddr::V6(address) => {
                let high = u128::from(address) >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from(high))
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// Reason why a connection is closed on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its address has reached its limit of connections.
    Address,
    /// Only the reserve is free, and its network was not trusted recently.
    Reserve,
}

/// Whether a client has proved its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Stranger,
    Trusted,
}

/// Open connections and recently trusted networks.
#[derive(Debug)]
pub(crate) struct Book {
    limits: Limits,
    strangers: usize,
    by_network: HashMap<Network, usize>,
    known: HashMap<Network, Known>,
}

/// A network that was trusted at least once.
#[derive(Debug)]
struct Known {
    /// Number of its trusted connections that are open.
    open: usize,
    /// When it was last trusted, or when its last trusted connection ended.
    last: Instant,
}

impl Book {
    pub(crate) fn new(limits: Limits) -> Book {
        Book {
            limits,
            strangers: 0,
            by_network: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Admits a connection as a stranger's.
    pub(crate) fn enter(&mut self, network: Network, now: Instant) -> Result<(), Refusal> {
        let held = self.by_network.get(&network).copied().unwrap_or(0);
        if held >= self.limits.per_address_max.max(1) {
            return Err(Refusal::Address);
        }
        // At least one stranger must be admitted, or no network could ever become known.
        let strangers_max = self
            .limits
            .connections_max
            .saturating_sub(self.limits.reserve)
            .max(1);
        if self.strangers >= strangers_max && !self.is_known(network, now) {
            return Err(Refusal::Reserve);
        }
        self.strangers += 1;
        *self.by_network.entry(network).or_insert(0) += 1;
        self.check();
        Ok(())
    }

    /// Notes that a stranger has proved its identity. Its connection no longer counts against its
    /// address.
    pub(crate) fn trust(&mut self, network: Network, now: Instant) {
        self.drop_stranger(network);
        self.make_room(now);
        let known = self.known.entry(network).or_insert(Known { open: 0, last: now });
        known.open += 1;
        known.last = now;
    }

    /// Notes that a connection has ended.
    pub(crate) fn leave(&mut self, network: Network, standing: Standing, now: Instant) {
        if standing == Standing::Stranger {
            return self.drop_stranger(network);
        }
        let known = self.known.get_mut(&network);
        debug_assert!(known.as_ref().is_some_and(|known| known.open > 0));
        if let Some(known) = known {
            known.open = known.open.saturating_sub(1);
            known.last = now;
        }
    }

    fn is_known(&self, network: Network, now: Instant) -> bool {
        self.known.get(&network).is_some_and(|known| known.counts(now))
    }

    fn drop_stranger(&mut self, network: Network) {
        let Some(held) = self.by_network.get_mut(&network) else {
            debug_assert!(false, "a network that leaves must have been counted");
            return;
        };
        *held -= 1;
        // Without this the map would keep an entry for every past address.
        if *held == 0 {
            self.by_network.remove(&network);
        }
        self.strangers -= 1;
        self.check();
    }

    /// Checks the invariant: strangers are counted once in total and once for their network.
    fn check(&self) {
        debug_assert!(
            self.strangers == self.by_network.values().sum()
                && self.by_network.values().all(|held| *held > 0),
            "{} strangers counted, but by network {:?}",
            self.strangers,
            self.by_network
        );
    }

    /// Forgets networks that are no longer known. If that is not enough, forgets the one that left
    /// longest ago.
    fn make_room(&mut self, now: Instant) {
        if self.known.len() < KNOWN_MAX {
            return;
        }
        self.known.retain(|_, known| known.counts(now));
        let away = self.known.iter().filter(|(_, known)| known.open == 0);
        if self.known.len() >= KNOWN_MAX
            && let Some((&oldest, _)) = away.min_by_key(|(_, known)| known.last)
        {
            self.known.remove(&oldest);
        }
    }
}

impl Known {
    fn counts(&self, now: Instant) -> bool {
        self.open > 0 || now.saturating_duration_since(self.last) < KNOWN_FOR
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().unwrap())
    }

    #[test]
    fn one_address_cannot_take_all_places() {
        let now = Instant::now();
        let limits = Limits {
            connections_max: 10,
            per_address_max: 3,
            reserve: 0,
        };
        let mut book = Book::new(limits);
        let (greedy, other) = (network("192.0.2.1"), network("192.0.2.2"));
        for _ in 0..3 {
            assert_eq!(book.enter(greedy, now), Ok(()));
        }
        assert_eq!(book.enter(greedy, now), Err(Refusal::Address));
        assert_eq!(book.enter(other, now), Ok(()));
        book.leave(greedy, Standing::Stranger, now);
        assert_eq!(book.enter(greedy, now), Ok(()));
    }

    #[test]
    fn strangers_of_many_addresses_leave_the_reserve_to_who_was_trusted() {
        let now = Instant::now();
        let limits = Limits {
            connections_max: 10,
            per_address_max: 10,
            reserve: 2,
        };
        let mut book = Book::new(limits);
        let friend = network("198.51.100.1");
        assert_eq!(book.enter(friend, now), Ok(()));
        book.trust(friend, now);
        book.leave(friend, Standing::Trusted, now);
        for last in 0..8 {
            assert_eq!(book.enter(network(&format!("192.0.2.{last}")), now), Ok(()));
        }
        assert_eq!(book.enter(network("192.0.2.99"), now), Err(Refusal::Reserve));
        assert_eq!(book.enter(friend, now), Ok(()));
        let much_later = now + KNOWN_FOR;
        assert_eq!(book.enter(friend, much_later), Err(Refusal::Reserve));
    }

    #[test]
    fn an_ipv6_network_is_one_address_and_a_mapped_ipv4_is_itself() {
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:ffff:ffff:ffff"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }

    #[test]
    fn networks_known_are_bounded() {
        let now = Instant::now();
        let limits = Limits {
            connections_max: 10,
            per_address_max: 10,
            reserve: 2,
        };
        let mut book = Book::new(limits);
        for number in 0..KNOWN_MAX as u32 + 100 {
            let network = Network::of(IpAddr::V4(number.into()));
            book.enter(network, now).unwrap();
            book.trust(network, now);
            book.leave(network, Standing::Trusted, now);
        }
        assert_eq!(book.known.len(), KNOWN_MAX);
    }

    proptest! {
        #[test]
        fn who_came_and_went_leaves_nothing(steps in prop::collection::vec((0u8..4, 0u8..3), 0..200)) {
            let now = Instant::now();
            let limits = Limits { connections_max: 12, per_address_max: 5, reserve: 3 };
            let mut book = Book::new(limits);
            let mut inside: Vec<(Network, Standing)> = Vec::new();
            for (last, what) in steps {
                let network = network(&format!("192.0.2.{last}"));
                let place = inside.iter().position(|(who, standing)| *who == network && (what == 1) == (*standing == Standing::Stranger));
                match (what, place) {
                    (0, _) if book.enter(network, now).is_ok() => inside.push((network, Standing::Stranger)),
                    (1, Some(place)) => {
                        book.trust(network, now);
                        inside[place].1 = Standing::Trusted;
                    }
                    (2, Some(place)) => {
                        book.leave(network, inside[place].1, now);
                        inside.remove(place);
                    }
                    _ => {}
                }
                let strangers = inside.iter().filter(|(_, standing)| *standing == Standing::Stranger).count();
                prop_assert_eq!(book.strangers, strangers);
                prop_assert_eq!(book.by_network.values().sum::<usize>(), strangers);
                prop_assert!(book.by_network.values().all(|held| (1..=5).contains(held)));
            }
            for (network, standing) in inside {
                book.leave(network, standing, now);
            }
            prop_assert_eq!(book.strangers, 0);
            prop_assert!(book.by_network.is_empty());
            prop_assert!(book.known.values().all(|known| known.open == 0));
        }
    }
}
