// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that only change or read a variable of libc's, under a lock of libc's: threads that make them at once wait for
//! each other. (`getenv`, `rand_r`, `drand48`, `strtok` and `strerror` take none.)
use crate::calls::library_locks::{Guarded, pass_library, take_library};
use crate::engine::charge;
use crate::holding::{holding, holding_any};
use crate::passing::{Arguments, before};

/// Cycles of the calls, where they find what they need.
const NEXT_NUMBER: u32 = 20;
const BROKEN_DOWN: u32 = 150;
const FORMATTED: u32 = 400;
const VARIABLE: u32 = 100;
const HANDLER: u32 = 30;
const LOOKED_UP: u32 = 400;
const LOADED: u32 = 20_000;
const MESSAGE: u32 = 2000;
const ENTRY: u32 = 5000;

macro_rules! hooks {
    ($($name:ident $what:ident $cycles:ident;)*) => {$(
        pub extern "C" fn $name(_: &Arguments, pc: u64, held: &mut u64) {
            take_library(Guarded::$what, pc, held);
            charge($cycles);
        }
    )*};
}

hooks! {
    random Random NEXT_NUMBER;
    time TimeZone BROKEN_DOWN;
    formats_time TimeZone FORMATTED;
    environment Environment VARIABLE;
    exit_handler ExitHandlers HANDLER;
    logs Log MESSAGE;
    user Users ENTRY;
}

/// Where libc looks depends on who calls it, so it is called from there. (`dlsym` is how the runtime finds libc's
/// functions, and is not stood in for.)
pub extern "C" fn looks_up(_: &Arguments, pc: u64) {
    pass_library(Guarded::Loader, LOOKED_UP, pc);
}

pub extern "C" fn loads(_: &Arguments, pc: u64) {
    pass_library(Guarded::Loader, LOADED, pc);
}

holding! {
    crate::calls::library::random => rand srand random srandom initstate setstate;
    crate::calls::library::time => localtime localtime_r gmtime gmtime_r mktime timelocal timegm tzset ctime ctime_r;
    crate::calls::library::formats_time => strftime strftime_l wcsftime;
    crate::calls::library::environment => setenv unsetenv putenv clearenv;
    crate::calls::library::exit_handler => __cxa_atexit __cxa_at_quick_exit on_exit;
    crate::calls::library::logs => openlog closelog setlogmask vsyslog __vsyslog_chk;
    crate::calls::library::user => getpwnam getpwuid getpwent setpwent endpwent getgrnam getgrgid getgrent setgrent
        endgrent;
}

holding_any! {
    crate::calls::library::logs => syslog("rdx", "16") vsyslog __syslog_chk("rcx", "24") __vsyslog_chk;
}

before! {
    crate::calls::library::looks_up => dladdr dladdr1;
    crate::calls::library::loads => dlopen dlclose;
}
