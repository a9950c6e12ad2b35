// SPDX-License-Identifier: MIT OR Apache-2.0
//! What type names and expressions in a function's source mean.
use super::layout::Element;
use super::statement::matching;
use super::tokens::Token;
use crate::dwarf::{Debug, Die};
use gimli::{DwTag, constants as c};

/// The function whose source is read.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub debug: &'a Debug,
    pub function: Die,
}

/// A meaning, and how many tokens it took to say it.
type Read<T> = Option<(T, usize)>;

impl Scope<'_> {
    /// A type name at the start of `tokens`: `struct foo *`, `unsigned long`, `ns::Foo<int>`.
    pub fn type_name(&self, tokens: &[Token]) -> Read<Element> {
        let (kind, mut used) = self.plain_type(tokens)?;
        let mut stars = 0;
        while let Some(token) = tokens.get(used) {
            match token.text.as_str() {
                "*" => stars += 1,
                "const" | "volatile" | "restrict" => {}
                _ => break,
            }
            used += 1;
        }
        match stars {
            0 => Some((Element::Value(kind), used)),
            _ => Some((Element::Pointer(kind), used)),
        }
    }

    fn plain_type(&self, tokens: &[Token]) -> Read<Die> {
        let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
        let mut at = 0;
        while matches!(word(at), "const" | "volatile" | "typename" | "_Atomic") {
            at += 1;
        }
        let tag = tag_of(word(at));
        at += usize::from(tag.is_some());
        let rest = tokens.get(at..)?;
        let base = if tag.is_none() { base_type(rest) } else { None };
        let (name, used) = base.or_else(|| qualified(rest))?;
        Some((self.named(&name, tag)?, at + used))
    }

    fn named(&self, name: &str, tag: Option<DwTag>) -> Option<Die> {
        let own = if tag.is_none() { self.template_argument(name) } else { None };
        own.or_else(|| self.debug.index().type_named(name, tag, Some(self.function)))
    }

    /// `T`, where the function or its class is a template over it; or a typedef of the class.
    fn template_argument(&self, name: &str) -> Option<Die> {
        let this = || self.debug.variable_type(self.function, "this").and_then(|this| self.debug.pointee(this));
        let named = |parent: Die| {
            let children = self.debug.children(parent).into_iter();
            let mut types =
                children.filter(|child| matches!(child.0, c::DW_TAG_template_type_parameter | c::DW_TAG_typedef));
            let (_, found) = types.find(|(_, die)| self.debug.text(*die, c::DW_AT_name).as_deref() == Some(name))?;
            self.debug.link(found, c::DW_AT_type)
        };
        named(self.debug.written_function(self.function)).or_else(|| named(this()?))
    }

    /// The type of an expression at the start of `tokens`: `*p`, `p->q[i]`, `(*p).q`, `&x`.
    pub fn expression(&self, tokens: &[Token]) -> Read<Element> {
        match tokens.first()?.text.as_str() {
            "*" => {
                let (element, used) = self.expression(&tokens[1..])?;
                Some((self.pointed_to(&element)?, used + 1))
            }
            "&" => match self.expression(&tokens[1..])? {
                (Element::Value(kind), used) => Some((Element::Pointer(kind), used + 1)),
                _ => None,
            },
            _ => self.postfix(tokens),
        }
    }

    fn postfix(&self, tokens: &[Token]) -> Read<Element> {
        let (mut element, mut at) = self.primary(tokens)?;
        while let Some(operator) = tokens.get(at) {
            match operator.text.as_str() {
                "->" | "." => {
                    let holder = if operator.text == "->" { self.pointed_to(&element)? } else { element };
                    let (Element::Value(kind), Some(name)) = (holder, tokens.get(at + 1)) else {
                        return None;
                    };
                    element = Element::Value(self.debug.member_type(kind, &name.text)?);
                    at += 2;
                }
                "[" => {
                    element = self.pointed_to(&element)?;
                    at = matching(tokens, at) + 1;
                }
                _ => break,
            }
        }
        Some((element, at))
    }

    fn primary(&self, tokens: &[Token]) -> Read<Element> {
        let first = tokens.first()?;
        if first.text == "(" {
            let close = matching(tokens, 0);
            let inner = tokens.get(1..close)?;
            let (element, used) = self.expression(inner)?;
            return (used == inner.len()).then_some((element, close + 1));
        }
        let kind = first.is_name().then(|| self.debug.variable_type(self.function, &first.text))??;
        Some((Element::Value(kind), 1))
    }

    /// What a pointer points to, or an array is made of.
    pub fn pointed_to(&self, element: &Element) -> Option<Element> {
        let kind = match element {
            Element::Pointer(kind) => return Some(Element::Value(*kind)),
            Element::Value(kind) => self.debug.strip(*kind),
        };
        match self.debug.tag(kind)? {
            c::DW_TAG_array_type => self.debug.link(kind, c::DW_AT_type).map(Element::Value),
            _ => self.debug.pointee(kind).or_else(|| self.smart_pointee(kind)).map(Element::Value),
        }
    }

    /// `T` of `std::unique_ptr<T>` and `std::shared_ptr<T>`.
    fn smart_pointee(&self, kind: Die) -> Option<Die> {
        let name = self.debug.text(kind, c::DW_AT_name)?;
        let smart = name.starts_with("unique_ptr<") || name.starts_with("shared_ptr<");
        smart.then(|| self.debug.first_type_argument(kind))?
    }
}

