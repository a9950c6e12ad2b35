// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths under /sys and /proc that describe CPUs and memory are redirected to files that describe the simulated machine. They lie
//! beside the launch file, in a directory that the runner removes, and are written when they are first asked for.
mod disk;
mod tasks;
mod threads;

use crate::calls::topology::{File, meminfo};
use crate::carrier::Carrier;
use crate::engine::{launch, nanoseconds_of, now};
use crate::parameters;
use crate::process_id;
use crate::scheduling::{peek, sched};
use crate::stand_in::stand_ins_at;
use crate::sys;
use crate::threads::{affinity, clock};
use crate::trampoline::{Arguments, before};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use disk::{make_directory, write};
use tasks::{HUNDREDTH, topology};

struct Shown {
    /// Where our files are; none before the first was asked for.
    root: Option<String>,
    /// CPUs whose files are there.
    cpus: BTreeSet<u32>,
    /// Paths that programs were given in place of theirs, with a final zero byte: they stay where they are.
    paths: BTreeMap<String, Vec<u8>>,
}

static SHOWN: Carrier<Shown> = Carrier::new(Shown { root: None, cpus: BTreeSet::new(), paths: BTreeMap::new() });

/// None before the first was asked for.
fn known_root() -> Option<String> {
    SHOWN.with(|shown| shown.root.clone())
}

/// Directories of ours, and the kernel's that they stand for.
const DIRECTORIES: [(&str, &str); 5] = [
    ("/sys/devices/system/cpu", "cpu"),
    ("/sys/devices/system/node", "node"),
    ("/sys/bus/cpu/devices", "cpu"),
    ("/sys/bus/node/devices", "node"),
    (threads::FOLDER, "task"),
];

/// The path to take in place of one that a call names, relative to `directory` if that is a descriptor.
pub fn instead(directory: c_int, path: *const c_char) -> *const c_char {
    instead_by(directory, path, ours)
}

fn instead_by(directory: c_int, path: *const c_char, ours: fn(&str) -> Option<String>) -> *const c_char {
    if peek::fetch(path).is_none() {
        return path;
    }
    // SAFETY: the caller's terminated string.
    let named = unsafe { CStr::from_ptr(path) }.to_bytes();
    if named.first() == Some(&b'/') && !named.starts_with(b"/sys") && !named.starts_with(b"/proc") {
        return path;
    }
    match absolute(directory, named).and_then(|named| ours(&named)) {
        Some(found) => SHOWN.with(|shown| {
            let kept = shown.paths.entry(found);
            kept.or_insert_with_key(|found| [found.as_bytes(), b"\0"].concat()).as_ptr().cast()
        }),
        None => path,
    }
}

/// Without a final slash; `None` if it is relative to the working directory.
fn absolute(directory: c_int, named: &[u8]) -> Option<String> {
    let named = core::str::from_utf8(named).ok()?;
    let mut path = String::new();
    if !named.starts_with('/') {
        if directory == libc::AT_FDCWD || named.is_empty() {
            return None;
        }
        path = opened(directory)?;
    }
    for part in named.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            path.truncate(path.rfind('/').unwrap_or(0));
            continue;
        }
        if !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part);
    }
    Some(path)
}

/// The path that a descriptor was opened by.
fn opened(fd: c_int) -> Option<String> {
    let mut path = [0; 4096];
    Some(core::str::from_utf8(sys::path_of(fd, &mut path)?).ok()?.into())
}

fn ours(path: &str) -> Option<String> {
    let named = theirs(path).unwrap_or_else(|| path.into());
    let itself = threads::as_itself(&named);
    let path = itself.as_deref().unwrap_or(&named);
    if let Some(file) = made_anew(path) {
        return Some(file);
    }
    let inside = |(theirs, ours): &(&str, &str)| {
        let rest = path.strip_prefix(theirs)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{ours}{rest}"))
    };
    let Some(inside) = DIRECTORIES.iter().find_map(inside) else { return itself };
    let root = root()?;
    if inside.starts_with("task") {
        threads::show_all(&root);
    }
    match inside.strip_prefix("cpu/cpu").map(|rest| rest.split('/').next().unwrap_or_default().parse()) {
        Some(Ok(cpu)) => show_cpu(&root, cpu),
        // Its entries may be listed, and then looked at.
        _ if inside == "cpu" => all_cpus(),
        _ => {}
    }
    Some(format!("{root}/{inside}"))
}

