// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a run ended, in words.
use crate::callers;
use crate::memory::{Memory, Spoken};
use crate::space::Space;
use crate::types::{Delay, Ending, ThreadStack};
use corefold_recording::{AccessKind, HeldUp, Holding, Misuse, Run, Running, Status, Unseen, Waiter};

pub(crate) fn ending<'a>(run: &Run, space: &Space<'a>, memory: &Memory<'a>) -> Ending {
    let ending = how_it_ended(run, space, memory);
    // Of a run that ended well, the delays are not shown.
    let held_up = if ending.success { &[][..] } else { &run.held_up };
    Ending { held_up: held_up.iter().map(|held| held_up_in_words(held, run.clock_hz, space)).collect(), ..ending }
}

fn how_it_ended<'a>(run: &Run, space: &Space<'a>, memory: &Memory<'a>) -> Ending {
    let teller = Teller { run, space, memory };
    let (summary, stacks) = match &run.status {
        Status::Unfinished => ("did not finish".to_owned(), Vec::new()),
        Status::Exited(code) => (format!("exited with code {code}"), Vec::new()),
        Status::Crashed { signal, address, thread, stack, overflow } => {
            let name = signal_name(*signal);
            let summary = match *signal {
                ABORT => format!("aborted ({name}) in thread {thread}"),
                fault if FAULTS.contains(&fault) => match address {
                    Some(address) if *overflow => {
                        format!("crashed: stack overflow in thread {thread} ({name} at address {address:#x})")
                    }
                    Some(address) => format!("crashed: {name} at address {address:#x} in thread {thread}"),
                    None => format!("crashed: {name} (sent, not a fault) in thread {thread}"),
                },
                _ => format!("ended by the unhandled signal {name} in thread {thread}"),
            };
            (summary, vec![teller.stack(Some(*thread), stack, Top::Instruction)])
        }
        Status::Deadlock { waiters } => return teller.deadlock(waiters),
        Status::Livelock { spin, running, waiters } => return teller.livelock(*spin, running, waiters),
        Status::UseAfterFree(misuse) => return teller.misuse(misuse),
        Status::TimedOut { running, waiters, unseen, .. } => {
            return teller.timed_out(running, waiters, unseen.as_ref());
        }
        Status::Interrupted { running, waiters } => {
            let summary = "interrupted before it ended".to_owned();
            return Ending { summary, ..teller.timed_out(running, waiters, None) };
        }
        Status::Unsupported { what, stack } => {
            (format!("cannot be simulated: {what}"), vec![teller.stack(None, stack, Top::Call)])
        }
        Status::OutOfMemory { bytes, stack } => {
            (format!("out of memory: {bytes} bytes were requested"), vec![teller.stack(None, stack, Top::Call)])
        }
    };
    Ending { success: run.status == Status::Exited(0), summary, stacks, ..Ending::default() }
}

fn held_up_in_words(held: &HeldUp, clock_hz: u64, space: &Space<'_>) -> Delay {
    let seconds = |cycles: u64| cycles as f64 / clock_hz.max(1) as f64;
    Delay {
        thread: held.thread,
        how: match held.how {
            Holding::Access => "access",
            Holding::Preempted => "preempted",
            Holding::Wake => "wake",
        },
        at_seconds: seconds(held.at),
        seconds: seconds(held.cycles),
        at: callers::place(space, &[held.pc]),
    }
}

/// What the innermost address of a stack is.
enum Top {
    Instruction,
    Call,
}

struct Teller<'a, 'b> {
    run: &'a Run,
    space: &'a Space<'b>,
    memory: &'a Memory<'b>,
}

impl Teller<'_, '_> {
    fn stack(&self, thread: Option<u32>, addresses: &[u64], top: Top) -> ThreadStack {
        // Addresses outside of all modules belong to the runtime; one alone is still shown.
        let known = |pc: &u64| addresses.len() == 1 || self.space.spot(*pc).is_some();
        let frames = addresses.iter().enumerate().filter(|(_, pc)| known(pc)).flat_map(|(depth, pc)| {
            let exact = depth == 0 && matches!(top, Top::Instruction);
            let frames = if exact { self.space.frames_at(*pc) } else { self.space.callers_at(*pc) };
            frames.iter().map(|frame| frame.place()).collect::<Vec<_>>()
        });
        ThreadStack { thread, frames: frames.collect() }
    }

    fn deadlock(&self, waiters: &[Waiter]) -> Ending {
        let mut details: Vec<String> = waiters.iter().map(|waiter| self.wait(waiter)).collect();
        details.extend(circle(waiters).map(|circle| circle_sentence(&circle)));
        let threads = if waiters.len() == 1 { "the only thread waits" } else { "every thread waits for another" };
        Ending {
            success: false,
            summary: format!("deadlock: {threads}"),
            details,
            stacks: waiters.iter().map(|waiter| self.stack(Some(waiter.thread), &waiter.stack, Top::Call)).collect(),
            ..Ending::default()
        }
    }

