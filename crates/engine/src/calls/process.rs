// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process: it stays one process, and its end leaves a recording however it comes about.
use crate::passing::{Arguments, before};
use crate::recorder::region;
use crate::stand_in::stand_ins;
use crate::sys;
use alloc::format;
use core::ffi::c_int;
use corefold_recording::Status;

/// Calls that begin another process, or another program in this one.
pub extern "C" fn begins_another(arguments: &Arguments, pc: u64) {
    let name = arguments.name();
    let what = format!(
        "{name}() cannot be simulated: a run is one process. Have the program do without (an option, a variable \
         of the environment), or simulate what it starts by itself"
    );
    crate::ending::unsupported(&what, pc);
}

/// Calls that have libc make threads of its own, which would run beside the simulated ones.
pub extern "C" fn begins_threads(arguments: &Arguments, pc: u64) {
    let name = arguments.name();
    let what = format!("{name}() cannot be simulated: it has the C library make threads of its own");
    crate::ending::unsupported(&what, pc);
}

/// Descriptors that signals would be read from.
pub extern "C" fn reads_signals(_: &Arguments, pc: u64) {
    crate::ending::unsupported(
        "signalfd() cannot be simulated: have a thread wait for the signals in sigwaitinfo()",
        pc,
    );
}

before! {
    crate::calls::process::begins_another => fork vfork _Fork clone posix_spawn posix_spawnp system popen execve execv execvp
        execvpe execl execle execlp fexecve execveat daemon forkpty;
    crate::calls::process::begins_threads => aio_read aio_write aio_fsync lio_listio aio_read64 aio_write64 lio_listio64
        getaddrinfo_a mq_notify;
    crate::calls::process::reads_signals => signalfd;
}

/// The process ends at once (`_exit`).
fn end(code: c_int) -> ! {
    region::finish(Status::Exited(code));
    sys::exit_group(code)
}

stand_ins! {
    fn _exit(code: c_int) -> () {
        end(code)
    }

    fn _Exit(code: c_int) -> () {
        end(code)
    }

    /// Its registered handlers run, and are not simulated any more.
    fn quick_exit(code: c_int) -> () {
        region::finish(Status::Exited(code));
        own(code);
    }
}
