// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where memory is to lie (`mbind`, `set_mempolicy`, `move_pages`): the nodes are the simulated machine's, one for each
//! socket. Policies are kept, and have no effect: a page lies in the socket that touches it first.
use crate::calls::topology::Topology;
use crate::engine::{launch, note, running_cpu, sim};
use crate::scheduling::fiber::current;
use crate::scheduling::sched;
use crate::state::calls::Policy;
use core::ffi::{c_int, c_long};

const MODES: c_int = 6;
const MODE_FLAGS: c_int = 0xe000;
/// Flags of `get_mempolicy`: the node, of an address; the nodes that may be used.
const NODE: u64 = 1;
const ADDRESS: u64 = 2;
const ALLOWED: u64 = 4;

type Result = core::result::Result<c_long, c_int>;

fn all_nodes() -> u64 {
    let launch = &launch();
    u64::MAX >> (64 - Topology { machine: &launch.machine, cpus: launch.cpus }.nodes().clamp(1, 64))
}

/// The first 64 of the program's bits; the kernel's `maxnode` counts one too many.
fn nodes_at(mask: u64, most: u64) -> core::result::Result<u64, c_int> {
    if mask == 0 || most <= 1 {
        return Ok(0);
    }
    // SAFETY: the program's mask of at least so many bits, in whole words.
    let nodes = unsafe { *(mask as *const u64) } & u64::MAX >> (64 - (most - 1).min(64));
    if nodes & !all_nodes() != 0 { Err(libc::EINVAL) } else { Ok(nodes) }
}

fn checked(mode: u64, mask: u64, most: u64) -> core::result::Result<Policy, c_int> {
    let (mode, nodes) = (mode as c_int, nodes_at(mask, most)?);
    let kind = mode & !MODE_FLAGS;
    // Only the default and the local policy have no nodes; a preferred node may be left open.
    let fits = match kind {
        0 | 4 => nodes == 0,
        1 => true,
        _ => nodes != 0,
    };
    if (0..MODES).contains(&kind) && fits { Ok(Policy { mode, nodes }) } else { Err(libc::EINVAL) }
}

fn has_no_effect(pc: u64) {
    note("memory policies are kept without effect: a page lies in the socket that touches it first", pc);
}

pub fn set(mode: u64, mask: u64, most: u64, pc: u64) -> Result {
    sched::enter_kernel();
    current().policy.set(checked(mode, mask, most)?);
    has_no_effect(pc);
    Ok(0)
}

pub fn bind(mode: u64, mask: u64, most: u64, pc: u64) -> Result {
    sched::enter_kernel();
    checked(mode, mask, most)?;
    has_no_effect(pc);
    Ok(0)
}

pub fn get(mode: u64, mask: u64, most: u64, address: u64, flags: u64) -> Result {
    sched::enter_kernel();
    let policy = current().policy.get();
    let (told, nodes) = match flags {
        0 => (policy.mode, policy.nodes),
        ALLOWED => (0, all_nodes()),
        // The kernel brings the page in.
        _ if flags == NODE | ADDRESS => (node_of(address).unwrap_or_else(node_here), 0),
        ADDRESS => (0, 0),
        _ => return Err(libc::EINVAL),
    };
    // SAFETY: the program's variables, or null.
    unsafe {
        if let Some(mode) = (mode as *mut c_int).as_mut() {
            *mode = told;
        }
        if mask != 0 && most > 1 {
            let words = (most - 1).div_ceil(64) as usize;
            core::slice::from_raw_parts_mut(mask as *mut u64, words).fill(0);
            *(mask as *mut u64) = nodes;
        }
    }
    Ok(0)
}

/// Says where each page lies; where it is to go has no effect.
pub fn move_pages(count: u64, pages: u64, nodes: u64, status: u64, pc: u64) -> Result {
    sched::enter_kernel();
    if nodes != 0 {
        has_no_effect(pc);
    }
    for i in 0..count {
        // SAFETY: the program's arrays of `count` elements.
        unsafe {
            let node = node_of(*(pages as *const u64).add(i as usize));
            *(status as *mut c_int).add(i as usize) = node.unwrap_or(-libc::ENOENT);
        }
    }
    Ok(0)
}

fn node_of(address: u64) -> Option<c_int> {
    sim(|sim| sim.model.home(address)).map(c_int::from)
}

fn node_here() -> c_int {
    launch().machine.socket_of(running_cpu()) as c_int
}
