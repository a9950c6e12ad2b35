// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heap objects of C programs: their types from the code that allocates them.
use crate::common::*;
use corefold_recording::{AccessKind, AllocSite, Module, Object};

const C: &str = r#"
#include <stdlib.h>
#include <stdio.h>
struct slot { long delta; char pad[24]; };
struct pcc { long total; struct slot slots[4]; };
struct list { long length; struct slot items[]; };
typedef struct { int a, b; } pair;
pair some_pair;
struct owner { struct pcc *mine; struct slot **table; void *anything; };
void *sink;

void *named(void) { return sink = malloc(sizeof(struct pcc)); }
void *typedefed(size_t n) { return sink = calloc(n, sizeof(pair)); }
struct pcc *deref(void) { struct pcc *p; p = malloc(sizeof *p); sink = p; return p; }
void member(struct owner *o) { o->mine = malloc(sizeof(*o->mine)); }
void row(struct owner *o, size_t n) {
    o->table = malloc(n *
        /* one for each; not sizeof(long) */ sizeof(o->table[0]));
}
void casted(size_t bytes) { sink = (struct slot *)malloc(bytes); }
void assigned(struct owner *o, size_t bytes) { o->mine = malloc(bytes); }
void aligned(size_t n) { struct slot *s = aligned_alloc(64, (n * sizeof(struct slot) + 63) & ~63ul); sink = s; }
void posix(struct owner *o) { if (posix_memalign((void **)&o->mine, 64, 136)) abort(); }
struct list *flexible(int n) {
    struct list *l = malloc(sizeof(*l) + n * sizeof(struct slot));
    sink = l; return l;
}
void tail(size_t n) { sink = malloc(sizeof(struct pcc) + n); }
__attribute__((noinline)) void *xmalloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
void wrapped(void) { struct slot *s = xmalloc(sizeof(struct slot)); sink = s; }
#define NEW(T) ((T *)xmalloc(sizeof(T)))
void macro(void) { sink = NEW(struct slot); }
void unknown(size_t bytes) { sink = malloc(bytes); }
void bytes(void) { char *text = malloc(64); sink = text; }
int both(struct owner *o) {
    if (!(o->mine = malloc(sizeof *o->mine)) ||
        !(o->table = calloc(4, sizeof *o->table))) return 1;
    return 0;
}
void passed_on(struct owner *o, size_t n) {
    void *p = malloc(n);
    if (!p)
        abort();
    o->mine = p;
}
void figures(struct owner *o) { o->mine = aligned_alloc(64, 320); }
int main(int argc, char **argv) { char *p = malloc(33); sink = p; return argc + !argv; }
"#;

fn program() -> Program {
    Program::new("heap.c", C, &[])
}

/// Object and field for an access of 8 bytes at `offset`, allocated by `function`'s call of `callee`.
fn field(function: &str, callee: &str, bytes: u64, offset: u64) -> (String, String) {
    let program = program();
    heap_field(&program, &[program.call(function, callee)], bytes, offset, 8)
}

fn is(found: (String, String), object: &str, field: &str) {
    assert_eq!(found, (object.to_owned(), field.to_owned()));
}

#[test]
fn a_type_named_by_sizeof() {
    is(field("named", "malloc", 136, 40), "struct pcc at heap.c:12 (heap, 136 bytes)", "pcc.slots[1].delta");
    is(field("typedefed", "calloc", 80, 24), "pair[10] at heap.c:13 (heap, 80 bytes)", "pair[3]");
}

#[test]
fn an_expression_under_sizeof() {
    is(field("deref", "malloc", 136, 0), "struct pcc at heap.c:14 (heap, 136 bytes)", "pcc.total");
    is(field("member", "malloc", 136, 0), "struct pcc at heap.c:15 (heap, 136 bytes)", "pcc.total");
    is(field("row", "malloc", 80, 16), "struct slot *[10] at heap.c:17 (heap, 80 bytes)", "(slot *)[2]");
}

#[test]
fn a_cast_and_an_assignment() {
    is(field("casted", "malloc", 64, 32), "struct slot[2] at heap.c:20 (heap, 64 bytes)", "slot[1].delta");
    is(field("assigned", "malloc", 136, 0), "struct pcc at heap.c:21 (heap, 136 bytes)", "pcc.total");
    is(field("posix", "posix_memalign", 136, 0), "struct pcc at heap.c:23 (heap, 136 bytes)", "pcc.total");
}

#[test]
fn a_request_that_was_rounded_up() {
    is(field("aligned", "aligned_alloc", 128, 64), "struct slot[4] at heap.c:22 (heap, 128 bytes)", "slot[2].delta");
}

#[test]
fn a_flexible_array_and_a_tail() {
    is(
        field("flexible", "malloc", 8 + 3 * 32, 72),
        "struct list at heap.c:25 (heap, 104 bytes)",
        "list.items[2].delta",
    );
    is(field("tail", "malloc", 136 + 40, 144), "struct pcc at heap.c:28 (heap, 176 bytes)", "pcc+0x90");
}

