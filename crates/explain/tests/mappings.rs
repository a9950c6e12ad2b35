// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a program maps: its type where the code names one, else its file and the offset there.
use crate::common::*;
use corefold_explain::{HotLine, Storage};
use corefold_recording::*;

const C: &str = r#"
#include <sys/mman.h>
struct slot { long id; long owner; char pad[48]; };
struct head { long length; int lock; };
struct table { union { struct head head; char pad[64]; } u; struct slot slots[1]; };
struct store { struct table *table; char *bytes; } store;
int lock(int fd, size_t size) {
    void *m = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (m == MAP_FAILED)
        return 1;
    store.table = m;
    return 0;
}
struct span { struct span *next; long used; } *spans;
void spans_of(size_t size) {
    spans = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void data(int fd) { store.bytes = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); }
int main(void) { return 0; }
"#;

/// The line around `offset` of what `function` maps.
fn mapped(function: &str, mapping: Mapping, offset: u64) -> HotLine {
    let program = Program::new("maps.c", C, &[]);
    let mut run = program.run();
    let stack = vec![program.call(function, "mmap")];
    run.allocations.push(AllocSite { stack, count: 1, bytes: 8192, live: 1, mapping: Some(mapping) });
    let at = HEAP + offset;
    let access = site(program.symbol("main"), AccessKind::Read, (at & 63) as u8, 4, 2);
    let mut line = line(at & !63, vec![access]);
    line.objects.push(Object { address: HEAP, bytes: 8192, site: 0 });
    run.lines.push(line);
    told(&run).lines.remove(0)
}

fn file(name: &str, offset: u64) -> Mapping {
    Mapping { file: name.into(), offset }
}

#[test]
fn a_mapping_has_the_type_of_the_pointer_that_gets_it() {
    let line = mapped("lock", file("lock.db", 0), 64 + 3 * 64 + 8);
    assert_eq!(line.object, "struct table at maps.c:8 (mapping of lock.db, 8192 bytes)");
    assert_eq!(line.fields[0].name, "table.slots[3].owner");
    assert_eq!(line.objects[0].storage, Storage::Mapping);
}

/// An allocator's: what it hands out is behind its header, and has types that nobody knows.
#[test]
fn a_mapping_is_no_array_of_what_it_begins_with() {
    let line = mapped("spans_of", Mapping::default(), 8);
    assert_eq!(line.object, "struct span at maps.c:16 (anonymous mapping, 8192 bytes)");
    assert_eq!(line.fields[0].name, "span.used");
    assert_eq!(mapped("spans_of", Mapping::default(), 4096 + 8).fields[0].name, "span+0x1008");
}

#[test]
fn what_pads_a_union_is_not_what_is_used() {
    let line = mapped("lock", file("lock.db", 0), 8);
    assert_eq!(line.fields[0].name, "table.u.head.lock");
}

#[test]
fn a_mapping_without_a_type_has_its_file() {
    let line = mapped("data", file("data.db", 0x2000), 0x48);
    assert_eq!(line.object, "mapping of data.db from 0x2000 at maps.c:18 (8192 bytes)");
    assert_eq!(line.fields[0].name, "data.db+0x2048");
}

#[test]
fn a_mapping_without_a_file() {
    let line = mapped("data", Mapping::default(), 0x48);
    assert_eq!(line.object, "anonymous mapping at maps.c:18 (8192 bytes)");
    assert_eq!(line.fields[0].name, "+0x48");
}
