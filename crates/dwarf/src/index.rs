// SPDX-License-Identifier: MIT OR Apache-2.0
//! One quick pass over all debug information: types by name, and the scopes around entries.
//!
//! Only names are kept; everything else is read from the entry when it is wanted.
use crate::sections::Reader;
use crate::units::{Die, Units};
use gimli::{Attribute, AttributeValue, DwTag, constants as c};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A definition of a type.
#[derive(Clone, Debug)]
pub struct TypeEntry {
    pub die: Die,
    pub scope: Arc<str>,
}

const TYPES: [DwTag; 6] = [
    c::DW_TAG_structure_type,
    c::DW_TAG_class_type,
    c::DW_TAG_union_type,
    c::DW_TAG_enumeration_type,
    c::DW_TAG_typedef,
    c::DW_TAG_base_type,
];

#[derive(Default)]
pub struct Index {
    /// Of each tag in [`TYPES`], by unqualified name; those of one name in the order of units.
    types: [HashMap<String, Vec<TypeEntry>>; TYPES.len()],
    /// Of types and variables inside of something, and of functions there that have no mangled name to say so.
    scopes: HashMap<Die, Arc<str>>,
}

impl Index {
    pub fn build(units: &Units) -> Index {
        let mut index = Index::default();
        (0..units.units()).for_each(|unit| index.scan(units, unit));
        index
    }

    fn scan(&mut self, units: &Units, unit: usize) {
        // Of a damaged unit, the entries before the damage are used.
        let _ = Scan { units, unit, scopes: Vec::new(), index: self }.run();
    }

    /// What [`Index::scope_of`] says of this unit's entries, by themselves.
    pub fn scopes_of(units: &Units, unit: usize) -> HashMap<Die, Arc<str>> {
        let mut index = Index::default();
        index.scan(units, unit);
        index.scopes
    }

    /// The namespaces and classes around a type, function or variable: `ns::outer`.
    pub fn scope_of(&self, die: Die) -> Option<&str> {
        self.scopes.get(&die).map(|scope| &**scope)
    }

    /// The type that `name` (perhaps qualified) means in unit `near`: a definition of the same
    /// unit first, for two units may have different types of one name.
    pub fn type_named(&self, name: &str, tag: Option<DwTag>, near: Option<Die>) -> Option<Die> {
        let (scope, last) = split_qualified(name);
        let fits = |entry: &&TypeEntry| {
            scope.is_empty() || &*entry.scope == scope || entry.scope.ends_with(&format!("::{scope}"))
        };
        let with_tag = |kind: DwTag| match tag {
            Some(c::DW_TAG_structure_type) => matches!(kind, c::DW_TAG_structure_type | c::DW_TAG_class_type),
            Some(tag) => kind == tag,
            None => true,
        };
        // Many declarations of one name, and many definitions of it or of others with another tag, take no square of that.
        let lists = || {
            let kinds = TYPES.iter().zip(&self.types).filter(|(kind, _)| with_tag(**kind));
            kinds.filter_map(|(_, types)| types.get(last))
        };
        let own = |all: &Vec<TypeEntry>, unit: u32| {
            let own = &all[all.partition_point(|entry| entry.die.unit < unit)..];
            own.iter().take_while(|entry| entry.die.unit == unit).find(fits).map(|entry| entry.die)
        };
        let near = near.and_then(|near| lists().filter_map(|all| own(all, near.unit)).min());
        near.or_else(|| lists().filter_map(|all| all.iter().find(fits)).map(|entry| entry.die).min())
    }
}

/// `a::b<c::d>::e` into `a::b<c::d>` and `e`.
fn split_qualified(name: &str) -> (&str, &str) {
    let mut depth = 0;
    let mut cut = None;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            b':' if depth == 0 && name[at..].starts_with("::") => cut = Some(at),
            _ => {}
        }
    }
    cut.map_or(("", name), |at| (&name[..at], &name[at + 2..]))
}

/// What the type of a lambda is called, in which its function is: by its line, as a function may have several.
fn lambda(line: u64) -> String {
    if line == 0 { "{lambda}".to_owned() } else { format!("{{lambda:{line}}}") }
}

/// Is this scope the type of a lambda?
pub fn is_lambda(scope: &str) -> bool {
    scope.rsplit("::").next().is_some_and(|last| last.starts_with("{lambda"))
}

/// The scope that an entry opens for its children.
#[derive(Clone)]
enum Scope {
    Named(Arc<str>),
    /// An instance of a function, whose name is elsewhere; resolved only for the few with static variables.
    Instance {
        outer: Arc<str>,
        die: Die,
    },
}

struct Scan<'a> {
    units: &'a Units,
    unit: usize,
    /// The scopes around an entry: depth, name, and the line where a type is declared.
    scopes: Vec<(isize, Rc<Scope>, u64)>,
    index: &'a mut Index,
}

/// The attributes that the index is made of.
#[derive(Default)]
struct Facts {
    name: Option<AttributeValue<Reader>>,
    line: u64,
    declaration: bool,
    is_mangled: bool,
}

