//! Virtual time as the program sees it.
use crate::engine::{active, engine, now};
use corefold_model::TICKS_PER_CYCLE;

/// What the wall clock says when a run begins: 1 January 2026, so that dates look sane.
pub const EPOCH_SECONDS: i64 = 1_767_225_600;

/// Nanoseconds since the run began.
pub fn nanoseconds() -> u64 {
    let cycles = u128::from(now() / TICKS_PER_CYCLE);
    (cycles * 1_000_000_000 / u128::from(engine().launch.machine.clock_hz.max(1))) as u64
}

/// Ticks that last so many nanoseconds.
pub fn ticks_of(nanoseconds: u64) -> u64 {
    let ticks = u128::from(nanoseconds) * u128::from(engine().launch.machine.clock_hz) * u128::from(TICKS_PER_CYCLE);
    (ticks / 1_000_000_000).min(u128::from(u64::MAX / 4)) as u64
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
    let cycles = if active() { now() / TICKS_PER_CYCLE } else { 0 };
    registers[libc::REG_RAX as usize] = (cycles & 0xffff_ffff) as i64;
    registers[libc::REG_RDX as usize] = (cycles >> 32) as i64;
    if length == 3 {
        registers[libc::REG_RCX as usize] = if active() { engine().sched.cpu as i64 } else { 0 };
    }
    registers[libc::REG_RIP as usize] += length;
    true
}

/// Has the processor fault on `rdtsc` in this thread, the carrier.
pub fn trap_rdtsc() {
    // SAFETY: the handler is installed.
    unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) };
}
