// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures as C declarations with offsets, sizes, holes and line boundaries: the form that pahole made known.
use super::form::{Form, Hole, Summary, storage};
use super::look::{Look, counted_lines};
use crate::style::{is_visible, line};
use corefold_dwarf::{Keyword, Kind, Member, Record, Role, Structure, TypeId, Types, Variants};

/// Width of the types' column and of the names'.
const TYPES: usize = 26;
const NAMES: usize = 21;
/// A tab.
const TAB: usize = 8;
/// Structures in structures deeper than this are circles.
const DEEPEST: usize = 24;
/// Lines of one structure, if it has no more members itself: types that contain each other twice would be expanded for ever.
const MOST_LINES: usize = 10_000;

pub struct Text<'a> {
    types: &'a Types,
    look: &'a Look,
    out: String,
    lines: usize,
    most: usize,
}

/// Where members are printed.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// Of the structure that they are in, from the outermost one's start.
    base: u64,
    /// Bytes at the beginning of a Rust variant that belong to the tag.
    tag: u64,
}

pub fn text(types: &Types, structure: &Structure, look: &Look) -> String {
    let mut text = Text { types, look, out: String::new(), lines: 0, most: MOST_LINES };
    if let Some(record) = types.record(structure.id) {
        text.most = MOST_LINES.max(4 * record.members.len());
        text.structure(structure, record);
    }
    text.out
}

impl<'a> Text<'a> {
    fn structure(&mut self, structure: &Structure, record: &Record<TypeId>) {
        let keyword = record.keyword.text();
        let (before, after) = match structure.is_typedef {
            true => (format!("typedef {keyword} {{"), format!("}} {}", structure.name)),
            false => (format!("{keyword} {} {{", structure.name), "}".to_owned()),
        };
        self.line(&before);
        let mut last = 0;
        let form = self.members(record, Place { depth: 1, base: 0, tag: 0 }, &mut last);
        let at_end = record.size / self.look.line;
        if at_end > last && form.padding == 0 && record.size.is_multiple_of(self.look.line) {
            self.boundary(1, record.size, at_end);
        }
        self.summary(record, &form);
        let align = record.align.filter(|_| in_c(self.types, structure.id));
        self.line(&format!("{after}{};", attribute(align)));
    }

    /// `line`: the line that the last member printed begins on.
    fn members(&mut self, record: &Record<TypeId>, place: Place, line: &mut u64) -> Summary {
        let types = self.types;
        let form = Form::after(types, record, place.tag);
        for part in &form.parts {
            if self.lines > self.most {
                self.put(place.depth, "/* … and more */");
                break;
            }
            self.hole(place.depth, part.hole);
            // The members of a union begin at one place each.
            let before = *line;
            self.member(part.member, place, line);
            if record.keyword == Keyword::Union {
                *line = before;
            }
            if part.padding > 0 && record.keyword != Keyword::Union {
                let text = format!("/* XXX last struct has {} of padding */", bytes(part.padding));
                self.apart(place.depth, &text);
            }
        }
        if let Some(variants) = &record.variants {
            self.variants(variants, place, *line);
        }
        form.summary
    }

    fn member(&mut self, member: &Member<TypeId>, place: Place, line: &mut u64) {
        let at = place.base.saturating_add(member.offset);
        if at / self.look.line > *line {
            *line = at / self.look.line;
            self.boundary(place.depth, at, *line);
        }
        let nested = self.nested(member, place.depth);
        match nested {
            Some(record) => self.nest(member, record, place, line),
            None => self.field(member, place),
        }
    }

