// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inline assembly: what it does to memory costs what the compiler's own operations cost, and what is not
//! seen of it is said.
use crate::harness::{Report, Simulation, corefold, program_with};
use iced_x86::{Decoder, DecoderOptions, EncodingKind, Instruction, InstructionInfoFactory, Register};
use object::{Object as _, ObjectSection as _};
use serde_json::Value;

fn contended(options: &[&str], what: &str) -> Report {
    let program = program_with("truths/assembly.c", options);
    Simulation::of(&program).cpus("1,8,80").args(&format!("{{cpus}} 8000 {what}")).report()
}

/// Are the throughputs of both builds within `percent` of each other?
#[track_caller]
fn same(what: &str, percent: f64) -> Report {
    let (assembly, builtin) = (contended(&[], what), contended(&["-DBUILTIN"], what));
    for cpus in [1, 8, 80] {
        let off = 100.0 * (assembly.throughput(cpus) / builtin.throughput(cpus) - 1.0).abs();
        assert!(off <= percent, "{what} at {cpus} CPUs: {off:.1} % off");
    }
    assembly
}

#[test]
fn a_locked_add_costs_what_the_builtin_costs_and_is_named() {
    let report = same("counter", 6.0);
    let line =
        report.at(80).lines().find(|line| line.text("object").starts_with("counter (")).expect("the counter's line");
    let site = &line.sites()[0];
    assert_eq!(site["kind"], "atomic rmw");
    let source = include_str!("../programs/truths/assembly.c");
    let statement = source.lines().position(|line| line.contains("xaddq")).expect("the statement") as u64 + 1;
    let innermost = site["inlined"].get(0).unwrap_or(site);
    assert_eq!((innermost["function"].as_str(), innermost["line"].as_u64()), (Some("add"), Some(statement)));
}

#[test]
fn a_lock_of_exchanges_collapses_as_the_builtin_one_does() {
    let report = same("lock", 15.0);
    assert!(report.gain(8, 1) < 0.5 && report.gain(80, 1) < 0.1, "{} {}", report.gain(8, 1), report.gain(80, 1));
    let run = report.at(80);
    assert!(run.share("spin") + run.share("stall") > 0.9);
    assert!(run.lines().next().expect("a line").text("object").starts_with("held (assembly.c:"));
}

/// Nothing but the statement's own loop lets time pass.
#[test]
fn a_loop_within_a_statement_is_a_spin() {
    let report = contended(&[], "loop");
    assert!(report.gain(80, 1) < 0.3, "{}", report.gain(80, 1));
    let lock = &report.at(80).0["locks"][0];
    assert_eq!((lock["kind"].as_str(), lock["name"].as_str()), (Some("spun word"), Some("held")));
}

#[test]
fn unseen_accesses_are_noted_with_their_place() {
    let program = program_with("names/unseen.c", &["-Wl,--gc-sections", "names/unseen_file.S"]);
    let simulated = Simulation::of(&program).cpus("1,2").run();
    assert_eq!(simulated.said.code, Some(0), "{}", simulated.said.err);
    let report = simulated.report();
    let notes = report.at(2).0["notes"].as_array().expect("notes").clone();
    let unseen: Vec<&Value> = notes
        .iter()
        .filter(|note| {
            note["text"].as_str().expect("a text").contains("memory accesses of inline assembly are not seen")
        })
        .collect();
    let [note] = unseen[..] else { panic!("{notes:?}") };
    assert_eq!((note["at"]["function"].as_str(), note["count"].as_u64()), (Some("saved"), Some(3)));
    assert!(note["at"]["file"].as_str().unwrap().ends_with("unseen.c") && note["at"]["line"].as_u64() == Some(12));
    let files =
        notes.iter().filter(|note| note["text"].as_str().unwrap().contains("unseen_file.S holds assembly")).count();
    assert_eq!(files, 1, "{notes:?}");
    assert!(simulated.said.out.contains("COREFOLD_ACCESS_READ"), "{}", simulated.said.out);
}

/// A call around an instruction of inline assembly saves the low halves of xmm0 to xmm15, and other registers only before
/// other code runs (crates/engine/src/registers.rs).
#[test]
fn the_runtime_changes_no_vector_register_above_the_low_halves() {
    let runtime = std::fs::read(corefold().with_file_name("libcorefold_rt.so")).unwrap();
    let runtime = object::File::parse(&*runtime).unwrap();
    let text = runtime.section_by_name(".text").expect("code");
    let mut used = InstructionInfoFactory::new();
    let code = Decoder::with_ip(64, text.data().unwrap(), text.address(), DecoderOptions::NONE);
    let (mut all, mut vectors) = (0, 0);
    for instruction in code {
        all += 1;
        let registers: Vec<Register> =
            used.info(&instruction).used_registers().iter().map(|used| used.register()).collect();
        vectors += u32::from(registers.iter().any(|r| r.is_xmm()));
        let place = instruction.ip();
        assert!(is_saved(&instruction, &registers), "{place:x}: {:?} uses {registers:?}", instruction.code());
    }
    // It was the runtime, and some instructions do use vector registers.
    assert!(all > 100_000 && vectors > 1000, "{all} {vectors}");
}

/// Is all that the instruction may change saved by each call?
fn is_saved(instruction: &Instruction, registers: &[Register]) -> bool {
    // They save and restore the others, or set what calls begin with.
    const SAVING: [&str; 10] =
        ["Xsave64", "Xrstor64", "Emms", "Stmxcsr", "Ldmxcsr", "Fnstcw", "Fldcw", "Fnstsw", "Fnstenv", "Fldenv"];
    // Their flags are in MXCSR.
    const ARITHMETIC: [&str; 17] = [
        "Add", "Addsub", "Cmp", "Comi", "Div", "Dp", "Hadd", "Hsub", "Max", "Min", "Mul", "Rcp", "Round", "Rsqrt",
        "Sqrt", "Sub", "Ucomi",
    ];
    let name = format!("{:?}", instruction.mnemonic());
    let low = |r: &Register| !r.is_vector_register() || r.is_xmm() && r.number() < 16;
    let other = |r: &Register| r.is_st() || r.is_mm() || r.is_k() || r.is_tmm();
    let on_vectors = registers.iter().any(|r| r.is_xmm());
    let stem = ["ss", "sd", "ps", "pd"].iter().find_map(|kind| name.strip_suffix(kind));
    let floating = name.starts_with("Cvt") || stem.is_some_and(|stem| ARITHMETIC.contains(&stem));
    SAVING.contains(&name.as_str())
        || instruction.encoding() == EncodingKind::Legacy
            && registers.iter().all(|r| low(r) && !other(r))
            && !(on_vectors && floating)
            && !name.starts_with('F')
}
