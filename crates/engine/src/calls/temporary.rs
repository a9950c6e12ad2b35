// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temporary files. Their names come from the seed, as they may show in a recording; and from the number
//! of CPUs, as runs with several go on side by side.
use crate::carrier::Carrier;
use crate::engine::launch;
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins};
use crate::sys;
use core::ffi::{CStr, c_char, c_int};
use corefold_sim::random::Stream;

static NAMES: Carrier<Option<Stream>> = Carrier::new(None);

fn next_name() -> u64 {
    let launch = &launch();
    let new = || Stream::new(launch.seed.max(1), FOR_NAMES | u64::from(launch.cpus));
    NAMES.with(|names| names.get_or_insert_with(new).draw())
}

const FOR_NAMES: u64 = 3 << 32;

const MARK: &[u8; 6] = b"XXXXXX";
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// Tries before giving up: as many names may be taken.
const TRIES: usize = 10_000;

/// Where the six letters before the last `suffix` bytes of the template are; `None` if they are not the mark.
fn letters(template: *mut c_char, suffix: c_int) -> Option<*mut [u8; MARK.len()]> {
    // SAFETY: the caller's terminated string.
    let text = unsafe { CStr::from_ptr(template) }.to_bytes();
    let at = text.len().checked_sub(MARK.len() + usize::try_from(suffix).ok()?)?;
    text[at..].starts_with(MARK).then(|| template.wrapping_add(at).cast())
}

/// Tries names until `make` makes one that was not there.
fn make_one(template: *mut c_char, suffix: c_int, make: impl Fn() -> i64) -> c_int {
    const TAKEN: i64 = -(libc::EEXIST as i64);
    sched::enter_kernel();
    let Some(letters) = letters(template, suffix) else { return failed(libc::EINVAL) };
    for _ in 0..TRIES {
        let mut number = next_name();
        let name = MARK.map(|_| {
            let letter = LETTERS[(number % 62) as usize];
            number /= 62;
            letter
        });
        // SAFETY: six bytes of the caller's string, which nothing else refers to now.
        unsafe { letters.write(name) };
        match make() {
            TAKEN => {}
            code if code < 0 => {
                // SAFETY: as above.
                unsafe { letters.write(*MARK) };
                return failed(-code as c_int);
            }
            code => return code as c_int,
        }
    }
    failed(libc::EEXIST)
}

fn make_file(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
    let flags = flags & !libc::O_ACCMODE | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    make_one(template, suffix, || {
        // SAFETY: a terminated string.
        unsafe { sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, template, flags, 0o600; 0, 0) }
    })
}

/// 0 if there is no file of that name, as if one had been made.
fn unused(path: *const c_char) -> i64 {
    // SAFETY: a terminated string.
    match unsafe { sys::syscall!(libc::SYS_faccessat, libc::AT_FDCWD, path, libc::F_OK; 0, 0, 0) } {
        0 => -i64::from(libc::EEXIST),
        _ => 0,
    }
}

const NAMED: &[u8; libc::L_tmpnam as usize] = b"/tmp/fileXXXXXX\0\0\0\0\0";
/// What `tmpnam` returns where the caller has no room for it.
static NAME: Carrier<[c_char; NAMED.len()]> = Carrier::new([0; NAMED.len()]);

/// A name that no file has, into room for so many bytes.
fn named(into: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's room, as long as `L_tmpnam` says.
    unsafe { into.cast::<u8>().copy_from_nonoverlapping(NAMED.as_ptr(), NAMED.len()) };
    if make_one(into, 0, || unused(into)) < 0 { core::ptr::null_mut() } else { into }
}

stand_ins! {
    fn mkstemp(template: *mut c_char) -> c_int {
        make_file(template, 0, 0)
    }

    fn mkstemp64(template: *mut c_char) -> c_int {
        make_file(template, 0, 0)
    }

    fn mkostemp(template: *mut c_char, flags: c_int) -> c_int {
        make_file(template, 0, flags)
    }

    fn mkostemp64(template: *mut c_char, flags: c_int) -> c_int {
        make_file(template, 0, flags)
    }

    fn mkstemps(template: *mut c_char, suffix: c_int) -> c_int {
        make_file(template, suffix, 0)
    }

    fn mkstemps64(template: *mut c_char, suffix: c_int) -> c_int {
        make_file(template, suffix, 0)
    }

    fn mkostemps64(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
        make_file(template, suffix, flags)
    }

    fn mkostemps(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int {
        make_file(template, suffix, flags)
    }

    fn mktemp(template: *mut c_char) -> *mut c_char {
        if make_one(template, 0, || unused(template)) < 0 {
            // SAFETY: the caller's string: as libc says that there is no name.
            unsafe { *template = 0 };
        }
        template
    }

    fn tmpnam(into: *mut c_char) -> *mut c_char {
        if into.is_null() { NAME.with(|name| named(name.as_mut_ptr())) } else { named(into) }
    }

    fn tmpnam_r(into: *mut c_char) -> *mut c_char {
        if into.is_null() { into } else { named(into) }
    }

    /// In the folder that libc chooses.
    fn tempnam(folder: *const c_char, prefix: *const c_char) -> *mut c_char {
        let name = own(folder, prefix);
        if name.is_null() {
            return name;
        }
        // SAFETY: libc's string, which ends in as many letters as the mark has, and is the program's to free.
        unsafe {
            let letters = name.add(CStr::from_ptr(name).count_bytes() - MARK.len());
            letters.cast::<u8>().copy_from_nonoverlapping(MARK.as_ptr(), MARK.len());
            if make_one(name, 0, || unused(name)) < 0 {
                libc::free(name.cast());
                return core::ptr::null_mut();
            }
        }
        name
    }

    fn mkdtemp(template: *mut c_char) -> *mut c_char {
        let made = make_one(template, 0, || {
            // SAFETY: a terminated string.
            unsafe { sys::syscall!(libc::SYS_mkdirat, libc::AT_FDCWD, template, 0o700; 0, 0, 0) }
        });
        if made < 0 { core::ptr::null_mut() } else { template }
    }
}
