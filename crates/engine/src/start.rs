// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a simulation begins: the runtime takes the place of `__libc_start_main`, reads what the runner
//! wants, moves the program to a stack at a fixed address and lets libc continue there.
use crate::account::freed;
use crate::account::host;
use crate::calls::allocation::arenas;
use crate::calls::allocation::libraries;
use crate::calls::allocation::malloc;
use crate::calls::raw;
use crate::calls::stdio;
use crate::calls::within;
use crate::code::{self, loaded};
use crate::counts::samples::SAMPLES;
use crate::crash;
use crate::engine;
use crate::fs_base;
use crate::hot;
use crate::layout::{BLOCK_BYTES, BLOCK_COSTS, SHADOW, SHADOW_BYTES};
use crate::mappings::mapping;
use crate::neutral_stack;
use crate::parameters;
use crate::recorder::region;
use crate::scheduling::outside::{self, Outside};
use crate::scheduling::{perturb, sched};
use crate::storage::objects;
use crate::storage::relayout;
use crate::sys;
use crate::threads::clock;
use crate::threads::thread;
use core::arch::global_asm;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use corefold_recording::Status;

static READY: AtomicBool = AtomicBool::new(false);

/// Runs before the program's own constructors: the hooks need their tables, simulated or not.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = initialise;

extern "C" fn initialise() {
    if READY.swap(true, Ordering::Relaxed) {
        return;
    }
    let mapped = hot::map() && sys::map_at(SHADOW, SHADOW_BYTES) && sys::map_at(BLOCK_COSTS, BLOCK_BYTES);
    neutral_stack::guard();
    if !mapped {
        sys::engine_fault(
            "cannot reserve address space for the shadow (is `ulimit -v` set, or is the program linked to fixed addresses, \
             without -pie, and larger than 2 GB?)",
        );
    }
}

type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = Option<extern "C" fn()>;

/// What glibc's `__libc_start_main` is called with.
#[repr(C)]
struct StartArguments {
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: Hook,
    fini: Hook,
    rtld_fini: Hook,
    stack_end: *mut c_void,
}

fn libc_start(a: &StartArguments) -> c_int {
    crate::real::real! {
        fn __libc_start_main(main: Main, argc: c_int, argv: *mut *mut c_char, init: Hook, fini: Hook, rtld_fini: Hook,
            stack_end: *mut c_void) -> c_int;
    }
    __libc_start_main(a.main, a.argc, a.argv, a.init, a.fini, a.rtld_fini, a.stack_end)
}

#[unsafe(no_mangle)]
pub extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: Hook,
    fini: Hook,
    rtld_fini: Hook,
    stack_end: *mut c_void,
) -> c_int {
    initialise();
    let mut arguments = StartArguments { main, argc, argv, init, fini, rtld_fini, stack_end };
    let Some(launch) = parameters::launch() else { return libc_start(&arguments) };
    let stack = begin(launch);
    arguments.argv = crate::arguments::place(argc as usize, argv);
    // SAFETY: the stack is mapped and free; `go` does not return.
    unsafe { corefold_call_on(stack, go, (&raw mut arguments).cast()) };
    0
}

extern "C" fn go(arguments: *mut c_void) {
    // SAFETY: on the original stack, which stays.
    libc_start(unsafe { &*arguments.cast::<StartArguments>() });
}

unsafe extern "C" {
    fn corefold_call_on(stack: u64, function: extern "C" fn(*mut c_void), argument: *mut c_void);
}

global_asm!(
    ".globl corefold_call_on",
    ".hidden corefold_call_on",
    "corefold_call_on:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push rbp",
    "mov rbp, rsp",
    "mov rsp, rdi",
    "mov rdi, rdx",
    "call rsi",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
    ".cfi_endproc",
);

/// Sets the simulation up with this thread as its first. Returns the end of the stack it is to use.
fn begin(launch: corefold_launch::Launch) -> u64 {
    fs_base::read_abilities();
    crate::threads::single::learn(code::find());
    loaded::files_changed();
    let freed = launch.seed == 0 || freed::map();
    if !(objects::map() && arenas::map() && freed && mapping::reserve_all()) {
        sys::engine_fault("cannot reserve address space for the program's heap (is `ulimit -v` set?)");
    }
    outside::set(&OUTSIDE);
    objects::begin(launch.cpus);
    SAMPLES.with(|samples| samples.begin(&launch));
    perturb::begin(&launch);
    engine::begin(launch);
    malloc::read_settings();
    relayout::begin();
    let stack = thread::adopt_main();
    fs_base::unregister_rseq();
    crash::install();
    clock::trap_rdtsc();
    sched::adopt_first();
    stdio::give_buffers();
    libraries::find();
    within::redirect();
    loaded::remember();
    raw::catch();
    // SAFETY: registered before the program's own handlers, so it runs after them.
    unsafe { on_exit(at_exit, core::ptr::null_mut()) };
    host::begin();
    stack
}

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Of its code, a process tells eight bits.
extern "C" fn at_exit(code: c_int, _: *mut c_void) {
    region::finish(Status::Exited(code & 0xff));
}

/// What the scheduler leaves to the stand-ins.
static OUTSIDE: Outside = Outside {
    fire: crate::calls::timers::fire,
    resume: crate::threads::timers::resume,
    wait_for_input: crate::calls::io::waiting::wait_for_world,
    look_at_input: crate::calls::io::waiting::glance,
    take_signals: crate::threads::signals::take_in,
    look: crate::threads::signals::delivery::look,
    take_over: crash::take_over,
};