fn tag_of(word: &str) -> Option<DwTag> {
    match word {
        "struct" | "class" => Some(c::DW_TAG_structure_type),
        "union" => Some(c::DW_TAG_union_type),
        "enum" => Some(c::DW_TAG_enumeration_type),
        _ => None,
    }
}

/// `ns::Foo<int, 4>`, spelt as debug information spells it.
fn qualified(tokens: &[Token]) -> Read<String> {
    let mut name = String::new();
    let mut at = 0;
    if tokens.first()?.text == "::" {
        at = 1;
    }
    loop {
        let token = tokens.get(at).filter(|token| token.is_name())?;
        name.push_str(&token.text);
        at += 1;
        if tokens.get(at).is_some_and(|token| token.text == "<") {
            let close = closing_angle(tokens, at)?;
            name.push_str(&spell(&tokens[at..=close]));
            at = close + 1;
        }
        if tokens.get(at).is_none_or(|token| token.text != "::") {
            return Some((name, at));
        }
        name.push_str("::");
        at += 1;
    }
}

fn closing_angle(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "<" => depth += 1,
            ">" => depth -= 1,
            ";" | "{" => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn spell(tokens: &[Token]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < tokens.len() {
        let (word, used) = base_type(&tokens[at..]).unwrap_or_else(|| (tokens[at].text.clone(), 1));
        at += used;
        text.push_str(&word);
        let next = tokens.get(at);
        let words = tokens[at - 1].is_name() && next.is_some_and(|next| next.is_name());
        let angles = word == ">" && next.is_some_and(|next| next.text == ">");
        if word == "," || words || angles {
            text.push(' ');
        }
    }
    text
}

/// `unsigned long` as debug information spells it: `long unsigned int`.
fn base_type(tokens: &[Token]) -> Read<String> {
    const WORDS: [&str; 8] = ["unsigned", "signed", "long", "short", "int", "char", "float", "double"];
    let words: Vec<&str> =
        tokens.iter().map(|token| token.text.as_str()).take_while(|word| WORDS.contains(word)).collect();
    let has = |word: &str| words.contains(&word);
    let longs = words.iter().filter(|word| **word == "long").count();
    let unsigned = if has("unsigned") { "unsigned " } else { "" };
    let name = match () {
        _ if words.is_empty() => return None,
        _ if has("char") && has("signed") => "signed char".to_owned(),
        _ if has("char") => format!("{unsigned}char"),
        _ if has("double") => ["double", "long double"][longs.min(1)].to_owned(),
        _ if has("float") => "float".to_owned(),
        _ if has("short") => format!("short {unsigned}int"),
        _ => format!("{}{unsigned}int", "long ".repeat(longs)),
    };
    Some((name, words.len()))
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn base_types_are_spelt_as_compilers_do() {
        let spelt = |text: &str| base_type(&tokens(text)).map(|read| read.0);
        assert_eq!(spelt("unsigned long)").as_deref(), Some("long unsigned int"));
        assert_eq!(spelt("unsigned").as_deref(), Some("unsigned int"));
        assert_eq!(spelt("long long *").as_deref(), Some("long long int"));
        assert_eq!(spelt("foo"), None);
    }

    #[test]
    fn template_arguments_belong_to_the_name() {
        let read = qualified(&tokens("ns::pair<unsigned,list<int>>*"));
        assert_eq!(read, Some(("ns::pair<unsigned int, list<int> >".to_owned(), 11)));
    }
}
