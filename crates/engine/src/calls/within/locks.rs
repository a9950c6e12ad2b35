// SPDX-License-Identifier: MIT OR Apache-2.0
//! libc's own locks, where a thread finds one taken: it waits in the simulation, for whoever has the lock may be a
//! thread that was switched away from. (libc calls the program's functions with locks held: its allocator, what reads
//! and writes its streams, what initialises its libraries.) Taking a free lock is inline in libc, and never comes here.
use crate::account::locks;
use crate::calls::library_locks::wait_for_word;
use crate::code::innermost;
use crate::engine::{active, now};
use crate::entry::Call;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::threads::deadline::Deadline;
use crate::threads::futex;
use crate::threads::object::Object;
use crate::threads::once as objects;
use crate::threads::rwlock;
use core::arch::naked_asm;
use core::ffi::c_int;

const WORD: u64 = 0;
const NAME: &str = "a lock of the C library";

/// libc's `__lll_lock_wait_private`: returns when the running thread has the lock.
#[unsafe(naked)]
pub extern "C" fn wait(_word: u64) {
    naked_asm!("mov rsi, [rsp]", "mov rdx, rsp", "jmp {body}", body = sym wait_for)
}

extern "C" fn wait_for(word: u64, pc: u64, sp: u64) {
    if !active() {
        // The process is about to end, and nobody is left who could give the lock back.
        return;
    }
    let lock = object(word, innermost::calling(pc, sp, current().calls(hot().frames.get()).next()).unwrap_or(pc));
    let begin = now();
    wait_for_word(lock, WORD);
    locks::acquired_within(word, begin, lock.call.pc);
}

/// libc's `__lll_lock_wake_private`: the lock is free, and somebody waits for it.
pub extern "C" fn wake(word: u64) {
    if active() {
        futex::wake(word, 1, futex::ANY);
    }
}

fn object(address: u64, pc: u64) -> Object {
    Object { address, call: Call { name: NAME, pc } }
}

/// libc's reader-writer locks are those of pthread, by the program's place.
macro_rules! reader_writer {
    ($($name:ident |$lock:ident| $body:expr;)*) => {$(
        #[unsafe(naked)]
        pub extern "C" fn $name(_lock: u64) -> c_int {
            extern "C" fn body(lock: u64, pc: u64, sp: u64) -> c_int {
                if active() {
                    let $lock = object(lock, innermost::calling(pc, sp, current().calls(hot().frames.get()).next()).unwrap_or(pc));
                    crate::threads::signals::pending::deafly(|| _ = $body);
                }
                0
            }
            naked_asm!("mov rsi, [rsp]", "mov rdx, rsp", "jmp {body}", body = sym body)
        }
    )*};
}

reader_writer! {
    read |lock| rwlock::read(lock, Deadline::Never);
    write |lock| rwlock::write(lock, Deadline::Never);
    unlock |lock| rwlock::unlock(lock);
}

/// libc's `pthread_once`. Outside a run there is one thread.
pub extern "C-unwind" fn once(word: *mut u32, routine: extern "C-unwind" fn()) -> c_int {
    const DONE: u32 = 2;
    if active() {
        return objects::pthread_once(word as u64, routine);
    }
    // SAFETY: libc's object, or the program's.
    unsafe {
        if *word != DONE {
            routine();
            *word = DONE;
        }
    }
    0
}
