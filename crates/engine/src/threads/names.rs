// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads' names, which the kernel keeps: all of ours run on one kernel thread, so they are kept here.
use crate::bytes;
use crate::engine::note;
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins, stand_ins_at};
use crate::state::pthread::{NAME_BYTES as BYTES, Thread, TimerSlack};
use crate::state::scheduler::running_fiber;
use crate::sys;
use core::ffi::{CStr, c_char, c_int};

/// What `fiber` is called: before it was given a name, what its creator was called.
pub fn name(fiber: usize) -> [u8; BYTES] {
    let mut name = [0; BYTES];
    match FIBERS[fiber].thread.name.get() {
        Some(given) => given,
        None => {
            // SAFETY: the call fills 16 bytes. The kernel thread that runs us has the program's name.
            unsafe { sys::syscall!(libc::SYS_prctl, libc::PR_GET_NAME, name.as_mut_ptr(); 0, 0, 0, 0) };
            name
        }
    }
}

/// The new thread `child` is called as its creator is.
pub fn inherit(child: &Thread) {
    child.name.set(current().thread.name.get());
}

/// `text`, cut to what fits, as the kernel keeps it.
fn cut(text: &[u8]) -> [u8; BYTES] {
    let mut name = [0; BYTES];
    let length = text.len().min(BYTES - 1);
    name[..length].copy_from_slice(&text[..length]);
    name
}

stand_ins! {
    fn pthread_setname_np(thread: libc::pthread_t, text: *const c_char) -> c_int {
        // SAFETY: the caller's string.
        let text = unsafe { CStr::from_ptr(text) }.to_bytes();
        if text.len() >= BYTES {
            return libc::ERANGE;
        }
        let Some(fiber) = crate::scheduling::lookup::find(thread) else { return libc::ESRCH };
        sched::enter_kernel();
        FIBERS[fiber].thread.name.set(Some(cut(text)));
        0
    }

    fn pthread_getname_np(thread: libc::pthread_t, into: *mut c_char, room: usize) -> c_int {
        let Some(fiber) = crate::scheduling::lookup::find(thread) else { return libc::ESRCH };
        if room < BYTES {
            return libc::ERANGE;
        }
        sched::enter_kernel();
        bytes::copy(into as u64, name(fiber).as_ptr() as u64, BYTES as u64);
        0
    }
}

stand_ins_at! {
    // What the kernel keeps for a thread would be kept for all of ours.
    "r9" fn prctl(option: c_int, a: u64, b: u64, c: u64, d: u64; pc) -> c_int {
        match option {
            libc::PR_SET_NAME => {
                // SAFETY: the caller's string.
                let text = unsafe { CStr::from_ptr(a as *const c_char) }.to_bytes();
                sched::enter_kernel();
                current().thread.name.set(Some(cut(text)));
                0
            }
            libc::PR_GET_NAME => {
                sched::enter_kernel();
                bytes::copy(a, name(running_fiber()).as_ptr() as u64, BYTES as u64);
                0
            }
            libc::PR_SET_TIMERSLACK => {
                sched::enter_kernel();
                let own = |usual| if (a as i64) <= 0 { usual } else { a };
                current().thread.slack.update(|slack| TimerSlack { own: own(slack.usual), ..slack });
                0
            }
            libc::PR_GET_TIMERSLACK => {
                sched::enter_kernel();
                current().thread.slack.get().own as c_int
            }
            // A sandbox would shut in the runtime too, which has to write the recording.
            libc::PR_SET_SECCOMP => {
                note("prctl(PR_SET_SECCOMP) is not simulated: it fails as on a kernel without seccomp", pc);
                failed(libc::EINVAL)
            }
            _ => own(option, a, b, c, d),
        }
    }
}
