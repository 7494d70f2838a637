//! Epochs, ledger and views: the incremental index.
