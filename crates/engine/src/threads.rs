// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threading functions of libc, on the program's own objects: a file an object; and what threads wait for otherwise:
//! signals, timers, clocks.
pub mod affinity;
pub mod attributes;
pub mod barrier;
pub mod c11;
pub mod cancel;
mod cancel_call;
pub mod clock;
pub mod condvar;
pub mod contexts;
pub mod cpus;
pub mod deadline;
pub mod futex;
pub mod futex_call;
pub mod joining;
pub mod jumps;
pub mod keys;
pub mod mutex;
pub mod mutex_kind;
pub mod names;
pub mod object;
pub mod once;
pub mod priority;
pub mod processes;
pub mod protocol;
pub mod robust;
pub mod robust_list;
pub mod rwlock;
pub mod semaphore;
pub mod signals;
pub mod single;
pub mod spinlock;
pub mod thread;
pub mod timers;
pub mod unwind;
