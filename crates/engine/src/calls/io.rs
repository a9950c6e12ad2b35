// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocking input and output: a thread that would block is parked, and the others go on.
//!
//! What the program's own threads do to a pipe or a socket shows at once: every call that may make
//! another descriptor ready is followed by a look at those waited for ([`changed`]). What comes from
//! outside is waited for in real time once nothing in the program can run; virtual time stands still.
mod connections;
mod descriptors;
pub mod fifos;
mod loopback;
mod messages;
pub mod parts;
mod poll;
mod queues;
mod retries;
mod sockets;
mod splices;
pub mod timer_table;
pub mod transfer;
pub mod waiting;

pub use descriptors::{aside, forget, remember_event, remember_random};
pub use poll::{ppoll_by_number, pselect_by_number};
pub use waiting::{await_input, await_room, changed, fills_up, is_ready};
