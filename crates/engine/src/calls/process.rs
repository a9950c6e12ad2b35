// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process: it stays one process, and its end leaves a recording however it comes about.
use crate::recorder::region;
use crate::stand_in::stand_ins;
use crate::sys;
use crate::trampoline::{Arguments, before};
use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_char, c_int};
use corefold_recording::Status;

/// Calls that begin another process, or another program in this one.
pub extern "C" fn begins_another(arguments: &Arguments, pc: u64) {
    let name = arguments.name();
    let program = program_of(arguments);
    // The call fails, as it does natively: a benchmark looks for a plotter.
    let by_path = name.ends_with('p') || name == "execvpe";
    // Actions may go to another folder first: that is no matter to a file of PATH.
    let has_actions = name.starts_with("posix_spawn") && arguments.rdx != 0;
    let is_elsewhere = |file: &[u8]| has_actions && !file.starts_with(b"/") && (!by_path || file.contains(&b'/'));
    if program.is_some_and(|file| !is_elsewhere(file) && !is_there(file, by_path)) {
        return;
    }
    let of = program.map(|file| String::from_utf8_lossy(file)).unwrap_or_default();
    let of = if of.is_empty() { of } else { format!(" of {of}").into() };
    let what = format!(
        "{name}(){of} cannot be simulated: a run is one process. Have the program do without (an option, a variable \
         of the environment), or simulate what it starts by itself"
    );
    crate::ending::unsupported(&what, pc);
}

/// The file that the call is to run, if it names one.
fn program_of(arguments: &Arguments) -> Option<&[u8]> {
    let file = match arguments.name() {
        "posix_spawn" | "posix_spawnp" => arguments.rsi,
        "execve" | "execv" | "execvp" | "execvpe" | "execl" | "execle" | "execlp" => arguments.rdi,
        _ => return None,
    } as *const c_char;
    // SAFETY: these functions take a terminated string.
    (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) }.to_bytes())
}

/// Is there such a file, at its path or, with `search`, in a folder of `PATH`?
fn is_there(file: &[u8], search: bool) -> bool {
    let exists = |folder: &[u8]| {
        let between = if folder.is_empty() { &b""[..] } else { b"/" };
        let fd = sys::open(&[folder, between, file, b"\0"].concat(), libc::O_PATH | libc::O_CLOEXEC, 0);
        let is_file = fd >= 0 && sys::is_regular(fd as i32);
        if fd >= 0 {
            sys::close(fd as i32);
        }
        is_file
    };
    if !search || file.contains(&b'/') {
        return exists(b"");
    }
    // SAFETY: a terminated string of the program's environment; nothing changes that here.
    let path = unsafe {
        let path = libc::getenv(c"PATH".as_ptr());
        if path.is_null() { &b"/bin:/usr/bin"[..] } else { CStr::from_ptr(path).to_bytes() }
    };
    path.split(|byte| *byte == b':').any(exists)
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
    region::finish(Status::Exited(code & 0xff));
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
        region::finish(Status::Exited(code & 0xff));
        own(code);
    }
}
