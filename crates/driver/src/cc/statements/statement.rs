// SPDX-License-Identifier: MIT OR Apache-2.0
//! One asm statement: what stands around its instructions.
use super::cfa::Cfa;
use super::effect::{Effect, effect};
use super::instruction::Instruction;
use super::sequence;
use super::split::{Piece, split};
use super::stretch::Stretch;
use corefold_block::inline_assembly::{Kind, Unseen, Word};
use std::collections::BTreeMap;

pub type Macros = BTreeMap<String, bool>;

/// Puts calls around the instructions of `text`. Where the program says itself what the statement does,
/// what is not seen is not told.
pub fn rewrite(text: &str, annotated: bool, at: (&mut Cfa, &mut Stretch), macros: &mut Macros, out: &mut String) {
    let (cfa, stretch) = at;
    let pieces = split(text);
    let units = units(&pieces, macros);
    let told = |effect: &Effect| match effect {
        Effect::Nothing => false,
        Effect::Unseen(Unseen::Memory) => !annotated,
        _ => true,
    };
    let any = units.iter().any(|unit| told(&unit.effect));
    let unseen = match any {
        true => is_rigid(&pieces, text).then_some(Unseen::Memory),
        false => holds_bytes(&pieces).then_some(Unseen::Bytes),
    };
    if !any || unseen.is_some() {
        if let Some(what) = unseen.filter(|_| !annotated) {
            *out += &sequence::call(Word::unseen(what), cfa);
        }
        if units.iter().any(|unit| stretch.splits_in_statement(&unit.text())) {
            *out += &sequence::call(Word::new(Kind::Block, 0), cfa);
        }
        cfa.see_all(text);
        *out += text;
    } else {
        let loops = loop_heads(&pieces);
        for unit in units {
            let shown = told(&unit.effect);
            if unit.begins(&loops) {
                stretch.begins();
            } else if stretch.splits_in_statement(&unit.text()) {
                *out += &sequence::call(Word::new(Kind::Block, 0), cfa);
            }
            unit.write(&loops, shown, cfa, out);
            if shown {
                stretch.is_seen();
            }
        }
    }
}

/// Does anything in `text` touch memory?
pub fn touches_memory(text: &str, macros: &mut Macros) -> bool {
    units(&split(text), macros).iter().any(|unit| unit.effect != Effect::Nothing)
}

/// Pieces that belong together: an instruction with the prefixes that stand before it by themselves.
struct Unit<'a> {
    pieces: &'a [Piece],
    effect: Effect,
}

fn units<'a>(pieces: &'a [Piece], macros: &mut Macros) -> Vec<Unit<'a>> {
    let mut units = Vec::new();
    let mut elsewhere = Elsewhere::default();
    let mut at = 0;
    while at < pieces.len() {
        let end = at + unit_length(&pieces[at..]);
        let pieces = &pieces[at..end];
        let here = elsewhere.passes(&pieces[0], macros);
        let effect = if here { effect_of(pieces, macros) } else { Effect::Nothing };
        units.push(Unit { pieces, effect });
        at = end;
    }
    units
}

fn unit_length(pieces: &[Piece]) -> usize {
    let bare =
        |piece: &&Piece| matches!(piece, Piece::Instruction(text) if Instruction::read(text).mnemonic.is_empty());
    let prefixes = pieces.iter().take_while(bare).count();
    match pieces.get(prefixes) {
        Some(Piece::Instruction(_)) => prefixes + 1,
        _ => prefixes.max(1),
    }
}

fn effect_of(pieces: &[Piece], macros: &Macros) -> Effect {
    let texts: Vec<&str> = pieces
        .iter()
        .filter_map(|p| if let Piece::Instruction(text) = p { Some(text.as_str()) } else { None })
        .collect();
    if texts.is_empty() {
        return Effect::Nothing;
    }
    let instruction = Instruction::read(&texts.join(" "));
    match macros.get(&instruction.mnemonic) {
        Some(true) => Effect::Unseen(Unseen::Memory),
        Some(false) => Effect::Nothing,
        None => effect(&instruction),
    }
}

/// Text that is not code of the statement's own place: other sections, and the bodies of macros.
#[derive(Default)]
struct Elsewhere {
    pushed: usize,
    section: bool,
    body: Option<String>,
}

impl Elsewhere {
    /// Takes the next piece; whether it stands at the statement's own place.
    fn passes(&mut self, piece: &Piece, macros: &mut Macros) -> bool {
        if let Some(name) = self.body.clone() {
            match piece {
                Piece::Directive(text) if text.starts_with(".endm") => self.body = None,
                Piece::Instruction(text) if effect(&Instruction::read(text)) != Effect::Nothing => {
                    macros.insert(name, true);
                }
                _ => {}
            }
            return false;
        }
        if let Piece::Directive(text) = piece {
            self.directive(text, macros);
        }
        self.pushed == 0 && !self.section
    }