/// The same to a call that reads a link: those that lead to the process, and to the running thread.
fn our_link(path: &str) -> Option<String> {
    let (name, target) = match path {
        "/proc/self" => ("self", process_id::OWN.to_string()),
        "/proc/thread-self" => ("thread-self", format!("{}/task/{}", process_id::OWN, affinity::own_number())),
        _ => return ours(path),
    };
    let link = format!("{}/{name}", root()?);
    disk::link(&link, &target);
    Some(link)
}

/// Files that are written anew each time that they are asked for.
fn made_anew(path: &str) -> Option<String> {
    if let Some((thread, file)) = threads::named(path) {
        let root = root()?;
        threads::show_all(&root);
        return threads::show(&root, thread, file);
    }
    let theirs =
        || String::from_utf8_lossy(&sys::read_file(format!("{path}\0").as_bytes()).unwrap_or_default()).into_owned();
    let text = match path {
        "/proc/cpuinfo" => {
            let host = theirs();
            let flags = host.lines().find_map(|line| line.strip_prefix("flags\t\t:"));
            topology().cpuinfo(flags.unwrap_or_default())
        }
        "/proc/stat" => topology().stat(nanoseconds_of(now()) / HUNDREDTH),
        "/proc/uptime" => {
            let up = clock::uptime() / HUNDREDTH;
            format!("{0}.{1:02} {0}.{1:02}\n", up / 100, up % 100)
        }
        "/proc/loadavg" => format!("0.00 0.00 0.00 1/1 {}\n", process_id::OWN),
        "/proc/meminfo" => meminfo(),
        "/proc/self/comm" | "/proc/self/stat" | "/proc/self/status" => {
            tasks::text(0, path.strip_prefix("/proc/self/")?, clock::process_ran())?
        }
        _ => return None,
    };
    let file = format!("{}/{}", root()?, path.rsplit('/').next()?);
    write(&file, &text).then_some(file)
}

/// Where our files are; at first, those that are of no one CPU are written.
fn root() -> Option<String> {
    if known_root().is_none() {
        let launch = parameters::launch_path()?.to_str().ok()?;
        let directory = launch.rsplit_once('/')?.0;
        // Runs at once share the directory.
        let root = format!("{directory}/machine-{}", sys::process());
        make_directory(&root);
        write_all(&root, &topology().of_all()).then_some(())?;
        SHOWN.with(|shown| shown.root = Some(root));
    }
    known_root()
}

fn show_cpu(root: &str, cpu: u32) {
    if cpu < topology().cpus && SHOWN.with(|shown| shown.cpus.insert(cpu)) {
        write_all(root, &topology().of_cpu(cpu));
        let node = launch().machine.socket_of(cpu);
        make_directory(&format!("{root}/cpu/cpu{cpu}/node{node}"));
        make_directory(&format!("{root}/node/node{node}/cpu{cpu}"));
    }
}

fn write_all(root: &str, files: &[File]) -> bool {
    files.iter().all(|(name, text)| {
        for (at, _) in name.match_indices('/') {
            make_directory(&format!("{root}/{}", &name[..at]));
        }
        write(&format!("{root}/{name}"), text)
    })
}

/// The kernel's path that a path of ours stands for.
fn theirs(path: &str) -> Option<String> {
    let inside = path.strip_prefix(&*known_root()?)?.strip_prefix('/')?;
    DIRECTORIES.iter().find_map(|(theirs, ours)| {
        let rest = inside.strip_prefix(ours)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{theirs}{rest}"))
    })
}

