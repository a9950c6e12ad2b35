// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that only change or read a variable of libc's, under a lock of libc's: threads that make them at once wait for
//! each other; and calls that do so in an object that libc gave to the program. (`getenv`, `strtok` and `strerror` take none.)
use crate::calls::holding::{holding, holding_any};
use crate::calls::library_locks::{Guarded, forget_in, pass_library, take_in, take_library};
use crate::engine::charge;
use crate::hooks::access::range_update;
use crate::scheduling::sched;
use crate::trampoline::{Arguments, before};

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
const LOCALE: u32 = 1000;
const MATCHED: u32 = 1000;
const LISTED: u32 = 40;
/// Of a step of a sort, beside the program's comparison and the copying.
const SORTED: u32 = 5;
/// Bytes that are copied in a cycle.
const COPIED: u64 = 32;

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
    locale Locale LOCALE;
    converter Converters ENTRY;
    host Hosts ENTRY;
}

/// The beginning of glibc's `DIR`.
#[repr(C)]
struct Directory {
    fd: i32,
    lock: i32,
    allocated: usize,
    size: usize,
    offset: usize,
}

/// The next entry comes from the stream's buffer, or from the kernel.
pub extern "C" fn lists(a: &Arguments, pc: u64, held: &mut u64) {
    take_in(a.rdi, "lock of a directory stream", pc, held);
    charge(LISTED);
    // SAFETY: the program's directory stream.
    if unsafe { (a.rdi as *const Directory).as_ref() }.is_some_and(|directory| directory.offset >= directory.size) {
        sched::enter_kernel();
    }
}

pub extern "C" fn ends_listing(a: &Arguments, pc: u64) {
    super::kernel::enters_kernel(a, pc);
    forget_in(a.rdi);
}

/// All that match one regular expression take turns. (Its first word leads to what it was compiled to.)
pub extern "C" fn matches(a: &Arguments, pc: u64, held: &mut u64) {
    // SAFETY: the program's compiled expression.
    let compiled = unsafe { *(a.rdi as *const u64) };
    take_in(compiled, "lock of a regular expression", pc, held);
    charge(MATCHED);
}

pub extern "C" fn ends_matching(a: &Arguments, _: u64) {
    // SAFETY: as above.
    forget_in(unsafe { *(a.rdi as *const u64) });
}

/// libc sorts by merging.
pub extern "C" fn sorts(a: &Arguments, pc: u64) {
    let (elements, bytes) = (a.rsi, a.rdx);
    if elements > 1 {
        range_update(a.rdi, pc, elements.saturating_mul(bytes));
        let step = u64::from(SORTED) + bytes.div_ceil(COPIED);
        charge((elements * u64::from(elements.ilog2() + 1)).saturating_mul(step).min(u64::from(u32::MAX)) as u32);
    }
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
    crate::calls::library::locale => setlocale newlocale freelocale duplocale;
    crate::calls::library::converter => iconv_open iconv_close;
    crate::calls::library::host => gethostbyname gethostbyname2 gethostbyaddr getservbyname getservbyport getprotobyname
        getprotobynumber;
    crate::calls::library::lists => readdir readdir64 readdir_r readdir64_r rewinddir seekdir telldir;
    crate::calls::library::matches => regexec re_search re_match;
}

holding_any! {
    crate::calls::library::logs => syslog("rdx", "16") vsyslog __syslog_chk("rcx", "24") __vsyslog_chk;
}

before! {
    crate::calls::library::looks_up => dladdr dladdr1;
    crate::calls::library::loads => dlopen dlclose;
    crate::calls::library::ends_listing => closedir;
    crate::calls::library::ends_matching => regfree;
    crate::calls::library::sorts => qsort qsort_r;
}
