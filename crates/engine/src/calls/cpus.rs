// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine as the program asks for it: how many CPUs, and which one it is on.
use crate::calls::topology::MEMORY_KB;
use crate::engine::{active, charge, launch, running_cpu};
use crate::real::real;
use crate::scheduling::sched::enter_kernel;
use crate::stand_in::stand_ins;
use crate::threads::clock;
use crate::threads::cpus::count;
use core::ffi::{c_int, c_long, c_uint};

/// Cycles of reading the CPU's number from the thread's rseq area, as glibc does.
const READ_NUMBER: u32 = 4;
/// Memory that the machine seems to have, in pages: programs size their caches by it, and the host's
/// would make runs differ. Twice what seems free.
const PAGES: c_long = (MEMORY_KB / 4) as c_long;

#[unsafe(no_mangle)]
pub extern "C" fn get_nprocs() -> c_int {
    real! { fn get_nprocs() -> c_int; }
    count().map_or_else(get_nprocs, |count| count as c_int)
}

#[unsafe(no_mangle)]
pub extern "C" fn get_nprocs_conf() -> c_int {
    real! { fn get_nprocs_conf() -> c_int; }
    count().map_or_else(get_nprocs_conf, |count| count as c_int)
}

#[unsafe(no_mangle)]
pub extern "C" fn sysconf(name: c_int) -> c_long {
    real! { fn sysconf(name: c_int) -> c_long; }
    match (name, count()) {
        (libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF, Some(count)) => c_long::from(count),
        _ if active() => of_machine(name).unwrap_or_else(|| sysconf(name)),
        _ => sysconf(name),
    }
}

/// What the simulated machine answers.
fn of_machine(name: c_int) -> Option<c_long> {
    Some(match name {
        libc::_SC_LEVEL1_DCACHE_LINESIZE | libc::_SC_LEVEL2_CACHE_LINESIZE | libc::_SC_LEVEL3_CACHE_LINESIZE => {
            c_long::from(launch().machine.line_bytes)
        }
        libc::_SC_PHYS_PAGES => PAGES,
        libc::_SC_AVPHYS_PAGES => PAGES / 2,
        _ => return None,
    })
}

stand_ins! {
    /// Nothing else runs on the machine.
    fn getloadavg(loads: *mut f64, count: c_int) -> c_int {
        enter_kernel();
        let count = count.clamp(0, 3);
        // SAFETY: the caller's array.
        (0..count as usize).for_each(|i| unsafe { *loads.add(i) = 0.0 });
        count
    }

    fn sysinfo(into: *mut libc::sysinfo) -> c_int {
        enter_kernel();
        // SAFETY: the caller's variable; a zeroed one is valid.
        let into = unsafe {
            *into = core::mem::zeroed();
            &mut *into
        };
        into.uptime = (clock::uptime() / clock::NANOSECONDS) as c_long;
        into.totalram = MEMORY_KB << 10;
        into.freeram = into.totalram / 2;
        into.procs = clock::threads() as u16;
        into.mem_unit = 1;
        0
    }

    fn sched_getcpu() -> c_int {
        charge(READ_NUMBER);
        running_cpu() as c_int
    }

    fn getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_int {
        charge(launch().machine.system.clock_read);
        let here = running_cpu() as c_uint;
        // SAFETY: the caller's variables.
        unsafe {
            if !cpu.is_null() {
                *cpu = here;
            }
            if !node.is_null() {
                *node = launch().machine.socket_of(here);
            }
        }
        0
    }

    fn get_phys_pages() -> c_long {
        PAGES
    }

    fn get_avphys_pages() -> c_long {
        PAGES / 2
    }

    /// The bytes that the kernel made up for this process would differ from run to run.
    fn getauxval(key: u64) -> u64 {
        match key {
            libc::AT_RANDOM => crate::calls::random::sixteen_bytes() as u64,
            _ => own(key),
        }
    }
}