    fn timed_out(&self, running: &[Running], waiters: &[Waiter], unseen: Option<&Unseen>) -> Ending {
        let ran = running.iter().map(|one| self.stack(Some(one.thread), &one.stack, Top::Call));
        let waited = waiters.iter().map(|waiter| self.stack(Some(waiter.thread), &waiter.stack, Top::Call));
        Ending {
            success: false,
            summary: match unseen {
                Some(_) => "stopped at the time limit, while virtual time stood still".to_owned(),
                None => "stopped at the time limit".to_owned(),
            },
            details: unseen
                .map(|unseen| self.unseen(unseen))
                .into_iter()
                .chain(waiters.iter().map(|waiter| self.wait(waiter)))
                .collect(),
            stacks: ran.chain(waited).collect(),
            ..Ending::default()
        }
    }

    fn unseen(&self, unseen: &Unseen) -> String {
        let place = |pc: u64, word: &str| match self.space.call_place(pc) {
            Some(place) => format!(" {word} {place}"),
            None => String::new(),
        };
        let (thread, at) = (unseen.thread, place(unseen.pc, "at"));
        match unseen.since {
            0 => format!("thread {thread} is in uninstrumented code{at}, and no other thread can run"),
            since => format!(
                "thread {thread} computes{at} without a memory access since{}, and no other thread can run: rebuild with \
                 `corefold cc`, which instruments such loops",
                place(since, "the one at")
            ),
        }
    }

    fn livelock(&self, spin: bool, running: &[Running], waiters: &[Waiter]) -> Ending {
        let top = |one: &Running| callers::place(self.space, &one.stack);
        let verb = if spin { "spins" } else { "runs" };
        let runs = |one: &Running| match top(one) {
            Some(place) => format!("thread {} {verb} at {place}", one.thread),
            None => format!("thread {} {verb}", one.thread),
        };
        let summary = match spin {
            true => "livelock: threads poll memory that no thread writes any more",
            false => "did not end within the limit of virtual time (--longest)",
        };
        let ran = running.iter().map(|one| self.stack(Some(one.thread), &one.stack, Top::Call));
        let waited = waiters.iter().map(|waiter| self.stack(Some(waiter.thread), &waiter.stack, Top::Call));
        Ending {
            success: false,
            summary: summary.to_owned(),
            details: running.iter().map(runs).chain(waiters.iter().map(|waiter| self.wait(waiter))).collect(),
            stacks: ran.chain(waited).collect(),
            ..Ending::default()
        }
    }

    fn misuse(&self, misuse: &Misuse) -> Ending {
        let object = self.memory.at(misuse.address, 1, std::slice::from_ref(&misuse.object));
        let name = match object.spoken() {
            Some(Spoken::Field { name, .. }) => format!("`{name}`"),
            Some(Spoken::Place(place)) => place,
            None => "an object".to_owned(),
        };
        let does = match misuse.access {
            Some(AccessKind::Read | AccessKind::AtomicLoad) => "reads",
            Some(AccessKind::Write | AccessKind::AtomicStore) => "writes",
            Some(AccessKind::Rmw | AccessKind::SplitLock) => "updates",
            None => "frees again",
        };
        let place =
            |stack: &[u64]| callers::place(self.space, stack).map(|place| format!(", at {place}")).unwrap_or_default();
        let site = self.run.allocations.get(misuse.object.site as usize);
        let offset = misuse.address - misuse.object.address;
        let mut details = vec![
            format!("thread {} {does} byte {offset} of {}{}", misuse.thread, misuse.object.bytes, place(&misuse.stack)),
            format!("thread {} had freed it{}", misuse.freed_by, place(&misuse.freed)),
        ];
        details.extend(site.map(|site| format!("it was allocated{}", place(&site.stack))));
        Ending {
            success: false,
            summary: format!("use after free: {name} at {:#x} in thread {}", misuse.address, misuse.thread),
            details,
            stacks: vec![
                self.stack(Some(misuse.thread), &misuse.stack, Top::Call),
                self.stack(Some(misuse.freed_by), &misuse.freed, Top::Call),
            ],
            ..Ending::default()
        }
    }

