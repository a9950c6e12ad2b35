// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables on threads' stacks.
use crate::common::*;
use corefold_recording::*;

/// The top of the stack of thread 2, if nobody used the memory before.
const TOP: u64 = 0x4000_0000_0000 + 3 * (32 << 20);

const C: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
struct queue { long head, length; };
void out(const char *name, void *cfa, void *at) { printf("%s %p %p\n", name, cfa, at); }
static inline __attribute__((always_inline)) void inner(void *cfa, int n) {
    long within = n;
    out("within", cfa, &within);
    getppid();
}
int main(int argc, char **argv) {
    void *cfa = __builtin_dwarf_cfa();
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    struct queue jobs[4] = {0};
    out("m", cfa, &m);
    pthread_mutex_lock(&m);
    out("jobs", cfa, jobs);
    { long first[40]; out("first", cfa, first); getpid(); }
    { long second[40]; out("second", cfa, second); pthread_mutex_unlock(&m); }
    inner(cfa, argc);
    return 0;
}
"#;

/// Where things lie in a run of `program` that has `main` at the top of a stack.
struct Laid {
    cfa: u64,
    places: Vec<(String, u64)>,
}

impl Laid {
    fn new(program: &Program) -> Laid {
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let (mut cfa, mut places) = (0, Vec::new());
        for line in run(&mut std::process::Command::new(&program.path)).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let real = number(words[1]);
            // Functions that align their stack see to the lowest bits.
            cfa = TOP - 0x4000 + real % 4096;
            places.push((words[0].to_owned(), cfa - (real - number(words[2]))));
        }
        Laid { cfa, places }
    }

    fn at(&self, name: &str) -> u64 {
        self.places.iter().find(|place| place.0 == name).unwrap().1
    }
}

fn frame(cfa: u64, pc: u64) -> Frame {
    Frame { cfa, pc, thread: 7 }
}

/// Object and field that 8 bytes at `address` are.
fn named(program: &Program, frames: &[Frame], address: u64) -> (String, String) {
    let mut run = program.run();
    run.frames = frames.to_vec();
    let site = site(program.symbol("main"), AccessKind::Read, (address & 63) as u8, 8, 2);
    run.lines.push(line(address & !63, vec![site]));
    let line = told(&run).lines.remove(0);
    (line.object, line.fields[0].name.clone())
}

#[test]
fn variables_and_their_fields() {
    let program = Program::new("stack.c", C, &[]);
    let laid = Laid::new(&program);
    let frames = [frame(laid.cfa, program.call("main", "pthread_mutex_lock")), frame(TOP - 16, program.symbol("out"))];
    let named = |address| named(&program, &frames, address);
    assert_eq!(named(laid.at("m")), ("m in main (stack of thread 7, stack.c:14)".to_owned(), "m".to_owned()));
    assert_eq!(named(laid.at("m") + 8).1, "m");
    assert_eq!(named(laid.at("jobs") + 24).1, "jobs[1].length");
    let program_run = Run { frames: frames.to_vec(), ..program.run() };
    let mut run = Run {
        lines: vec![line(laid.at("m") & !63, vec![site(0, AccessKind::Rmw, (laid.at("m") & 63) as u8, 4, 2)])],
        ..program_run
    };
    let use_of = told(&run).lines[0].objects[0].clone();
    assert_eq!(
        (use_of.storage, use_of.type_name.as_deref(), use_of.bytes),
        (corefold_explain::Storage::Stack, Some("pthread_mutex_t"), 40)
    );
    run.frames.clear();
    assert_eq!(told(&run).lines[0].object, "stack of thread 2");
}

#[test]
fn variables_that_take_turns_are_told_by_the_place_of_the_function() {
    let program = Program::new("stack.c", C, &[]);
    let laid = Laid::new(&program);
    assert_eq!(laid.at("first"), laid.at("second"), "the compiler does not reuse the bytes");
    let field = |callee| named(&program, &[frame(laid.cfa, program.call("main", callee))], laid.at("first") + 16).1;
    assert_eq!(field("getpid"), "first[2]");
    assert_eq!(field("pthread_mutex_unlock"), "second[2]");
}

