// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a name in a function's source means: its variables, and those outside of it.
use super::{Debug, Die};
use crate::symbols::demangle;
use corefold_dwarf::{Variable, is_lambda};
use gimli::constants as c;

/// A variable or parameter of a function.
pub struct Local {
    pub name: String,
    pub kind: Die,
}

impl Debug {
    /// A variable's name: `counter`, `ns::counter`, `function::counter`.
    pub fn full_name(&self, variable: Variable) -> String {
        let name = self.name(variable.die).unwrap_or_default();
        if let Some(scope) = self.scope_of(variable.die) {
            return format!("{scope}::{name}");
        }
        // A member of a namespace or class may be defined outside of it; its mangled name knows where it belongs.
        let linkage = self.inherited(variable.die, |die| self.text(die, c::DW_AT_linkage_name));
        linkage.map_or(name, |linkage| demangle(&linkage))
    }

    /// The function as it was written, from one of its instances.
    pub fn written_function(&self, function: Die) -> Die {
        self.link(function, c::DW_AT_abstract_origin).unwrap_or(function)
    }

    /// Demangled, or put together where there is no mangled name: functions of types that are local to
    /// another have none.
    pub fn function_name(&self, function: Die) -> String {
        if let Some(name) = self.inherited(function, |die| self.text(die, c::DW_AT_linkage_name)) {
            return demangle(&name);
        }
        let named = self.inherited(function, |die| Some((die, self.text(die, c::DW_AT_name)?)));
        match named.map(|(die, name)| (self.scope_of(die), name)) {
            Some((Some(scope), name)) if name == "operator()" && is_lambda(scope) => scope.to_owned(),
            Some((Some(scope), name)) => format!("{scope}::{name}"),
            Some((None, name)) => name,
            None => String::new(),
        }
    }

    /// All variables of a function, those of inner blocks too; inlined functions' are not its own.
    pub fn locals(&self, function: Die) -> Vec<Local> {
        let mut locals = Vec::new();
        self.collect_locals(self.written_function(function), &mut locals);
        locals
    }

    fn collect_locals(&self, block: Die, locals: &mut Vec<Local>) {
        for (tag, die) in self.children(block) {
            match tag {
                c::DW_TAG_variable | c::DW_TAG_formal_parameter => {
                    if let (Some(name), Some(kind)) = (self.name(die), self.type_of(die)) {
                        locals.push(Local { name, kind });
                    }
                }
                c::DW_TAG_lexical_block => self.collect_locals(die, locals),
                _ => {}
            }
        }
    }

    /// The type of the variable that `name` means in `function`: its own, a member of `this`, or a global.
    pub fn variable_type(&self, function: Die, name: &str) -> Option<Die> {
        let locals = self.locals(function);
        if let Some(local) = locals.iter().find(|local| local.name == name) {
            return Some(local.kind);
        }
        let this = locals.iter().find(|local| local.name == "this");
        this.and_then(|this| self.member_type(self.pointee(this.kind)?, name))
            .or_else(|| self.global_type(function, name))
    }

    fn global_type(&self, near: Die, name: &str) -> Option<Die> {
        let root = self.root(near)?;
        let mut globals = self.children(root).into_iter().filter(|child| child.0 == c::DW_TAG_variable);
        let (_, global) = globals.find(|(_, die)| self.name(*die).as_deref() == Some(name))?;
        self.type_of(global)
    }

    /// The function `name` of the unit whose header is at `unit`.
    pub fn function_named(&self, unit: gimli::UnitSectionOffset, name: &str) -> Option<Die> {
        let root = self.root(self.die(unit, gimli::UnitOffset(0))?)?;
        let mut functions = self.children(root).into_iter().filter(|child| child.0 == c::DW_TAG_subprogram);
        functions.find(|(_, die)| self.text(*die, c::DW_AT_name).as_deref() == Some(name)).map(|(_, die)| die)
    }

    fn root(&self, die: Die) -> Option<Die> {
        let mut entries = self.unit(die).ok()?.entries_raw(None).ok()?;
        let offset = entries.next_offset().0;
        entries.read_abbreviation().ok()??;
        Some(Die { unit: die.unit, offset })
    }
}