impl Scan<'_> {
    fn run(&mut self) -> gimli::Result<()> {
        let unit = self.units.unit_numbered(self.unit)?;
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            let tag = abbreviation.tag();
            if !is_wanted(tag) {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut facts = Facts::default();
            for specification in abbreviation.attributes() {
                self.note(&mut facts, entries.read_attribute(*specification)?);
            }
            while self.scopes.last().is_some_and(|scope| scope.0 >= depth) {
                self.scopes.pop();
            }
            let die = Die { unit: self.unit as u32, offset: offset.0 };
            self.enter(tag, die, facts, abbreviation.has_children().then_some(depth));
        }
        Ok(())
    }

    fn note(&self, facts: &mut Facts, attribute: Attribute<Reader>) {
        match attribute.name() {
            c::DW_AT_name => facts.name = Some(attribute.value()),
            c::DW_AT_decl_line => facts.line = attribute.udata_value().unwrap_or(0),
            c::DW_AT_declaration => facts.declaration = true,
            c::DW_AT_linkage_name => facts.is_mangled = true,
            _ => {}
        }
    }

    fn enter(&mut self, tag: DwTag, die: Die, facts: Facts, depth_if_parent: Option<isize>) {
        match tag {
            c::DW_TAG_variable => {
                let scope = self.scope_name();
                if !scope.is_empty() {
                    self.index.scopes.insert(die, scope);
                }
            }
            c::DW_TAG_namespace => self.open(tag, die, facts, depth_if_parent),
            c::DW_TAG_subprogram => {
                let scope = self.scope_name();
                if facts.name.is_some() && !facts.is_mangled && !scope.is_empty() {
                    let scope = match self.nameless() {
                        Some(line) => format!("{scope}::{}", lambda(line)).into(),
                        None => scope,
                    };
                    self.index.scopes.insert(die, scope);
                }
                self.open(tag, die, facts, depth_if_parent);
            }
            _ => {
                if let (Some(name), false) = (&facts.name, facts.declaration) {
                    self.define(tag, die, name.clone());
                }
                self.open(tag, die, facts, depth_if_parent);
            }
        }
    }

    fn define(&mut self, tag: DwTag, die: Die, name: AttributeValue<Reader>) {
        let Some(name) = self.units.string(self.unit, name) else {
            return;
        };
        let Some(kind) = TYPES.iter().position(|kind| *kind == tag) else {
            return;
        };
        let scope = self.scope_name();
        if !scope.is_empty() {
            self.index.scopes.insert(die, scope.clone());
        }
        let entries = self.index.types[kind].entry(name).or_default();
        // A type used inside many function scopes or headers: one entry a unit and scope is enough.
        if !entries.iter().rev().take(4).any(|e| e.die.unit == die.unit && e.scope == scope) {
            entries.push(TypeEntry { die, scope });
        }
    }

    fn open(&mut self, tag: DwTag, die: Die, facts: Facts, depth: Option<isize>) {
        let Some(depth) = depth else { return };
        let outer = self.scope_name();
        let mut name = facts.name.and_then(|name| self.units.string(self.unit, name));
        if tag == c::DW_TAG_subprogram
            && name.as_deref() == Some("operator()")
            && let Some(line) = self.nameless()
        {
            name = Some(lambda(line));
        }
        let scope = match name {
            Some(name) if outer.is_empty() => Scope::Named(name.into()),
            Some(name) => Scope::Named(format!("{outer}::{name}").into()),
            None if tag == c::DW_TAG_subprogram => Scope::Instance { outer, die },
            None => Scope::Named(outer),
        };
        self.scopes.push((depth, Rc::new(scope), facts.line));
    }

    /// The line of the innermost type, if it has no name: a lambda's, if it has functions.
    fn nameless(&self) -> Option<u64> {
        let around = |depth: usize| match &**self.scopes.get(self.scopes.len().checked_sub(depth)?).map(|s| &s.1)? {
            Scope::Named(name) => Some(name.clone()),
            Scope::Instance { .. } => None,
        };
        let is_nameless = around(1).is_some() && around(1) == around(2);
        self.scopes.last().filter(|_| is_nameless).map(|scope| scope.2)
    }

    fn scope_name(&mut self) -> Arc<str> {
        let Some((_, scope, _)) = self.scopes.last() else {
            return "".into();
        };
        let (outer, die) = match &**scope {
            Scope::Named(name) => return name.clone(),
            Scope::Instance { outer, die } => (outer, *die),
        };
        let name: Arc<str> = match self.units.name(die) {
            Some(name) if outer.is_empty() => name.into(),
            Some(name) => format!("{outer}::{name}").into(),
            None => outer.clone(),
        };
        let (depth, line) = self.scopes.pop().map_or((0, 0), |scope| (scope.0, scope.2));
        self.scopes.push((depth, Rc::new(Scope::Named(name.clone())), line));
        name
    }
}

fn is_wanted(tag: DwTag) -> bool {
    matches!(tag, c::DW_TAG_variable | c::DW_TAG_namespace | c::DW_TAG_subprogram) || TYPES.contains(&tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_first_definition_that_fits_in_its_unit_or_in_any() {
        let mut index = Index::default();
        let die = |unit, offset| Die { unit, offset };
        for (kind, scope, die) in
            [(0, "a", die(1, 9)), (1, "a", die(1, 8)), (2, "b", die(1, 4)), (3, "b", die(0, 5)), (4, "b", die(1, 7))]
        {
            index.types[kind].entry("x".into()).or_default().push(TypeEntry { die, scope: scope.into() });
        }
        let named = |name, tag, unit| index.type_named(name, tag, Some(die(unit, 0)));
        assert_eq!((named("x", None, 1), named("x", None, 2)), (Some(die(1, 4)), Some(die(0, 5))));
        assert_eq!(named("a::x", None, 0), Some(die(1, 8)));
        assert_eq!(named("x", Some(c::DW_TAG_structure_type), 0), Some(die(1, 8)));
        assert_eq!(named("x", Some(c::DW_TAG_typedef), 0), Some(die(1, 7)));
        assert_eq!((named("x", Some(c::DW_TAG_base_type), 0), named("c::x", None, 0)), (None, None));
    }

    #[test]
    fn a_qualified_name_is_cut_outside_of_template_arguments() {
        assert_eq!(split_qualified("a::b<c::d>::e"), ("a::b<c::d>", "e"));
        assert_eq!(split_qualified("map<a::b, c>"), ("", "map<a::b, c>"));
    }
}