    /// The structure whose members are shown in place of its name; of an array, those of its first element.
    fn nested(&self, member: &Member<TypeId>, depth: usize) -> Option<&'a Record<TypeId>> {
        let (types, expand) = (self.types, self.look.expand);
        let mut kind = member.kind;
        for _ in 0..DEEPEST {
            kind = match types.kind(kind) {
                Kind::Array { of: Some(of), .. } | Kind::Qualified { of: Some(of), .. } => *of,
                Kind::Typedef { of: Some(of), .. } if expand => *of,
                _ => break,
            };
        }
        match types.kind(kind) {
            Kind::Record { record, .. } if record.name.is_none() || expand => {
                Some(&**record).filter(|record| depth < DEEPEST && !record.members.is_empty())
            }
            _ => None,
        }
    }

    fn nest(&mut self, member: &Member<TypeId>, record: &Record<TypeId>, place: Place, line: &mut u64) {
        let name = record.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        let qualifiers = self.qualifiers(member.kind);
        self.put(place.depth, &format!("{qualifiers}{}{name} {{", record.keyword.text()));
        let inside = Place { depth: place.depth + 1, base: place.base.saturating_add(member.offset), tag: 0 };
        self.members(record, inside, line);
        let name = self.types.declaration(Some(member.kind), &shown_name(member).unwrap_or_default()).declarator;
        let gap = if name.is_empty() { "" } else { " " };
        let close = format!("}}{gap}{name}{};", attribute(member.align));
        self.commented(place.depth, &close, &position(self.types, member, place.base));
    }

    /// `const ` of `const struct { … }`.
    fn qualifiers(&self, kind: TypeId) -> String {
        let (mut kind, mut text) = (kind, String::new());
        while let Kind::Qualified { how, of: Some(of) } = self.types.kind(kind)
            && text.len() < TYPES
        {
            text += how.text();
            kind = *of;
        }
        text
    }

    fn field(&mut self, member: &Member<TypeId>, place: Place) {
        let declaration = self.types.declaration(Some(member.kind), &shown_name(member).unwrap_or_default());
        let bits = member.bits.map(|bits| format!(":{}", bits.count)).unwrap_or_default();
        let name = format!("{}{bits}{};", declaration.declarator, attribute(member.align));
        let width = TYPES.saturating_sub(TAB * (place.depth - 1));
        let text = format!("{:<width$} {name}", declaration.type_name);
        self.commented(place.depth, &text, &position(self.types, member, place.base));
    }

    fn variants(&mut self, variants: &Variants<TypeId>, place: Place, line: u64) {
        if let Some(tag) = &variants.tag {
            let named = Member { name: Some("<tag>".to_owned()), ..tag.clone() };
            self.field(&named, place);
        }
        for variant in &variants.list {
            for member in &variant.members {
                let name = member.name.as_deref().unwrap_or("{…}");
                self.put(place.depth, &format!("variant {name} {{"));
                let base = place.base.saturating_add(member.offset);
                let tag = variants
                    .tag
                    .as_ref()
                    .filter(|tag| tag.offset == member.offset)
                    .map_or(0, |tag| tag.end() - tag.offset);
                let inside = Place { depth: place.depth + 1, base, tag };
                let types = self.types;
                if let Some(record) = types.record(member.kind).filter(|_| place.depth < DEEPEST) {
                    self.members(record, inside, &mut line.clone());
                }
                let tag = match variant.value {
                    Some(value) => format!("/* tag {} */", value as i64),
                    None if variants.tag.is_some() => "/* any other tag */".to_owned(),
                    None => String::new(),
                };
                self.commented(place.depth, "};", &tag);
            }
        }
    }

    fn hole(&mut self, depth: usize, hole: Hole) {
        if hole == Hole::default() {
            return;
        }
        self.gap();
        if hole.bits > 0 {
            self.put(depth, &format!("/* XXX {} bit{} hole, try to pack */", hole.bits, plural(hole.bits)));
        }
        if hole.bytes > 0 {
            self.put(depth, &format!("/* XXX {} hole, try to pack */", bytes(hole.bytes)));
        }
        self.out.push('\n');
    }

    fn boundary(&mut self, depth: usize, at: u64, number: u64) {
        let begin = number * self.look.line;
        let ago = match at - begin {
            0 => String::new(),
            past => format!(" was {} ago", bytes(past)),
        };
        self.put(depth, &format!("/* --- cacheline {number} boundary ({begin} bytes){ago} --- */"));
    }

    fn summary(&mut self, record: &Record<TypeId>, sum: &Summary) {
        let lines = counted_lines(record.size, self.look.line);
        let variants = record.variants.as_ref().map(|v| format!(", variants: {}", v.list.len())).unwrap_or_default();
        self.out.push('\n');
        self.put(1, &format!("/* size: {}, cachelines: {lines}, members: {}{variants} */", record.size, sum.members));
        if sum.holes > 0 {
            let text =
                format!("sum members: {}, holes: {}, sum holes: {}", sum.member_bytes, sum.holes, sum.hole_bytes);
            self.put(1, &format!("/* {text} */"));
        }
        if sum.bit_holes > 0 {
            let (bits, holes, unused) = (sum.bitfield_bits, sum.bit_holes, sum.bit_hole_bits);
            let text = format!("sum bitfield members: {bits} bits, bit holes: {holes}, sum bit holes: {unused} bits");
            self.put(1, &format!("/* {text} */"));
        }
        if sum.padding > 0 {
            self.put(1, &format!("/* padding: {} */", sum.padding));
        }
        if sum.bit_padding > 0 {
            self.put(1, &format!("/* bit_padding: {} bits */", sum.bit_padding));
        }
        if sum.paddings > 0 {
            self.put(1, &format!("/* paddings: {}, sum paddings: {} */", sum.paddings, sum.paddings_bytes));
        }
        let last = record.size % self.look.line;
        if last > 0 {
            self.put(1, &format!("/* last cacheline: {} */", bytes(last)));
        }
    }

    /// An empty line, if there is none.
    fn gap(&mut self) {
        if !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// A line between two empty ones.
    fn apart(&mut self, depth: usize, text: &str) {
        self.gap();
        self.put(depth, text);
        self.out.push('\n');
    }

    fn put(&mut self, depth: usize, text: &str) {
        self.lines += 1;
        self.out.extend(std::iter::repeat_n('\t', depth));
        self.line(text);
    }

    /// Names are whatever somebody wrote into the file.
    fn line(&mut self, text: &str) {
        match is_visible(text) {
            true => self.out.push_str(text),
            false => self.out.push_str(&line(text)),
        }
        self.out.push('\n');
    }

    /// With a comment in the column of comments.
    fn commented(&mut self, depth: usize, text: &str, comment: &str) {
        let width = (TYPES + 1 + NAMES).saturating_sub(TAB * (depth - 1));
        self.put(depth, format!("{text:<width$} {comment}").trim_end());
    }
}

fn position(types: &Types, member: &Member<TypeId>, base: u64) -> String {
    match member.bits {
        Some(bits) => {
            let (begin, bit, bytes) = storage(types, member, bits);
            format!("/* {:>5}:{bit:>2} {bytes:>2} */", base.saturating_add(begin))
        }
        None => format!("/* {:>5} {:>5} */", base.saturating_add(member.offset), member.size.unwrap_or(0)),
    }
}

/// A base class has no name.
fn shown_name(member: &Member<TypeId>) -> Option<String> {
    match member.role {
        Role::Base => Some("<base>".to_owned()),
        _ => member.name.clone(),
    }
}

fn attribute(align: Option<u64>) -> String {
    align.map(|align| format!(" __attribute__((__aligned__({align})))")).unwrap_or_default()
}

fn in_c(types: &Types, id: TypeId) -> bool {
    matches!(types.kind(id), Kind::Record { in_c: true, .. })
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn bytes(count: u64) -> String {
    format!("{count} byte{}", plural(count))
}
