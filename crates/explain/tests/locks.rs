// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks, labels, and how runs end.
use crate::common::*;
use corefold_recording::*;

const C: &str = r#"
#include <pthread.h>
#include <stdlib.h>
struct table { long used; pthread_mutex_t guard; };
pthread_mutex_t a, b;
struct table *made;
void make(void) { made = malloc(sizeof(struct table)); }
void first(void) {
    pthread_mutex_lock(&b);
    rand();
}
void second(void) { pthread_mutex_lock(&a); rand(); }
int main(void) { return 0; }
pthread_mutex_t *two;
void alone(void) { two = malloc(2 * sizeof(pthread_mutex_t)); }
"#;

fn program() -> Program {
    Program::new("locks.c", C, &[])
}

fn lock(address: u64, wait_pc: u64, object: Option<Object>) -> Lock {
    Lock {
        address,
        kind: LockKind::Mutex,
        name: String::new(),
        object,
        acquisitions: 10,
        contended: 5,
        spun_on: None,
        wait_cycles: 1000 - address % 7,
        start_cycles: 0,
        hold_cycles: 3,
        wait_pc,
        held_waiting: Vec::new(),
        wait_callers: Vec::new(),
        meetings: Meetings::default(),
    }
}

fn names(run: &Run) -> Vec<String> {
    let mut locks = told(run).locks;
    locks.sort_by_key(|lock| lock.address);
    locks.into_iter().map(|lock| lock.name).collect()
}

#[test]
fn locks_have_the_name_of_their_memory() {
    let program = program();
    let mut run = program.run();
    let pc = program.call("first", "pthread_mutex_lock");
    let object = Object { address: HEAP, bytes: 48, site: 0 };
    run.allocations.push(AllocSite {
        stack: vec![program.call("make", "malloc")],
        count: 1,
        bytes: 48,
        ..AllocSite::default()
    });
    run.locks = vec![lock(0x9000, pc, None), lock(program.symbol("a"), pc, None), lock(HEAP + 8, pc, Some(object))];
    assert_eq!(names(&run), ["mutex at 0x9000 waited for in first", "a", "table.guard"]);
    let waited = told(&run).locks[0].waited_at.clone().unwrap();
    assert_eq!(waited.to_string(), "first (locks.c:9)");
    run.allocations[0].stack = vec![pc];
    assert_eq!(names(&run)[2], "mutex at +0x8 of object at locks.c:9 (heap, 48 bytes)");
}

/// One of some that have the same type, and no structure around them.
#[test]
fn a_lock_that_is_an_object_by_itself_has_the_place_where_it_was_made() {
    let program = program();
    let mut run = program.run();
    let pc = program.call("first", "pthread_mutex_lock");
    let stack = vec![program.call("alone", "malloc")];
    run.allocations.push(AllocSite { stack, count: 1, bytes: 80, ..AllocSite::default() });
    run.locks = [0, 40].map(|at| lock(HEAP + at, pc, Some(Object { address: HEAP, bytes: 80, site: 0 }))).into();
    assert_eq!(names(&run), ["pthread_mutex_t[0] at locks.c:15", "pthread_mutex_t[1] at locks.c:15"]);
}

#[test]
fn labels_win() {
    let program = program();
    let mut run = program.run();
    run.allocations.push(AllocSite {
        stack: vec![program.call("make", "malloc")],
        count: 1,
        bytes: 48,
        ..AllocSite::default()
    });
    let object = Object { address: HEAP, bytes: 48, site: 0 };
    run.locks = vec![lock(program.symbol("a"), 0, None), lock(HEAP + 8, 0, Some(object.clone()))];
    let label = |address: u64, bytes: u64, name: &str| Label { address, bytes, name: name.to_owned(), stride: 0 };
    run.labels = vec![label(program.symbol("a"), 40, "the big lock"), label(HEAP, 48, "symbols")];
    assert_eq!(names(&run), ["the big lock", "symbols.guard"]);
    run.labels.push(label(HEAP + 8, 40, "symbol lock"));
    assert_eq!(names(&run), ["the big lock", "symbol lock"]);
    run.labels = vec![label(0x9000, 16, "mapped")];
    run.locks = vec![lock(0x9000, 0, None), lock(0x9008, 0, None)];
    assert_eq!(names(&run), ["mapped", "mapped+0x8"]);
}

#[test]
fn a_deadlock_is_told() {
    let program = program();
    let mut run = program.run();
    let waiter = |thread, call: &str, on, held_by: &[u32], pc: u64| Waiter {
        thread,
        call: call.to_owned(),
        on,
        held_by: held_by.to_vec(),
        stack: vec![pc],
    };
    let (first, second) = (program.call("first", "pthread_mutex_lock"), program.call("second", "pthread_mutex_lock"));
    run.status = Status::Deadlock {
        waiters: vec![
            waiter(0, "pthread_join", 3, &[3], program.symbol("main") + 1),
            waiter(3, "pthread_mutex_lock", program.symbol("b"), &[2], first),
            waiter(2, "pthread_mutex_lock", program.symbol("a"), &[3], second),
            waiter(4, "read", 7, &[], program.symbol("main") + 1),
        ],
    };
    let ending = told(&run).ending;
    assert!(!ending.success);
    assert_eq!(
        ending.details,
        [
            "thread 0 waits for the end of thread 3 in pthread_join, at main (locks.c:13)",
            "thread 3 waits for mutex `b` (held by thread 2) in pthread_mutex_lock, at first (locks.c:9)",
            "thread 2 waits for mutex `a` (held by thread 3) in pthread_mutex_lock, at second (locks.c:12)",
            "thread 4 waits for file descriptor 7 in read, at main (locks.c:13)",
            "circular wait: thread 2 → thread 3 → thread 2",
        ]
    );
    assert_eq!(ending.stacks.len(), 4);
}

#[test]
fn a_crash_has_the_stack_of_its_thread() {
    let program = program();
    let mut run = program.run();
    // The last is none of the program's: what starts threads in the simulation.
    let stack = vec![program.symbol("second"), program.call("first", "pthread_mutex_lock"), 0x7fff_0000_0000];
    run.status = Status::Crashed { signal: 11, address: Some(0x10), thread: 4, stack, overflow: false };
    let ending = told(&run).ending;
    assert_eq!(ending.summary, "crashed: SIGSEGV at address 0x10 in thread 4");
    let frames: Vec<String> = ending.stacks[0].frames.iter().map(ToString::to_string).collect();
    assert_eq!(frames, ["second (locks.c:12)", "first (locks.c:9)"]);
}

#[test]
fn other_endings() {
    let summary = |status: Status| {
        let mut run = program().run();
        run.status = status;
        let ending = told(&run).ending;
        (ending.success, ending.summary)
    };
    assert_eq!(summary(Status::Exited(0)), (true, "exited with code 0".to_owned()));
    assert_eq!(summary(Status::Exited(3)), (false, "exited with code 3".to_owned()));
    assert!(!summary(Status::Unfinished).0);
    assert_eq!(summary(Status::OutOfMemory { bytes: 12, stack: vec![] }).1, "out of memory: 12 bytes were requested");
}