#[test]
fn variables_of_inlined_functions_lie_in_the_outer_frame() {
    let program = Program::new("stack.c", C, &[]);
    let laid = Laid::new(&program);
    let found = named(&program, &[frame(laid.cfa, program.call("main", "getppid"))], laid.at("within"));
    assert_eq!(found, ("within in inner (stack of thread 7, stack.c:8)".to_owned(), "within".to_owned()));
}

#[test]
fn what_is_no_variable_has_its_function() {
    let program = Program::new("stack.c", C, &[]);
    let laid = Laid::new(&program);
    let pc = program.call("main", "pthread_mutex_lock");
    let below = laid.cfa - 0x3000;
    let found = named(&program, &[frame(laid.cfa, pc)], below);
    assert_eq!(found, ("stack of thread 7, in main (stack.c:12)".to_owned(), "cfa-0x3000".to_owned()));
    let found = named(&program.stripped(), &[frame(laid.cfa, pc)], laid.at("m"));
    assert_eq!(found.0, "stack of thread 7, in main");
}

#[test]
fn locks() {
    let program = Program::new("stack.c", C, &[]);
    let laid = Laid::new(&program);
    let pc = program.call("main", "pthread_mutex_lock");
    let mut run = program.run();
    run.frames = vec![frame(laid.cfa, pc)];
    let lock = |address| Lock {
        address,
        kind: LockKind::Mutex,
        name: String::new(),
        object: None,
        acquisitions: 2,
        contended: 1,
        spun_on: None,
        wait_cycles: address & 0xfff_ffff,
        start_cycles: 0,
        hold_cycles: 1,
        wait_pc: pc,
        held_waiting: Vec::new(),
        wait_callers: Vec::new(),
        meetings: Meetings::default(),
    };
    run.locks = vec![lock(laid.at("m")), lock(laid.cfa - 0x3000), lock(TOP - 64)];
    let waiter =
        Waiter { thread: 0, call: "pthread_mutex_lock".to_owned(), on: laid.at("m"), held_by: vec![], stack: vec![pc] };
    run.status = Status::Deadlock { waiters: vec![waiter] };
    let explained = told(&run);
    let names: Vec<&str> = explained.locks.iter().map(|lock| lock.name.as_str()).collect();
    assert_eq!(names, ["mutex on stack of thread 2", "m in main", "mutex on stack of thread 7, in main (stack.c:12)"]);
    assert_eq!(
        explained.ending.details[0],
        "thread 0 waits for mutex `m` in main in pthread_mutex_lock, at main (stack.c:17)"
    );
}

const CPP: &str = r#"
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
struct alignas(64) slot { std::atomic<long> hits{0}; };
__attribute__((noinline)) void out(const char *name, void *cfa, const void *at) { std::printf("%s %p %p\n", name, cfa, at); }
int main() {
    void *cfa = __builtin_dwarf_cfa();
    slot slots[3];
    std::mutex m;
    long sum = 0;
    std::thread other([&] { std::lock_guard guard(m); sum++; slots[1].hits++; });
    other.join();
    out("slots", cfa, slots);
    out("m", cfa, &m);
    out("sum", cfa, &sum);
}
"#;

#[test]
fn what_lambdas_capture_is_their_outer_functions() {
    for options in [&["-std=c++17"][..], &["-std=c++17", "-O0"], &["-std=c++17", "-fno-omit-frame-pointer"]] {
        let program = Program::new("stack.cpp", CPP, options);
        let laid = Laid::new(&program);
        let pc = program.calls("main", "_ZNSt6thread4joinEv")[0];
        let named = |address| named(&program, &[frame(laid.cfa, pc)], address);
        assert_eq!(named(laid.at("sum")).0, "sum in main (stack of thread 7, stack.cpp:12)", "{options:?}");
        assert_eq!(named(laid.at("m")).1, "m", "{options:?}");
        assert_eq!(named(laid.at("slots") + 64).1, "slots[1].hits", "{options:?}");
    }
}
