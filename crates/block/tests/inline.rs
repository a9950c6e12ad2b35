// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hooks in the code itself, as the assembler makes them.
#[path = "support/inline_assembly.rs"]
mod inline_assembly;
#[path = "support/sequences.rs"]
mod sequences;

use corefold_block::inline::{cell_before, recognise};
use corefold_block::{Code, Hook};
use object::{Object, ObjectSection};
use std::process::Command;

/// Accesses whose slow path computes the address again.
const READ_AGAIN: &str = "
	shrq $6, %rdi
	movl 0x7f000000(,%rdi,4), %edi
	andl $-4, %edi
	cmpl 0x100000, %edi
	jne 1f
2:";

const WRITE_AGAIN: &str = "
	shrq $6, %rdi
	movb $1, 0x100030
	movl 0x7f000000(,%rdi,4), %edi
	cmpl 0x100004, %edi
	jne 1f
2:";

/// A sequence, its jumps to the slow path, and whether it has a cell.
const SEQUENCES: [(Hook, &str, usize, usize); 7] = [
    (Hook::Access, sequences::READ, 1, 0),
    (Hook::Access, sequences::WRITE, 1, 0),
    (Hook::Access, READ_AGAIN, 1, 0),
    (Hook::Access, WRITE_AGAIN, 1, 0),
    (Hook::Block, sequences::BLOCK, 2, 1),
    (Hook::Access, sequences::ENTRY, 0, 0),
    (Hook::Access, sequences::EXIT, 0, 0),
];

/// The code of `sequence` when its slow path is near or far.
fn assemble(sequence: &str, far: bool) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let (source, output) = (directory.path().join("x.s"), directory.path().join("x.o"));
    let (distance, skip) = if far { (1000, "\t.skip 1000") } else { (0, "") };
    std::fs::write(&source, format!("{sequence}\n{skip}\n1:\n")).unwrap();
    let status = Command::new("gcc").arg("-c").arg(&source).arg("-o").arg(&output).status().expect("gcc runs");
    assert!(status.success(), "{sequence}");
    let file = std::fs::read(&output).unwrap();
    let file = object::File::parse(file.as_slice()).unwrap();
    let code = file.section_by_name(".text").unwrap().data().unwrap();
    code[..code.len() - distance].to_vec()
}

#[test]
fn sequences_are_recognised_whole() {
    for (hook, sequence, jumps, _) in SEQUENCES {
        let (near, far) = (assemble(sequence, false), assemble(sequence, true));
        assert_eq!(far.len() - near.len(), jumps * 4, "{sequence}");
        for code in [near, far] {
            let followed = [code.as_slice(), &[0xc3, 0x90]].concat();
            assert_eq!(recognise(&followed), Some((hook, code.len())), "{sequence}");
        }
    }
}

/// Calls around instructions of inline assembly: nothing in them is near or far.
const AROUND: [(Hook, &str); 6] = [
    (Hook::Ahead, inline_assembly::STACK),
    (Hook::Ahead, inline_assembly::SYMBOL),
    (Hook::Ahead, inline_assembly::ABSOLUTE),
    (Hook::Ahead, inline_assembly::FENCE),
    (Hook::Beside, inline_assembly::DONE),
    (Hook::Head, inline_assembly::BLOCK),
];

#[test]
fn calls_around_inline_assembly_are_recognised_whole() {
    for (hook, sequence) in AROUND {
        let code = assemble(sequence, false);
        let followed = [code.as_slice(), &[0xc3, 0x90]].concat();
        assert_eq!(recognise(&followed), Some((hook, code.len())), "{sequence}");
        for length in 0..code.len() {
            assert_eq!(recognise(&code[..length]), None, "{length} bytes of {sequence}");
        }
    }
}

#[test]
fn a_part_of_a_sequence_is_no_hook() {
    for (_, sequence, ..) in SEQUENCES {
        let code = assemble(sequence, true);
        for length in 0..code.len() {
            assert_eq!(recognise(&code[..length]), None, "{length} bytes of {sequence}");
        }
    }
}

/// Only distances may differ from site to site.
#[test]
fn code_that_differs_is_no_hook() {
    for (_, sequence, jumps, cells) in SEQUENCES {
        let code = assemble(sequence, true);
        let recognised = |at: &usize| {
            let mut other = code.clone();
            other[*at] ^= 1;
            recognise(&other).is_some()
        };
        let free = (0..code.len()).filter(recognised).count();
        assert_eq!(free, (jumps + cells) * 4, "{sequence}");
    }
}

/// Code that is mapped at an address.
struct At(u64, Vec<u8>);

impl Code for At {
    fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let from = address.checked_sub(self.0).map_or(self.1.len(), |from| (from as usize).min(self.1.len()));
        &self.1[from..(from + len).min(self.1.len())]
    }

    fn hook(&self, _: u64) -> Option<Hook> {
        None
    }
}

/// From the end of a block's hook, where samples are taken, its cell is found, however long its jumps are.
#[test]
fn a_blocks_cell_is_found_from_its_end() {
    for far in [false, true] {
        let mut hook = assemble(sequences::BLOCK, far);
        hook[3..7].copy_from_slice(&0x1234i32.to_le_bytes());
        let end = 0x5000 + 100 + hook.len() as u64;
        let code = At(0x5000, [vec![0x90; 100], hook, vec![0x90; 100]].concat());
        assert_eq!(cell_before(&code, end), Some(0x5000 + 107 + 0x1234));
        assert_eq!(cell_before(&code, end + 1), None);
        assert_eq!(cell_before(&code, 0x5000), None);
    }
}
