// SPDX-License-Identifier: MIT OR Apache-2.0
//! The debug information of one ELF file: its entries, and what is found in one pass over them.
use crate::index::Index;
use crate::units::{Die, Units};
use crate::variables::Variables;
use object::ReadRef;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Entries are read as they are asked for.
pub struct Info {
    units: Units,
    index: OnceLock<Index>,
    variables: OnceLock<Variables>,
    /// Of each unit, [`Info::scope_of`] its entries: most of a large file's units are never asked for.
    scopes: Vec<OnceLock<HashMap<Die, Arc<str>>>>,
}

impl Deref for Info {
    type Target = Units;

    fn deref(&self) -> &Units {
        &self.units
    }
}

impl Info {
    /// All of it; `None` where the file has no debug information.
    pub fn load<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> anyhow::Result<Option<Info>> {
        Ok(Units::load(file)?.map(Info::new))
    }

    /// What types are described by, straight from the opened file.
    pub fn load_types<'data, R: ReadRef<'data>>(
        file: &object::File<'data, R>,
        raw: &std::fs::File,
    ) -> anyhow::Result<Info> {
        Units::load_types(file, raw).map(Info::new)
    }

    fn new(units: Units) -> Info {
        let scopes = (0..units.units()).map(|_| OnceLock::new()).collect();
        Info { units, index: OnceLock::new(), variables: OnceLock::new(), scopes }
    }

    /// Names of types, collected in one pass when first asked for.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::build(&self.units))
    }

    /// Addresses of variables, collected in one pass when first asked for.
    pub fn variables(&self) -> &Variables {
        self.variables.get_or_init(|| Variables::build(&self.units))
    }

    /// The namespaces and classes around a type, function or variable: `ns::outer`.
    pub fn scope_of(&self, die: Die) -> Option<&str> {
        if let Some(index) = self.index.get() {
            return index.scope_of(die);
        }
        let unit = die.unit as usize;
        let scopes = self.scopes.get(unit)?.get_or_init(|| Index::scopes_of(&self.units, unit));
        scopes.get(&die).map(|scope| &**scope)
    }
}
