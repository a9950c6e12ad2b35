// SPDX-License-Identifier: MIT OR Apache-2.0
//! The symbol table of an ELF file: all there is where debug information is missing.
use object::{Object, ObjectSymbol, SymbolKind};

/// A named piece of code or data, at an address as the file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    pub address: u64,
    pub bytes: u64,
    /// As the linker knows it: mangled.
    pub raw_name: String,
}

/// Symbols by address, code apart from data.
#[derive(Default)]
pub struct Symbols {
    code: Vec<Symbol>,
    data: Vec<Symbol>,
}

impl Symbols {
    /// `.symtab` where the file still has one, and `.dynsym`.
    pub fn read(file: &object::File<'_>) -> Symbols {
        let mut symbols = Symbols::default();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let (Ok(name), false) = (symbol.name(), symbol.is_undefined()) else {
                continue;
            };
            let list = match symbol.kind() {
                SymbolKind::Text => &mut symbols.code,
                SymbolKind::Data => &mut symbols.data,
                _ => continue,
            };
            // A linker's symbols have a version there.
            let (name, _) = name.split_once('@').unwrap_or((name, ""));
            list.push(Symbol { address: symbol.address(), bytes: symbol.size(), raw_name: name.to_owned() });
        }
        for list in [&mut symbols.code, &mut symbols.data] {
            list.sort_by(|a, b| (a.address, b.bytes, &a.raw_name).cmp(&(b.address, a.bytes, &b.raw_name)));
            list.dedup_by_key(|symbol| symbol.address);
        }
        symbols
    }

    /// The function that `address` lies in. Hand-written assembly often has symbols without a size:
    /// those reach to the next one.
    pub fn code_at(&self, address: u64) -> Option<&Symbol> {
        last_at_or_before(&self.code, address)
            .filter(|symbol| symbol.bytes == 0 || address < symbol.address + symbol.bytes)
    }

    /// The variable that `address` lies in.
    pub fn data_at(&self, address: u64) -> Option<&Symbol> {
        last_at_or_before(&self.data, address).filter(|symbol| address < symbol.address + symbol.bytes)
    }
}

fn last_at_or_before(list: &[Symbol], address: u64) -> Option<&Symbol> {
    list[..list.partition_point(|symbol| symbol.address <= address)].last()
}

/// A C++ or Rust name as its author wrote it, without parameters, as `perf report` shows it.
pub fn demangle(raw: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(raw) {
        return format!("{name:#}");
    }
    // A C function named `f` must not come out as what `f` abbreviates in a mangled name: `float`.
    if !raw.starts_with("_Z") {
        return raw.to_owned();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    // gcc marks parts and clones of a function by a suffix that is no part of the mangled name.
    let mangled = raw.split_once('.').map_or(raw, |(mangled, _)| mangled);
    let symbol = cpp_demangle::Symbol::new(mangled).ok();
    symbol.and_then(|symbol| symbol.demangle(&options).ok()).unwrap_or_else(|| mangled.to_owned())
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_are_as_their_author_wrote_them() {
        assert_eq!(demangle("_ZN2ns3Foo3barEiPc"), "ns::Foo::bar");
        assert_eq!(demangle("_ZN2ns3FooIiE3barEi.constprop.0"), "ns::Foo<int>::bar");
        assert_eq!(demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
        assert_eq!(demangle("count.0"), "count.0");
        for c_name in ["main", "f", "w", "i", "St"] {
            assert_eq!(demangle(c_name), c_name);
        }
    }
}
