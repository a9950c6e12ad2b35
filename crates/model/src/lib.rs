//! The simulated machine and the coherence of its caches: pure, without I/O.
#![no_std]
extern crate alloc;

mod machine;

pub use machine::{Core, Latency, Machine, System};
