//! One routine for census, repair, rebalance, hand-off return, drain and tombstone collection.
