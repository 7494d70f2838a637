//! Counts open connections by network. The types are plain values, without clocks or sockets.
//!
//! Invariants:
//! - `strangers` is the sum of all counts in `by_network`, all of which are above 0.
//! - A connection is a stranger from its entry until it is trusted or leaves. It cannot become one
//!   again.
//! - `trusted` has at most [`TRUSTED_NETWORKS_MAX`] networks without an open connection.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Time that a network is known after its last trusted connection ended.
const TRUSTED_NETWORK_AGE_MAX: Duration = Duration::from_secs(600);

/// Maximum number of remembered networks without an open trusted connection.
const TRUSTED_NETWORKS_MAX: usize = 4096;

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
pub(crate) struct ConnectionTable {
    limits: Limits,
    strangers: usize,
    by_network: HashMap<Network, usize>,
    trusted: HashMap<Network, TrustedNetwork>,
}

/// A network that was trusted at least once.
#[derive(Debug)]
struct TrustedNetwork {
    /// Number of its trusted connections that are open.
    open: usize,
    /// When it was last trusted, or when its last trusted connection ended.
    last: Instant,
}

impl ConnectionTable {
    pub(crate) fn new(limits: Limits) -> ConnectionTable {
        ConnectionTable {
            limits,
            strangers: 0,
            by_network: HashMap::new(),
            trusted: HashMap::new(),
        }
    }

    /// Admits a connection as a stranger's.
    pub(crate) fn admit(&mut self, network: Network, now: Instant) -> Result<(), Refusal> {
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
        if self.strangers >= strangers_max && !self.is_trusted(network, now) {
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
        let known = self
            .trusted
            .entry(network)
            .or_insert(TrustedNetwork { open: 0, last: now });
        known.open += 1;
        known.last = now;
    }

    /// Notes that a connection has ended.
    pub(crate) fn release(&mut self, network: Network, standing: Standing, now: Instant) {
        if standing == Standing::Stranger {
            return self.drop_stranger(network);
        }
        let known = self.trusted.get_mut(&network);
        debug_assert!(known.as_ref().is_some_and(|known| known.open > 0));
        if let Some(known) = known {
            known.open = known.open.saturating_sub(1);
            known.last = now;
        }
    }

    fn is_trusted(&self, network: Network, now: Instant) -> bool {
        self.trusted
            .get(&network)
            .is_some_and(|known| known.is_current(now))
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
        if self.trusted.len() < TRUSTED_NETWORKS_MAX {
            return;
        }
        self.trusted.retain(|_, known| known.is_current(now));
        let away = self.trusted.iter().filter(|(_, known)| known.open == 0);
        if self.trusted.len() >= TRUSTED_NETWORKS_MAX
            && let Some((&oldest, _)) = away.min_by_key(|(_, known)| known.last)
        {
            self.trusted.remove(&oldest);
        }
    }
}

impl TrustedNetwork {
    fn is_current(&self, now: Instant) -> bool {
        self.open > 0 || now.saturating_duration_since(self.last) < TRUSTED_NETWORK_AGE_MAX
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
        let mut table = ConnectionTable::new(limits);
        let (greedy, other) = (network("192.0.2.1"), network("192.0.2.2"));
        for _ in 0..3 {
            assert_eq!(table.admit(greedy, now), Ok(()));
        }
        assert_eq!(table.admit(greedy, now), Err(Refusal::Address));
        assert_eq!(table.admit(other, now), Ok(()));
        table.release(greedy, Standing::Stranger, now);
        assert_eq!(table.admit(greedy, now), Ok(()));
    }

    #[test]
    fn strangers_of_many_addresses_leave_the_reserve_to_who_was_trusted() {
        let now = Instant::now();
        let limits = Limits {
            connections_max: 10,
            per_address_max: 10,
            reserve: 2,
        };
        let mut table = ConnectionTable::new(limits);
        let friend = network("198.51.100.1");
        assert_eq!(table.admit(friend, now), Ok(()));
        table.trust(friend, now);
        table.release(friend, Standing::Trusted, now);
        for last in 0..8 {
            assert_eq!(table.admit(network(&format!("192.0.2.{last}")), now), Ok(()));
        }
        assert_eq!(table.admit(network("192.0.2.99"), now), Err(Refusal::Reserve));
        assert_eq!(table.admit(friend, now), Ok(()));
        let much_later = now + TRUSTED_NETWORK_AGE_MAX;
        assert_eq!(table.admit(friend, much_later), Err(Refusal::Reserve));
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
        let mut table = ConnectionTable::new(limits);
        for number in 0..TRUSTED_NETWORKS_MAX as u32 + 100 {
            let network = Network::of(IpAddr::V4(number.into()));
            table.admit(network, now).unwrap();
            table.trust(network, now);
            table.release(network, Standing::Trusted, now);
        }
        assert_eq!(table.trusted.len(), TRUSTED_NETWORKS_MAX);
    }

    proptest! {
        #[test]
        fn who_came_and_went_leaves_nothing(steps in prop::collection::vec((0u8..4, 0u8..3), 0..200)) {
            let now = Instant::now();
            let limits = Limits { connections_max: 12, per_address_max: 5, reserve: 3 };
            let mut table = ConnectionTable::new(limits);
            let mut inside: Vec<(Network, Standing)> = Vec::new();
            for (last, what) in steps {
                let network = network(&format!("192.0.2.{last}"));
                let position = inside.iter().position(|(who, standing)| *who == network && (what == 1) == (*standing == Standing::Stranger));
                match (what, position) {
                    (0, _) if table.admit(network, now).is_ok() => inside.push((network, Standing::Stranger)),
                    (1, Some(position)) => {
                        table.trust(network, now);
                        inside[position].1 = Standing::Trusted;
                    }
                    (2, Some(position)) => {
                        table.release(network, inside[position].1, now);
                        inside.remove(position);
                    }
                    _ => {}
                }
                let strangers = inside.iter().filter(|(_, standing)| *standing == Standing::Stranger).count();
                prop_assert_eq!(table.strangers, strangers);
                prop_assert_eq!(table.by_network.values().sum::<usize>(), strangers);
                prop_assert!(table.by_network.values().all(|held| (1..=5).contains(held)));
            }
            for (network, standing) in inside {
                table.release(network, standing, now);
            }
            prop_assert_eq!(table.strangers, 0);
            prop_assert!(table.by_network.is_empty());
            prop_assert!(table.trusted.values().all(|known| known.open == 0));
        }
    }
}
