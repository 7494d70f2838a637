//! A limited number of permits, shared among addresses.
//!
//! Invariants: the permits held never exceed the total, nor the limit of one address. Waiters get
//! permits in order of request, first among those of their address, then among all. An address is
//! forgotten when its last permit is dropped.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection_table::Network;

/// Permits with a total limit and a limit per address (see [`crate::Limits`] for the definition of
/// an address).
#[derive(Debug)]
pub struct Permits {
    all: Arc<Semaphore>,
    per_address_max: usize,
    by_address: Mutex<HashMap<Network, Arc<Semaphore>>>,
}

/// A permit. Dropping it releases it.
#[derive(Debug)]
pub struct Permit {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_address: Option<OwnedSemaphorePermit>,
}

impl Permits {
    /// Creates `max` permits, of which one address may hold `per_address_max`. Both are at least 1.
    pub fn new(max: usize, per_address_max: usize) -> Permits {
        Permits {
            all: Arc::new(Semaphore::new(max.max(1))),
            per_address_max: per_address_max.max(1),
            by_address: Mutex::default(),
        }
    }

    /// Takes a permit for this server's own use, if one is free now.
    pub fn try_take(&self) -> Option<Permit> {
        let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Permit {
            _of_all: Some(of_all),
            _of_address: None,
        })
    }

    /// Waits for a permit for `address`.
    pub async fn take(&self, address: IpAddr) -> Permit {
        let own = {
            let mut by_address = self.by_address.lock();
            // Every holder of a permit and every waiter has a clone of the semaphore. A count of 1
            // means that only the map has it.
            by_address.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
            let own = by_address.entry(Network::of(address));
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(self.per_address_max))))
        };
        // First the address's own limit, then the common one: an address that waits for its own
        // limit must not hold a common permit. The semaphores are never closed, so this cannot
        // fail.
        let of_address = own.acquire_owned().await.ok();
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok();
        Permit {
            _of_all: of_all,
            _of_address: of_address,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn is_free(permits: &Permits, address: &str) -> Option<Permit> {
        let taking = permits.take(address.parse().unwrap());
        tokio::time::timeout(Duration::from_millis(20), taking).await.ok()
    }

    #[tokio::test]
    async fn one_address_cannot_take_all_places() {
        let permits = Permits::new(3, 2);
        let first = is_free(&permits, "192.0.2.1").await.unwrap();
        let _second = is_free(&permits, "192.0.2.1").await.unwrap();
        assert!(
            is_free(&permits, "192.0.2.1").await.is_none(),
            "the address is at its limit"
        );
        let other = is_free(&permits, "2001:db8::1").await.unwrap();
        assert!(
            is_free(&permits, "192.0.2.3").await.is_none(),
            "no permit is free"
        );
        drop(first);
        let third = is_free(&permits, "192.0.2.1").await.unwrap();
        assert!(permits.try_take().is_none());
        drop((other, third));
        assert!(permits.try_take().is_some());
        assert!(is_free(&permits, "2001:db8::2").await.is_some());
        assert_eq!(
            permits.by_address.lock().len(),
            2,
            "addresses without permits are removed"
        );
    }
}
