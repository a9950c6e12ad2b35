// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heap objects of C++ programs.
use crate::common::*;

const CPP: &str = r#"
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>
namespace ns {
struct plain { long a, b; };
struct owned { long value; long other; long third; ~owned(); };
template <typename T> struct node { T value; node *next; };
template <typename T> struct pool { T *made; void fill(int n) { made = new T[n]; } };
}
ns::owned::~owned() {}
void *volatile sink;
using namespace ns;

void one() { sink = new plain(); }
void many(int n) { sink = new ns::plain[n]; }
void counted(int n) { sink = new owned[n]; }
void templated() { auto *n = new node<unsigned long>{3, nullptr}; sink = n; }
__attribute__((noinline)) void pooled(pool<plain> &p) { p.fill(8); }
void vector(int n) { std::vector<plain> v(n); sink = v.data(); }
void shared() { auto p = std::make_shared<plain>(); sink = p.get(); }
void unique() { auto p = std::make_unique<plain[]>(4); sink = p.get(); }
void map() { std::map<int, plain> m; m[3].b = 4; sink = &m; }
void malloced() { sink = static_cast<plain *>(malloc(64)); }
int main() {}
"#;

/// Object and field of an access at `offset`; the allocating call is found in the code of any function
/// whose name contains `function`.
fn field(options: &[&str], function: &str, callee: &str, bytes: u64, offset: u64) -> (String, String) {
    let program = Program::new("heap.cpp", CPP, options);
    heap_field(&program, &[program.call(function, callee)], bytes, offset, 8)
}

fn is(found: (String, String), object: &str, field: &str) {
    assert_eq!(found, (object.to_owned(), field.to_owned()));
}

#[test]
fn new_expressions() {
    is(field(&[], "_Z3onev", "_Znwm", 16, 8), "ns::plain at heap.cpp:16 (heap, 16 bytes)", "plain.b");
    is(field(&[], "_Z4manyi", "_Znam", 160, 24), "ns::plain[10] at heap.cpp:17 (heap, 160 bytes)", "plain[1].b");
    is(
        field(&[], "_Z7countedi", "_Znam", 8 + 24 * 3, 40),
        "ns::owned[3] at heap.cpp:18 (heap, 80 bytes)",
        "owned[1].other",
    );
    is(
        field(&[], "_Z9templatedv", "_Znwm", 16, 8),
        "ns::node<unsigned long> at heap.cpp:19 (heap, 16 bytes)",
        "node<unsigned long>.next",
    );
    is(field(&[], "_Z8mallocedv", "malloc", 64, 24), "ns::plain[4] at heap.cpp:25 (heap, 64 bytes)", "plain[1].b");
}

#[test]
fn a_template_argument_is_looked_up() {
    let found = field(&[], "_Z6pooledRN2ns4poolINS_5plainEEE", "_Znam", 128, 24);
    is(found, "ns::plain[8] at heap.cpp:10 (heap, 128 bytes)", "plain[1].b");
}

#[test]
fn containers_and_smart_pointers() {
    is(field(&[], "_Z6vectori", "_Znwm", 160, 24), "ns::plain[10] at heap.cpp:21 (heap, 160 bytes)", "plain[1].b");
    is(field(&[], "_Z6sharedv", "_Znwm", 32, 24), "ns::plain (shared) at heap.cpp:22 (heap, 32 bytes)", "plain.b");
    is(field(&[], "_Z6uniquev", "_Znam", 64, 24), "ns::plain[4] at heap.cpp:23 (heap, 64 bytes)", "plain[1].b");
}
