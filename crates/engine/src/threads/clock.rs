// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual time as the program sees it.
use crate::counts::pace::PACE;
use crate::engine::{active, now, running_cpu, sim};
use crate::hot::hot;
use crate::scheduling::fiber::{FIBERS, State, current};
use crate::scheduling::peek;
use crate::state::scheduler::running_fiber;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use corefold_model::{TICKS_PER_CYCLE, Ticks};

pub use crate::engine::{nanoseconds_of, ticks_of};

/// The wall clock when a run begins: 1 January 2026, so that dates are plausible.
pub const EPOCH_SECONDS: i64 = 1_767_225_600;

/// Uptime when a run begins: a day. Programs assume that clocks that count from the
/// boot are past their first seconds.
const UPTIME_SECONDS: u64 = 86_400;

/// Nanoseconds since the run began.
pub fn nanoseconds() -> u64 {
    hot().called.set(1);
    PACE.with(|pace| pace.clock_reads += 1);
    let now = now();
    current().watched.with(|watched| watched.at(now));
    nanoseconds_of(now)
}

/// Nanoseconds since the machine booted.
pub fn uptime() -> u64 {
    UPTIME_SECONDS * NANOSECONDS + nanoseconds()
}

/// Nanoseconds of one of the clocks that time can be read from and waited for on; `None` if there is no
/// such clock.
pub fn read(clock: c_int) -> Option<u64> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_REALTIME_ALARM | libc::CLOCK_TAI => {
            Some(EPOCH_SECONDS as u64 * NANOSECONDS + nanoseconds())
        }
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME
        | libc::CLOCK_BOOTTIME_ALARM => Some(uptime()),
        libc::CLOCK_PROCESS_CPUTIME_ID => Some(nanoseconds_of(process_ran())),
        libc::CLOCK_THREAD_CPUTIME_ID => Some(nanoseconds_of(ran(running_fiber()))),
        _ => thread_of(clock).map(|fiber| nanoseconds_of(ran(fiber))),
    }
}

/// Ticks that the fiber has been on a CPU.
pub fn ran(fiber: usize) -> Ticks {
    sim(|sim| sim.threads[fiber].until(sim.clock_of(FIBERS[fiber].cpu.get(), now())))
}

/// Threads that have not ended.
pub fn threads() -> usize {
    FIBERS.iter().filter(|fiber| fiber.state.get() != State::Finished).count()
}

/// Ticks that all threads have been on CPUs.
pub fn process_ran() -> Ticks {
    (0..FIBERS.len()).map(ran).sum()
}

/// The number of a clock that shows the CPU time of one thread, as Linux forms it from a thread id.
pub fn of_thread(fiber: usize) -> c_int {
    !(fiber as c_int) << 3 | PER_THREAD
}

const PER_THREAD: c_int = 6;

pub fn thread_of(clock: c_int) -> Option<usize> {
    let fiber = !(clock >> 3) as usize;
    (clock < 0 && clock & 7 == PER_THREAD && fiber < FIBERS.len()).then_some(fiber)
}

/// The ticks at which `clock` shows `nanoseconds`; what is past is 0.
pub fn ticks_when(clock: c_int, nanoseconds: u64) -> Option<Ticks> {
    let shows = read(clock)?;
    Some(match nanoseconds.checked_sub(shows) {
        Some(ahead) => now() + ticks_of(ahead),
        None => 0,
    })
}

/// Nanoseconds of the program's variable, as a time that something may last; or the error: it cannot be read, or is none.
pub fn nanoseconds_at(time: *const libc::timespec) -> Result<u64, c_int> {
    let time = peek::fetch(time).ok_or(libc::EFAULT)?;
    nanoseconds_in(&time).filter(|_| time.tv_sec >= 0).ok_or(libc::EINVAL)
}

/// Nanoseconds of a `timespec`; `None` if it is no valid one. What is before 0 is 0.
pub fn nanoseconds_in(time: &libc::timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).ok().filter(|n| *n < NANOSECONDS)?;
    Some(if time.tv_sec < 0 { 0 } else { seconds.saturating_mul(NANOSECONDS).saturating_add(rest) })
}

pub fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec { tv_sec: (nanoseconds / NANOSECONDS) as i64, tv_nsec: (nanoseconds % NANOSECONDS) as i64 }
}

pub const NANOSECONDS: u64 = 1_000_000_000;

/// The value that `rdtsc` reads at `pc`. In code without block hooks, and before the run begins, only the read itself
/// advances virtual time: else a library that waits for the counter would wait for ever.
fn cycles_seen(pc: u64) -> u64 {
    /// Cycles from one reading to the next.
    const EACH: u64 = 25;
    /// Cycles of a counter of 2 GHz since the machine booted.
    static EARLY: AtomicU64 = AtomicU64::new(UPTIME_SECONDS * 2_000_000_000);
    if !active() {
        return EARLY.fetch_add(EACH, Ordering::Relaxed);
    }
    if crate::code::innermost::is_in_library(pc) {
        hot().spend(EACH * TICKS_PER_CYCLE);
    }
    EARLY.load(Ordering::Relaxed) + now() / TICKS_PER_CYCLE
}

/// `rdtsc` and `rdtscp` fault while a run is simulated; carries one out on the saved registers.
pub fn emulate_rdtsc(registers: &mut [i64; 23]) -> bool {
    let ip = registers[libc::REG_RIP as usize] as *const u8;
    // SAFETY: the instruction there was just executed.
    let bytes = unsafe { core::slice::from_raw_parts(ip, 3) };
    let length = match bytes {
        [0x0f, 0x31, _] => 2,
        [0x0f, 0x01, 0xf9] => 3,
        _ => return false,
    };
    hot().called.set(1);
    crate::account::host::mixed();
    let cycles = cycles_seen(ip as u64);
    registers[libc::REG_RAX as usize] = (cycles & 0xffff_ffff) as i64;
    registers[libc::REG_RDX as usize] = (cycles >> 32) as i64;
    if length == 3 {
        registers[libc::REG_RCX as usize] = if active() { running_cpu() as i64 } else { 0 };
    }
    registers[libc::REG_RIP as usize] += length;
    true
}

/// Makes `rdtsc` fault in this thread, the carrier.
pub fn trap_rdtsc() {
    // SAFETY: the handler is installed.
    unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) };
}