    /// `thread 3 waits for mutex `b` (held by thread 2) in pthread_mutex_lock, at f (x.c:12)`.
    fn wait(&self, waiter: &Waiter) -> String {
        let (object, joins) = self.awaited(waiter);
        let held = match waiter.held_by.as_slice() {
            [] => String::new(),
            _ if joins => String::new(),
            [one] => format!(" (held by thread {one})"),
            several => {
                format!(" (held by threads {})", several.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
            }
        };
        let at = callers::place(self.space, &waiter.stack).map(|place| format!(", at {place}")).unwrap_or_default();
        format!("thread {} waits for {object}{held} in {}{at}", waiter.thread, waiter.call)
    }

    /// What it waits for, and whether that is a thread's end.
    fn awaited(&self, waiter: &Waiter) -> (String, bool) {
        if waiter.call.contains("join") {
            return (format!("the end of thread {}", waiter.on), true);
        }
        if SIGNAL_WAITS.contains(&waiter.call.as_str()) {
            return ("a signal".to_owned(), false);
        }
        if let Some((_, what)) = NUMBERED.iter().find(|(call, _)| *call == waiter.call) {
            return (format!("{what} {}", waiter.on), false);
        }
        if waiter.call == "sleep" {
            return ("its wake-up time".to_owned(), false);
        }
        match object_kind(&waiter.call) {
            Some(kind) => (self.object_name(kind, waiter.on), false),
            None => (format!("file descriptor {}", waiter.on), false),
        }
    }

    /// With its kind, or what it is in Rust.
    fn object_name(&self, kind: &str, address: u64) -> String {
        let inside = |object: &&corefold_recording::Object| {
            (object.address..object.address + object.bytes.max(1)).contains(&address)
        };
        let objects = self.run.locks.iter().flat_map(|lock| &lock.object);
        let object = objects.chain(self.run.lines.iter().flat_map(|line| &line.objects)).find(inside);
        let found = self.memory.at(address, 1, object.map_or(&[], std::slice::from_ref));
        match found.spoken() {
            Some(Spoken::Field { name, function, lock }) => {
                let function = function.map(|function| format!(" in {function}")).unwrap_or_default();
                format!("{} `{name}`{function}", lock.as_deref().unwrap_or(kind))
            }
            Some(Spoken::Place(place)) => format!("{kind} {place}"),
            None => format!("{kind} at {address:#x}"),
        }
    }
}

/// Calls that wait for what the kernel knows by a number.
const NUMBERED: [(&str, &str); 5] = [
    ("flock", "a lock of file descriptor"),
    ("fcntl", "a lock of file descriptor"),
    ("semop", "semaphore set"),
    ("msgsnd", "room in message queue"),
    ("msgrcv", "message queue"),
];

/// Calls that wait for a signal.
const SIGNAL_WAITS: [&str; 7] =
    ["pause", "sigsuspend", "sigpause", "sigwait", "sigwaitinfo", "sigtimedwait", "a timer's thread"];

/// The kind of object that a call waits for; `None` for those that wait for a file descriptor.
fn object_kind(call: &str) -> Option<&'static str> {
    let kinds = [
        ("mutex", "mutex"),
        ("mtx", "mutex"),
        ("rwlock", "rwlock"),
        ("cond", "condition variable"),
        ("cnd", "condition variable"),
        ("barrier", "barrier"),
        ("spin", "spinlock"),
        ("sem", "semaphore"),
        ("once", "once"),
        ("futex", "futex"),
    ];
    kinds.iter().find(|(part, _)| call.contains(part)).map(|(_, kind)| *kind)
}

/// Threads that wait for each other in a circle, the lowest first.
fn circle(waiters: &[Waiter]) -> Option<Vec<u32>> {
    let next = |thread: u32| {
        let waiter = waiters.iter().find(|waiter| waiter.thread == thread)?;
        waiter.held_by.iter().copied().find(|holder| waiters.iter().any(|other| other.thread == *holder))
    };
    waiters.iter().find_map(|start| {
        let mut path = vec![start.thread];
        while let Some(thread) = next(path[path.len() - 1]) {
            if let Some(first) = path.iter().position(|seen| *seen == thread) {
                let mut circle = path.split_off(first);
                let lowest = circle.iter().enumerate().min_by_key(|(_, thread)| **thread).map_or(0, |(at, _)| at);
                circle.rotate_left(lowest);
                return Some(circle);
            }
            path.push(thread);
        }
        None
    })
}

fn circle_sentence(circle: &[u32]) -> String {
    match circle {
        [one] => format!("thread {one} waits for itself"),
        several => {
            let threads: Vec<String> = several.iter().chain(&several[..1]).map(|t| format!("thread {t}")).collect();
            format!("circular wait: {}", threads.join(" → "))
        }
    }
}

const ABORT: i32 = 6;
/// Signals of faulting instructions.
const FAULTS: [i32; 7] = [0, 4, 5, 7, 8, 11, 31];

/// Linux's names, from 1 on.
const SIGNALS: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
];

fn signal_name(signal: i32) -> String {
    match usize::try_from(signal - 1).ok().and_then(|at| SIGNALS.get(at)) {
        Some(name) => format!("SIG{name}"),
        None => format!("signal {signal}"),
    }
}
