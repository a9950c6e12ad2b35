// SPDX-License-Identifier: MIT OR Apache-2.0
//! The locks that libc takes in a call: a stream's, and those of its own variables. Natively a call holds one from
//! beginning to end, so here it does, too, in virtual time, and a thread that finds it taken waits for it as in glibc.
//!
//! A stream's is libc's own, in the program's memory: libc then finds that the thread has it already. libc's variables
//! have locks that are not accessible, so each has a word of ours in its place.
use crate::account::locks;
use crate::calls::stream::Stream;
use crate::carrier::Carrier;
use crate::counts::labels;
use crate::engine::{charge, now};
use crate::entry::Call;
use crate::hooks::access::range_write;
use crate::scheduling::fiber::current;
use crate::scheduling::store_buffer::write_value;
use crate::threads::object::Object;
use crate::threads::single;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, Ordering};
use corefold_model::Ticks;
use corefold_recording::{Label, LockKind};

/// glibc's recursive lock: the word, how often its owner has it (from 1, or in later versions from 0: 1 keeps libc's
/// own calls from releasing our lock in both), and the owner's thread block.
const WORD: u64 = 0;
const COUNT: u64 = 4;
const OWNER: u64 = 8;
const BYTES: u64 = 16;

/// In what [`take`] says: the thread had the lock before.
const AGAIN: u64 = 1;

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;

/// What libc guards by a lock each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Guarded {
    Random,
    TimeZone,
    Environment,
    ExitHandlers,
    Streams,
    Loader,
    Log,
    Users,
    LoadedFiles,
    Locale,
    Converters,
    Hosts,
}

const ALL: usize = 12;

impl Guarded {
    fn name(self) -> &'static str {
        match self {
            Guarded::Random => "lock of rand()",
            Guarded::TimeZone => "lock of the time zone",
            Guarded::Environment => "lock of the environment",
            Guarded::ExitHandlers => "lock of the exit handlers",
            Guarded::Streams => "lock of the list of streams",
            Guarded::Loader => "lock of the loader",
            Guarded::Log => "lock of syslog()",
            Guarded::Users => "lock of the user database",
            Guarded::LoadedFiles => "lock of the list of loaded files",
            Guarded::Locale => "lock of the locale",
            Guarded::Converters => "lock of the character set converters",
            Guarded::Hosts => "lock of the host database",
        }
    }

    /// Where its lock is; on a cache line of its own.
    fn address(self) -> u64 {
        WORDS[self as usize].0.get() as u64
    }
}

#[repr(align(128))]
struct Word(UnsafeCell<[u64; 16]>);
// SAFETY: only the carrier uses them.
unsafe impl Sync for Word {}
static WORDS: [Word; ALL] = [const { Word(UnsafeCell::new([0; 16])) }; ALL];

/// Words in place of locks in objects of libc's; when more objects are in use, some share one. (Not in memory of the
/// runtime's own, which is not simulated.)
const MOST_WITHIN: usize = 64;
static WITHIN: [Word; MOST_WITHIN] = [const { Word(UnsafeCell::new([0; 16])) }; MOST_WITHIN];
/// The object of each word.
static OBJECTS: [AtomicU64; MOST_WITHIN] = [const { AtomicU64::new(0) }; MOST_WITHIN];

/// The file names of streams, by the address of their lock.
static NAMES: Carrier<BTreeMap<u64, String>> = Carrier::new(BTreeMap::new());

/// The stream was opened with this name.
pub fn opened(stream: &Stream, name: String) {
    locks::begins_anew(stream.lock);
    NAMES.with(|names| names.insert(stream.lock, name));
}

/// The last component of a path that the program passes; a device's whole path.
pub fn file_name(path: u64) -> Option<String> {
    // SAFETY: the program's string, or null.
    let path = (path != 0).then(|| unsafe { CStr::from_ptr(path as *const c_char) }.to_string_lossy())?;
    let device = path.starts_with("/dev/");
    if device { Some(path.into()) } else { path.rsplit('/').next().map(str::to_string) }
}

/// The stream is no more, and what is opened in its place may have no name.
pub fn closed(stream: &Stream) {
    NAMES.with(|names| names.remove(&stream.lock));
}

fn stream_name(stream: &Stream) -> String {
    let fd = stream.descriptor();
    let known = match fd {
        0 => Some("stdin".to_string()),
        1 => Some("stdout".to_string()),
        2 => Some("stderr".to_string()),
        _ => NAMES.with(|names| names.get(&stream.lock).cloned()),
    };
    let name = known.unwrap_or_else(|| format!("descriptor {fd}"));
    format!("lock of stream `{name}`")
}

fn word(lock: u64, at: u64) -> u32 {
    // SAFETY: a lock of libc's, or of ours in its place.
    unsafe { ((lock + at) as *const u32).read() }
}

fn owner(lock: u64) -> u64 {
    // SAFETY: as above.
    unsafe { ((lock + OWNER) as *const u64).read() }
}

/// Waits for a word of glibc's to be free, and takes it. Handlers run once the call is over.
pub fn wait_for_word(object: Object, word: u64) {
    crate::threads::signals::pending::deafly(|| {
        while object.load(word) == WAITED_FOR || object.update(word, |_| Some(WAITED_FOR)) != FREE {
            object.wait(word, WAITED_FOR, None);
        }
    });
}