/// In place of a text that libc allocated, if it is a path of ours: the kernel's.
unsafe fn translate(text: &mut *mut c_char) {
    // SAFETY: the caller's: a terminated string from `malloc`.
    let told = unsafe { CStr::from_ptr(*text) }.to_str().ok().and_then(theirs);
    if let Some(mut told) = told {
        told.push('\0');
        // SAFETY: a terminated string; what is freed is used no more.
        unsafe {
            let new = libc::strdup(told.as_ptr().cast());
            if !new.is_null() {
                libc::free(core::mem::replace(text, new).cast());
            }
        }
    }
}

const PATH_BYTES: usize = libc::PATH_MAX as usize;

stand_ins_at! {
    "rdx" fn realpath(path: *const c_char, into: *mut c_char; _pc) -> *mut c_char {
        sched::enter_kernel();
        let mut found = own(instead(libc::AT_FDCWD, path), core::ptr::null_mut());
        if found.is_null() {
            return found;
        }
        // SAFETY: libc allocated it; the caller's buffer has room for any path.
        unsafe {
            translate(&mut found);
            if into.is_null() {
                return found;
            }
            libc::strncpy(into, found, PATH_BYTES);
            libc::free(found.cast());
        }
        into
    }

    "r8" fn glob(
        pattern: *const c_char,
        flags: c_int,
        error: Option<extern "C" fn(*const c_char, c_int) -> c_int>,
        into: *mut libc::glob_t;
        _pc
    ) -> c_int {
        sched::enter_kernel();
        let ours = instead(libc::AT_FDCWD, pattern);
        if ours != pattern {
            // Which of them match is for libc to find out.
            all_cpus();
        }
        let code = own(ours, flags, error, into);
        if code == 0 && ours != pattern {
            // SAFETY: libc has filled it.
            unsafe {
                let skipped = if flags & libc::GLOB_DOOFFS != 0 { (*into).gl_offs } else { 0 };
                (0..(*into).gl_pathc).for_each(|i| translate(&mut *(*into).gl_pathv.add(skipped + i)));
            }
        }
        code
    }
}

fn all_cpus() {
    if let Some(root) = root() {
        (0..topology().cpus).for_each(|cpu| show_cpu(&root, cpu));
    }
}

/// A call whose first argument is a path.
pub extern "C" fn enters_kernel_by_path(arguments: &mut Arguments, pc: u64) {
    super::kernel::enters_kernel(arguments, pc);
    arguments.rdi = instead(libc::AT_FDCWD, arguments.rdi as *const c_char) as u64;
}

/// A call whose second argument is a path from the directory that the first one is.
pub extern "C" fn enters_kernel_by_path_at(arguments: &mut Arguments, pc: u64) {
    super::kernel::enters_kernel(arguments, pc);
    arguments.rsi = instead(arguments.rdi as c_int, arguments.rsi as *const c_char) as u64;
}

/// A call that reads the link that its first argument names.
pub extern "C" fn reads_link(arguments: &mut Arguments, pc: u64) {
    super::kernel::enters_kernel(arguments, pc);
    arguments.rdi = instead_by(libc::AT_FDCWD, arguments.rdi as *const c_char, our_link) as u64;
}

/// The same from the directory that its first argument is.
pub extern "C" fn reads_link_at(arguments: &mut Arguments, pc: u64) {
    super::kernel::enters_kernel(arguments, pc);
    arguments.rsi = instead_by(arguments.rdi as c_int, arguments.rsi as *const c_char, our_link) as u64;
}

before! {
    crate::calls::shown::reads_link => readlink;
    crate::calls::shown::reads_link_at => readlinkat;
    crate::calls::shown::enters_kernel_by_path => stat lstat stat64 lstat64 access opendir scandir scandir64 chdir
        euidaccess eaccess nftw nftw64 ftw ftw64;
    crate::calls::shown::enters_kernel_by_path_at => fstatat fstatat64 statx faccessat scandirat scandirat64;
}
