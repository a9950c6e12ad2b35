// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which function's frame an address on a stack lies in, so that a report can name the variable.
use crate::engine::engine;
use crate::hot::hot;
use crate::layout::{STACKS, STACKS_BYTES};
use crate::thread;
use alloc::vec::Vec;
use corefold_recording::Frame;

/// Something on this address is shared; the access comes from `pc`. Takes note of the frame, if the
/// address is on a stack: later the frame may be gone.
pub fn note(address: u64, pc: u64) {
    if address.wrapping_sub(STACKS) < STACKS_BYTES
        && let Some(frame) = frame_of(address, pc)
    {
        engine().frames.insert(frame);
    }
}

/// Return addresses of a thread's calls are known; the one that stands nearest above the address in the
/// stack itself is where the frame that holds the address ends.
fn frame_of(address: u64, pc: u64) -> Option<Frame> {
    let e = engine();
    let fiber = thread::on_stack(address)?;
    let running = fiber == e.sched.fiber;
    let f = &e.fibers[fiber];
    let top = if running { hot!().frames } else { f.frames };
    let calls: Vec<u64> = f.calls(top).collect();
    let innermost = if running { pc } else { f.blocked_at };
    let mut at = address.next_multiple_of(8);
    let end = thread::stack_end(address);
    while at < end {
        // SAFETY: between an address that the program uses and the end of the same stack.
        let word = unsafe { (at as *const u64).read() };
        if let Some(depth) = calls.iter().position(|call| *call == word) {
            let pc = if depth == 0 { innermost } else { calls[depth - 1] };
            return (pc != 0).then_some(Frame { cfa: at + 8, pc, thread: fiber as u32 });
        }
        at += 8;
    }
    None
}
