// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process: it stays one process, and its end leaves a recording however it comes about.
use crate::account::record;
use crate::engine::note;
use crate::passing::{Arguments, before};
use crate::stand_in::{failed, stand_ins, stand_ins_at};
use crate::{code, crash, sys};
use alloc::format;
use core::ffi::{c_int, c_uint, c_void};
use corefold_recording::Status;

/// Calls that begin another process, or another program in this one.
pub extern "C" fn begins_another(arguments: &Arguments, pc: u64) {
    let name = arguments.name();
    let what = format!(
        "{name}() cannot be simulated: a run is one process. Have the program do without (an option, a variable \
         of the environment), or simulate what it starts by itself"
    );
    crash::unsupported(&what, pc);
}

/// Calls that have libc make threads of its own, which would run beside the simulated ones.
pub extern "C" fn begins_threads(arguments: &Arguments, pc: u64) {
    let name = arguments.name();
    let what = format!("{name}() cannot be simulated: it has the C library make threads of its own");
    crash::unsupported(&what, pc);
}

pub extern "C" fn cancels(_: &Arguments, pc: u64) {
    crash::unsupported(
        "pthread_cancel() cannot be simulated: have the thread end itself, by a flag that it looks at",
        pc,
    );
}

/// Clocks that count in the host's time.
pub extern "C" fn runs_outside(arguments: &Arguments, pc: u64) {
    note(&format!("{}() counts the host's time, not the simulated machine's", arguments.name()), pc);
}

before! {
    crate::calls::process::begins_another => fork vfork _Fork clone posix_spawn posix_spawnp system popen execve execv execvp
        execvpe execl execle execlp fexecve execveat daemon forkpty;
    crate::calls::process::begins_threads => aio_read aio_write aio_fsync lio_listio aio_read64 aio_write64 lio_listio64
        getaddrinfo_a mq_notify;
    crate::calls::process::cancels => pthread_cancel;
    crate::calls::process::runs_outside => timerfd_create;
}

/// The process ends without more ado.
fn end(code: c_int) -> ! {
    record::finish(Status::Exited(code));
    sys::exit_group(code)
}

/// A timer that would signal by the host's clock is never started.
fn never_signals(call: &str, pc: u64) {
    note(&format!("{call}() sets no timer: signals by the clock are not simulated"), pc);
}

stand_ins! {
    fn _exit(code: c_int) -> () {
        end(code)
    }

    fn _Exit(code: c_int) -> () {
        end(code)
    }

    /// What is registered for it runs, and is simulated no more.
    fn quick_exit(code: c_int) -> () {
        record::finish(Status::Exited(code));
        own(code);
    }
}

stand_ins_at! {
    "rsi" fn alarm(seconds: c_uint; pc) -> c_uint {
        if code::is_own(pc) {
            return own(seconds);
        }
        never_signals("alarm", pc);
        0
    }

    "rdx" fn ualarm(first: c_uint, interval: c_uint; pc) -> c_uint {
        let _ = (first, interval);
        never_signals("ualarm", pc);
        0
    }

    "rcx" fn setitimer(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval; pc) -> c_int {
        let _ = (which, new);
        never_signals("setitimer", pc);
        if !old.is_null() {
            // SAFETY: the caller's variable; a zeroed one is valid.
            unsafe { *old = core::mem::zeroed() };
        }
        0
    }

    "rcx" fn timer_create(clock: c_int, event: *mut c_void, timer: *mut c_void; pc) -> c_int {
        let _ = (clock, event, timer);
        never_signals("timer_create", pc);
        failed(libc::EAGAIN)
    }
}
