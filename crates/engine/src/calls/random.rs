// SPDX-License-Identifier: MIT OR Apache-2.0
//! Randomness from the run's seed: the same calls in the same order get the same bytes.
use crate::carrier::Carrier;
use crate::engine::{charge, seed};
use crate::hooks::access::range_write;
use crate::scheduling::peek;
use crate::stand_in::{failed, stand_ins, stand_ins_at};
use core::ffi::{c_int, c_uint, c_void};
use corefold_sim::random::Stream;

static STREAM: Carrier<Option<Stream>> = Carrier::new(None);
static AT_RANDOM: Carrier<Option<[u8; 16]>> = Carrier::new(None);

const FOR_PROGRAM: u64 = 1;
const FOR_START: u64 = 2;

fn draw<R>(work: impl FnOnce(&mut Stream) -> R) -> R {
    STREAM.with(|stream| work(stream.get_or_insert_with(|| Stream::new(seed(), FOR_PROGRAM))))
}

/// The next bytes.
pub fn fill(bytes: &mut [u8]) {
    draw(|stream| stream.fill(bytes));
}

/// The bytes that the kernel gives every new process.
pub fn sixteen_bytes() -> *const u8 {
    let new = || {
        let mut bytes = [0; 16];
        Stream::new(seed(), FOR_START).fill(&mut bytes);
        bytes
    };
    AT_RANDOM.with(|bytes| bytes.get_or_insert_with(new).as_ptr())
}

/// The next bytes, into the program's memory; false: that is none.
pub fn fill_at(into: *mut c_void, bytes: usize, pc: u64) -> bool {
    const PIECE: usize = 256;
    let mut piece = [0; PIECE];
    for at in (0..bytes).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(bytes - at)];
        fill(piece);
        if !peek::put_all(into.cast::<u8>().wrapping_add(at), piece) {
            return false;
        }
    }
    range_write(into as u64, pc, bytes as u64);
    true
}

/// `getentropy` gives no more than this at once.
const MOST_ENTROPY: usize = 256;
/// Cycles of a `rdrand` instruction.
const INSTRUCTION: u32 = 300;

fn word() -> u32 {
    draw(Stream::draw) as u32
}

stand_ins_at! {
    "rcx" fn getrandom(into: *mut c_void, bytes: usize, _flags: c_uint; pc) -> isize {
        crate::scheduling::sched::enter_kernel();
        if fill_at(into, bytes, pc) { bytes as isize } else { failed(libc::EFAULT) as isize }
    }

    "rdx" fn getentropy(into: *mut c_void, bytes: usize; pc) -> c_int {
        crate::scheduling::sched::enter_kernel();
        if bytes > MOST_ENTROPY {
            return failed(libc::EIO);
        }
        if fill_at(into, bytes, pc) { 0 } else { failed(libc::EFAULT) }
    }

    "rdx" fn arc4random_buf(into: *mut c_void, bytes: usize; pc) -> () {
        crate::scheduling::sched::enter_kernel();
        fill_at(into, bytes, pc);
    }
}

stand_ins! {
    fn arc4random() -> u32 {
        crate::scheduling::sched::enter_kernel();
        word()
    }

    fn arc4random_uniform(bound: u32) -> u32 {
        crate::scheduling::sched::enter_kernel();
        ((u64::from(word()) * u64::from(bound)) >> 32) as u32
    }

    /// `std::random_device`'s next number, which libstdc++ takes from an instruction of the processor.
    fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> u32 {
        charge(INSTRUCTION);
        word()
    }
}
