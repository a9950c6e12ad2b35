// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types as a C declaration has them: `struct foo *`, `int (*f)(void)`, `char name[16]`.
use crate::kind::{Kind, Sign};
use crate::types::{TypeId, Types};

/// What stands before a member's name, and what stands there with the name: `int` and `(*f)(void)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    pub type_name: String,
    pub declarator: String,
}

/// A guard against types that refer to themselves.
const DEEPEST: usize = 24;
/// Longer names are cut: those of functions that take functions that take functions, and of some templates.
const LONGEST: usize = 1000;

impl Types {
    /// The type's name where nothing is declared of it.
    pub fn name(&self, id: Option<TypeId>) -> String {
        let Declaration { type_name, declarator } = self.declaration(id, "");
        match declarator.as_str() {
            "" => type_name,
            declarator if declarator.starts_with('[') => type_name + declarator,
            declarator => format!("{type_name} {declarator}"),
        }
    }

    pub fn declaration(&self, id: Option<TypeId>, name: &str) -> Declaration {
        self.declaration_within(id, name, DEEPEST)
    }

    fn declaration_within(&self, id: Option<TypeId>, name: &str, depth: usize) -> Declaration {
        let (mut id, mut declarator, mut stars, mut before) = (id, name.to_owned(), String::new(), String::new());
        let mut left = depth;
        let type_name = loop {
            let Some(here) = id else { break "void".to_owned() };
            left = match left.checked_sub(1) {
                Some(left) if declarator.len() < LONGEST => left,
                _ => break "…".to_owned(),
            };
            match self.kind(here) {
                Kind::Pointer { name: Some(name), .. } => break clipped(name),
                Kind::Pointer { to, sign, .. } => {
                    if self.is_suffixed(*to) {
                        declarator = format!("({}{declarator})", sign.text());
                    } else {
                        stars.insert_str(0, if *sign == Sign::Member { "::*" } else { sign.text() });
                    }
                    id = *to;
                }
                Kind::Array { of, bounds, .. } => {
                    let bound = |bound: &Option<u64>| bound.map_or("[]".to_owned(), |count| format!("[{count}]"));
                    declarator.extend(bounds.iter().map(bound));
                    id = *of;
                }
                Kind::Function { returns, parameters, variadic } => {
                    declarator += &self.parameters(parameters, *variadic, left);
                    id = *returns;
                }
                Kind::Qualified { how, of } => {
                    match self.is_pointer(*of) {
                        true => stars.insert_str(0, &format!(" {}", how.text().trim_end())),
                        false => before.push_str(how.text()),
                    }
                    id = *of;
                }
                other => break self.own_name(other),
            }
        };
        let stars = stars.trim();
        let gap = if stars.is_empty() { "" } else { " " };
        Declaration { type_name: format!("{before}{type_name}{gap}{stars}"), declarator }
    }

    fn parameters(&self, parameters: &[Option<TypeId>], variadic: bool, left: usize) -> String {
        // Only a few levels of functions in functions: each multiplies the names.
        let one = |id: &Option<TypeId>| self.declaration_within(*id, "", left / 2);
        let text = |d: Declaration| {
            if d.declarator.is_empty() { d.type_name } else { format!("{} {}", d.type_name, d.declarator) }
        };
        let (mut list, mut length): (Vec<String>, usize) = (Vec::new(), 0);
        for id in parameters {
            let parameter = text(one(id));
            length += parameter.len() + 4;
            list.push(parameter);
            if length > LONGEST {
                list.push("…".to_owned());
                break;
            }
        }
        if variadic {
            list.push("...".to_owned());
        }
        if list.is_empty() { "(void)".to_owned() } else { format!("({})", list.join(", ")) }
    }

    /// Whether what it declares has something after the name.
    fn is_suffixed(&self, id: Option<TypeId>) -> bool {
        id.is_some_and(|id| matches!(self.kind(id), Kind::Array { .. } | Kind::Function { .. }))
    }

    fn is_pointer(&self, id: Option<TypeId>) -> bool {
        id.is_some_and(|id| matches!(self.kind(id), Kind::Pointer { name: None, .. }))
    }

    fn own_name(&self, kind: &Kind<TypeId>) -> String {
        let tagged = |in_c: bool, keyword: &str, name: &str| {
            if in_c { format!("{keyword} {}", clipped(name)) } else { clipped(name) }
        };
        match kind {
            Kind::Base { name, .. } | Kind::Typedef { name, .. } => clipped(name),
            Kind::Enumeration { name: Some(name), in_c, .. } => tagged(*in_c, "enum", name),
            Kind::Enumeration { name: None, .. } => "enum {…}".to_owned(),
            Kind::Declared { keyword, name, in_c } => tagged(*in_c, keyword.text(), name),
            Kind::Record { record, in_c } => match &record.name {
                Some(name) => tagged(*in_c, record.keyword.text(), name),
                None => format!("{} {{…}}", record.keyword.text()),
            },
            _ => "?".to_owned(),
        }
    }
}

/// A type's name stands with every member of it.
fn clipped(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