#[test]
fn two_allocations_in_one_statement() {
    is(field("both", "malloc", 136, 0), "struct pcc at heap.c:36 (heap, 136 bytes)", "pcc.total");
    is(field("both", "calloc", 32, 8), "struct slot *[4] at heap.c:37 (heap, 32 bytes)", "(slot *)[1]");
}

#[test]
fn through_a_wrapper() {
    let program = program();
    let inner = program.call("xmalloc", "malloc");
    let by = |function: &str| heap_field(&program, &[inner, program.call(function, "xmalloc")], 32, 0, 8);
    is(by("wrapped"), "struct slot at heap.c:30 (heap, 32 bytes)", "slot.delta");
    is(by("macro"), "struct slot at heap.c:32 (heap, 32 bytes)", "slot.delta");
}

#[test]
fn what_no_code_names_is_left_unnamed() {
    is(field("unknown", "malloc", 64, 24), "object at heap.c:33 (heap, 64 bytes)", "+0x18");
    is(field("bytes", "malloc", 64, 24), "object at heap.c:34 (heap, 64 bytes)", "+0x18");
    is(field("assigned", "malloc", 100, 24), "object at heap.c:21 (heap, 100 bytes)", "+0x18");
}

/// What an allocation in `deref` is called, and the notes.
fn of_deref(program: &Program) -> (String, Vec<String>) {
    let mut run = program.run();
    let stack = vec![program.call("deref", "malloc")];
    run.allocations.push(AllocSite { stack, count: 1, bytes: 136, ..AllocSite::default() });
    let mut line = line(HEAP, vec![site(program.symbol("main"), AccessKind::Read, 0, 8, 2)]);
    line.objects.push(Object { address: HEAP, bytes: 136, site: 0 });
    run.lines.push(line);
    let mut explained = told(&run);
    (explained.lines.remove(0).object, explained.run.notes.into_iter().map(|note| note.text).collect())
}

#[test]
fn without_source_the_type_is_not_known_and_a_note_says_so() {
    let unknown = "object at heap.c:14 (heap, 136 bytes)";
    let (object, notes) = of_deref(&program().without_source("heap.c"));
    assert_eq!(object, unknown);
    assert!(notes.iter().any(|note| note.contains("heap.c: it cannot be read")), "{notes:?}");
    // What was edited since may say something else by now.
    let edited = program();
    edited.touch("heap.c");
    let (object, notes) = of_deref(&edited);
    assert_eq!(object, unknown);
    assert!(notes.iter().any(|note| note.contains("heap.c: it is newer than the program")), "{notes:?}");
    assert_eq!(of_deref(&program()), ("struct pcc at heap.c:14 (heap, 136 bytes)".to_owned(), vec![]));
}

#[test]
fn a_size_in_figures_has_the_type_of_the_pointer_that_it_is_assigned_to() {
    is(
        field("figures", "aligned_alloc", 320, 144),
        "struct pcc[2] at heap.c:46 (heap, 320 bytes)",
        "pcc[1].slots[0].delta",
    );
}

#[test]
fn nobody_hands_out_memory_to_the_c_library() {
    let program = program();
    let libc = Module {
        path: "/lib/x86_64-linux-gnu/libc.so.6".into(),
        base: HEAP,
        start: HEAP,
        end: HEAP + 0x20_0000,
        build_id: vec![],
    };
    let mut run = program.run();
    run.modules.push(libc);
    let stack = vec![program.call("main", "malloc"), HEAP + 0x2_7249];
    run.allocations.push(AllocSite { stack, count: 1, bytes: 33, ..AllocSite::default() });
    let mut line = line(HEAP, vec![site(program.symbol("main"), AccessKind::Read, 0, 8, 2)]);
    line.objects.push(Object { address: HEAP, bytes: 33, site: 0 });
    run.lines.push(line);
    assert_eq!(told(&run).lines[0].object, "object at heap.c:47 (heap, 33 bytes)");
}

#[test]
fn without_debug_information_the_function_is_left() {
    let program = program().stripped();
    let found = heap_field(&program, &[program.call("named", "malloc")], 136, 8, 8);
    is(found, "object at named (heap, 136 bytes)", "+0x8");
}

#[test]
fn a_function_whose_code_the_compiler_shares_with_another() {
    let program = Program::new("heap.c", C, &["-fipa-icf"]);
    let found = |function: &str, bytes: u64| heap_field(&program, &[program.call(function, "malloc")], bytes, 0, 8);
    is(found("deref", 136), "struct pcc at heap.c:14 (heap, 136 bytes)", "pcc.total");
    is(found("unknown", 64), "object at heap.c:33 (heap, 64 bytes)", "+0x0");
}

#[test]
fn a_result_that_is_passed_on() {
    is(field("passed_on", "malloc", 136, 0), "struct pcc at heap.c:41 (heap, 136 bytes)", "pcc.total");
}
