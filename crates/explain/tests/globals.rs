// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables: names, types and paths of fields.
use crate::common::*;

const C: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
struct point { int x, y; };
struct slot { long delta; struct point at; char pad[16]; };
struct counter {
    _Atomic long total;
    struct slot slots[4];
    unsigned ready : 1, mode : 3, rest : 28;
    union { long whole; struct { short low, high; } half; };
    struct { int hidden; };
    pthread_mutex_t lock;
    const volatile int *watched[2][3];
} counter;
typedef struct { long value; } box;
static volatile box boxes[8];
static long plain = 3;
int bump(void) { static long calls; return (int)__atomic_add_fetch(&calls, 1, 0); }
int main(void) { pthread_mutex_lock(&counter.lock); plain++; return bump() + boxes[3].value + counter.total; }
"#;

#[test]
fn fields_of_a_global_structure() {
    let program = Program::new("globals.c", C, &[]);
    let at = program.symbol("counter");
    let paths = |offset: u64, bytes: u8| global_fields(&program, &[(at + offset, bytes)]).remove(0);
    assert_eq!(paths(0, 8), ("counter (globals.c:14)".to_owned(), "counter.total".to_owned()));
    assert_eq!(paths(8, 8).1, "counter.slots[0].delta");
    assert_eq!(paths(8 + 3 * 32 + 12, 4).1, "counter.slots[3].at.y");
    assert_eq!(paths(8 + 32 + 16 + 5, 1).1, "counter.slots[1].pad[5]");
    assert_eq!(paths(8 + 32 + 8, 8).1, "counter.slots[1].at");
    assert_eq!(paths(8 + 32, 16).1, "counter.slots[1].delta…at");
    assert_eq!(paths(8 + 32, 64).1, "counter.slots[1-2]");
    assert_eq!(paths(136, 4).1, "counter.{ready,mode,rest}");
    assert_eq!(paths(139, 1).1, "counter.rest");
    assert_eq!(paths(144, 8).1, "counter.whole");
    assert_eq!(paths(146, 2).1, "counter.half.high");
    assert_eq!(paths(152, 4).1, "counter.hidden");
    assert_eq!(paths(160 + 4, 4).1, "counter.lock");
    assert_eq!(paths(200 + 8 * 4, 8).1, "counter.watched[1][1]");
    assert_eq!(paths(156, 4).1, "counter+0x9c (padding)");
}

#[test]
fn other_variables() {
    let program = Program::new("globals.c", C, &[]);
    let name = |symbol: &str, offset: u64| global_fields(&program, &[(program.symbol(symbol) + offset, 8)]).remove(0).1;
    assert_eq!(name("boxes", 24), "boxes[3].value");
    assert_eq!(name("plain", 0), "plain");
    assert_eq!(name("calls.0", 0), "bump::calls");
}

const CPP: &str = r#"
#include <atomic>
#include <mutex>
namespace ns {
struct nothing {};
struct base { long first; };
struct derived : nothing, base { std::atomic<long> hits; std::mutex lock; long last; };
derived shared;
struct holder { static long count; };
long holder::count = 5;
}
static ns::derived &once() { static ns::derived made; return made; }
int main() { std::lock_guard<std::mutex> guard(ns::shared.lock); ns::holder::count++; return once().hits++ + ns::shared.hits++; }
"#;

#[test]
fn cpp_variables() {
    let program = Program::new("globals.cpp", CPP, &[]);
    let name = |symbol: &str, offset: u64| global_fields(&program, &[(program.symbol(symbol) + offset, 8)]).remove(0).1;
    assert_eq!(name("_ZN2ns6sharedE", 0), "ns::shared.first");
    assert_eq!(name("_ZN2ns6sharedE", 8), "ns::shared.hits");
    assert_eq!(name("_ZN2ns6sharedE", 24), "ns::shared.lock");
    assert_eq!(name("_ZN2ns6sharedE", 56), "ns::shared.last");
    assert_eq!(name("_ZN2ns6holder5countE", 0), "ns::holder::count");
    assert_eq!(name("_ZZL4oncevE4made", 8), "once::made.hits");
}

#[test]
fn older_and_newer_debug_information_say_the_same() {
    for options in
        [&["-gdwarf-4"][..], &["-gdwarf-3", "-gno-strict-dwarf"], &["-gdwarf-5", "-gz"], &["-fdebug-types-section"]]
    {
        let program = Program::new("globals.c", C, options);
        let at = program.symbol("counter");
        let found = global_fields(&program, &[(at + 8 + 3 * 32 + 12, 4)]).remove(0);
        assert_eq!(found.1, "counter.slots[3].at.y", "{options:?}");
        assert_eq!(global_fields(&program, &[(at + 139, 1)]).remove(0).1, "counter.rest", "{options:?}");
    }
}

#[test]
fn without_debug_information_symbols_are_left() {
    let program = Program::new("globals.c", C, &[]).stripped();
    let at = program.symbol("counter");
    let found = global_fields(&program, &[(at, 8), (at + 72, 8)]);
    assert_eq!(found[0], ("counter".to_owned(), "counter".to_owned()));
    assert_eq!(found[1], ("counter".to_owned(), "counter+0x48".to_owned()));
}