fn object(lock: u64, pc: u64) -> Object {
    Object { address: lock, call: Call { name: "lock in the C library", pc } }
}

/// Takes the lock for the running thread, as often as it likes. `held` is what [`let_go`] goes by.
fn take(lock: u64, pc: u64, held: &mut u64, name: impl FnOnce() -> String) {
    let object = object(lock, pc);
    if take_again(object) {
        *held = lock | AGAIN;
        return;
    }
    let begin = now();
    let free = take_if_free(object);
    if !free {
        wait_for_word(object, WORD);
    }
    *held = lock;
    is_taken(object, (!free).then_some(begin), name);
}

/// Takes it once more, if the running thread has it.
fn take_again(object: Object) -> bool {
    let lock = object.address;
    let again = word(lock, WORD) != FREE && owner(lock) == current().fs.get();
    if again {
        object.poke(COUNT, word(lock, COUNT) + 1);
    }
    again
}

fn take_if_free(object: Object) -> bool {
    if single::only_thread() {
        object.write(WORD, HELD);
        return true;
    }
    object.update(WORD, |old| (old == FREE).then_some(HELD)) == FREE
}

/// The running thread has just got it, after a wait that began at `since`, if it was not free.
fn is_taken(object: Object, since: Option<Ticks>, name: impl FnOnce() -> String) {
    let Object { address: lock, call: Call { pc, .. } } = object;
    range_write(lock + OWNER, pc, 8);
    write_value(lock + OWNER, 8, current().fs.get());
    object.poke(COUNT, 1);
    locks::acquired_as(lock, LockKind::Library, since, pc, name);
}

/// Takes what libc guards a variable of its own with.
pub fn take_library(what: Guarded, pc: u64, held: &mut u64) {
    take_named(what.address(), what.name(), pc, held);
}

/// Takes a lock that is a word of ours.
fn take_named(lock: u64, name: &'static str, pc: u64, held: &mut u64) {
    take(lock, pc, held, || {
        let label = Label { address: lock, bytes: BYTES, name: name.to_string(), stride: 0 };
        labels::add_once(label);
        name.to_string()
    });
}

/// Takes the lock that libc has in an object which the program got from it, as each directory stream has one.
pub fn take_in(object: u64, name: &'static str, pc: u64, held: &mut u64) {
    let index = index_of(object).or_else(|| index_of(0)).unwrap_or(object as usize / 16 % MOST_WITHIN);
    OBJECTS[index].store(object, Ordering::Relaxed);
    take_named(WITHIN[index].0.get() as u64, name, pc, held);
}

/// Relaxed: only the carrier uses them.
fn index_of(object: u64) -> Option<usize> {
    OBJECTS.iter().position(|of| of.load(Ordering::Relaxed) == object)
}

/// The object is no more.
pub fn forget_in(object: u64) {
    if let Some(index) = index_of(object) {
        OBJECTS[index].store(0, Ordering::Relaxed);
        locks::begins_anew(WITHIN[index].0.get() as u64);
    }
}

/// A call that libc carries out under that lock, in so many cycles, of which no part is libc's own here.
pub fn pass_library(what: Guarded, cycles: u32, pc: u64) {
    let mut held = 0;
    take_library(what, pc, &mut held);
    charge(cycles);
    give(held, pc);
}

/// Takes a stream's, unless it has none.
pub fn take_stream(stream: &Stream, pc: u64, held: &mut u64) {
    if stream.lock != 0 && !stream.is_locked_by_user() {
        take(stream.lock, pc, held, || stream_name(stream));
    }
}

/// Takes a stream's for the program, unless another thread has it: returns whether that is so.
pub fn try_stream(stream: &Stream, pc: u64) -> bool {
    if stream.lock == 0 || stream.is_locked_by_user() {
        return true;
    }
    let object = object(stream.lock, pc);
    if take_again(object) {
        return true;
    }
    // Looked at and taken in one: a thread that waited here could keep the other from ever releasing it.
    let free = take_if_free(object);
    if free {
        is_taken(object, None, || stream_name(stream));
    }
    free
}

/// Releases what [`take`] took, unless the thread had it before.
pub fn give(held: u64, pc: u64) {
    let lock = held & !AGAIN;
    if lock == 0 || word(lock, WORD) == FREE || owner(lock) != current().fs.get() {
        return;
    }
    let object = object(lock, pc);
    let count = word(lock, COUNT).saturating_sub(1);
    object.poke(COUNT, count);
    if held & AGAIN != 0 || count > 0 {
        return;
    }
    write_value(lock + OWNER, 8, 0);
    locks::released(lock);
    if single::only_thread() {
        return object.write(WORD, FREE);
    }
    if object.update(WORD, |_| Some(FREE)) == WAITED_FOR {
        object.wake(WORD, 1);
    }
}

/// libc's function has returned, or was left by an exception.
pub extern "C" fn let_go(held: &mut u64, pc: u64) {
    let lock = core::mem::take(held);
    if crate::engine::active() {
        give(lock, pc);
    }
}