    fn directive(&mut self, text: &str, macros: &mut Macros) {
        let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
        match words.next().unwrap_or_default() {
            ".macro" => {
                let name = words.next().unwrap_or_default().to_ascii_lowercase();
                macros.insert(name.clone(), false);
                self.body = Some(name);
            }
            ".pushsection" => self.pushed += 1,
            ".popsection" => self.pushed = self.pushed.saturating_sub(1),
            ".previous" => self.section = !self.section,
            ".section" => self.section = !words.next().unwrap_or_default().starts_with(".text"),
            ".data" | ".bss" | ".rodata" => self.section = true,
            ".text" => self.section = false,
            ".subsection" => self.section = words.next() != Some("0"),
            _ => {}
        }
    }
}

/// Directives that put down bytes, which the processor comes to as code.
const BYTES: [&str; 11] =
    [".byte", ".word", ".value", ".short", ".long", ".int", ".quad", ".octa", ".org", ".skip", ".fill"];

fn name(directive: &str) -> &str {
    directive.split(' ').next().unwrap_or_default()
}

/// Are there bytes in the statement's own place?
fn holds_bytes(pieces: &[Piece]) -> bool {
    let mut elsewhere = Elsewhere::default();
    let mut macros = Macros::new();
    pieces.iter().any(|piece| {
        elsewhere.passes(piece, &mut macros) && matches!(piece, Piece::Directive(text) if BYTES.contains(&name(text)))
    })
}

/// Code that counts its own bytes, or is not what it looks like: nothing may be put into it.
fn is_rigid(pieces: &[Piece], text: &str) -> bool {
    const SHORT: [&str; 7] = ["loop", "loope", "loopne", "loopz", "loopnz", "jrcxz", "jecxz"];
    const MODES: [&str; 4] = [".intel_syntax", ".code32", ".code16", ".altmacro"];
    let mut elsewhere = Elsewhere::default();
    let mut macros = Macros::new();
    let from_here = text.contains(".+") || text.contains(".-") || text.contains(". +") || text.contains(". -");
    pieces.iter().any(|piece| {
        let here = elsewhere.passes(piece, &mut macros);
        here && match piece {
            Piece::Directive(text) => [&BYTES[..], &MODES].concat().contains(&name(text)),
            Piece::Instruction(text) => {
                SHORT.contains(&Instruction::read(text).mnemonic.as_str())
                    || from_here && text.starts_with('j') && text.contains('.') && text.contains(['+', '-'])
            }
            Piece::Label(_) => false,
        }
    })
}

/// The labels that something behind them jumps to.
fn loop_heads(pieces: &[Piece]) -> Vec<String> {
    let mut heads = Vec::new();
    let mut passed: Vec<&str> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Label(name) => passed.push(name),
            Piece::Instruction(text) if text.starts_with('j') => {
                let target = text.split_whitespace().last().unwrap_or_default();
                let number = target.strip_suffix('b').filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
                let name = number.unwrap_or(target);
                heads.extend(passed.iter().filter(|label| **label == name).map(|label| (*label).to_owned()));
            }
            _ => {}
        }
    }
    heads
}

/// The compiler's own instruction, of which no hook tells.
pub fn write_one(effect: Effect, line: &str, cfa: &mut Cfa, out: &mut String) {
    let pieces = [Piece::Instruction(line.trim().to_owned())];
    Unit { pieces: &pieces, effect }.write(&[], true, cfa, out);
}

impl Unit<'_> {
    fn text(&self) -> String {
        let words = self
            .pieces
            .iter()
            .filter_map(|p| if let Piece::Instruction(text) = p { Some(text.as_str()) } else { None });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Does a block begin with it, as a loop of the statement's comes back to it?
    fn begins(&self, loops: &[String]) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Label(name) if loops.contains(name)))
    }

    fn write(&self, loops: &[String], told: bool, cfa: &mut Cfa, out: &mut String) {
        match &self.effect {
            Effect::Access(word, operand) => *out += &sequence::with_operand(*word, operand, cfa),
            Effect::Told(word) => *out += &sequence::call(*word, cfa),
            Effect::Unseen(what) if told => *out += &sequence::call(Word::unseen(*what), cfa),
            _ => {}
        }
        for piece in self.pieces {
            self.piece(piece, loops, cfa, out);
        }
        if let Effect::Access(word, _) = &self.effect
            && matches!(word.kind(), Kind::Atomic | Kind::Write)
        {
            *out += &sequence::call(Word::new(Kind::Done, 0), cfa);
        }
    }

    fn piece(&self, piece: &Piece, loops: &[String], cfa: &mut Cfa, out: &mut String) {
        match piece {
            Piece::Label(name) => {
                *out += &format!("{name}:\n");
                if loops.contains(name) {
                    *out += &sequence::call(Word::new(Kind::Block, 0), cfa);
                }
            }
            Piece::Directive(text) => {
                cfa.see(text);
                *out += &format!("\t{text}\n");
            }
            Piece::Instruction(text) => *out += &format!("\t{text}\n"),
        }
    }
}
