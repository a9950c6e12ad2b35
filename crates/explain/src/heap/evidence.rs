// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a statement says about the type of the memory it allocates.
use super::layout::Element;
use super::names::Scope;
use super::statement::{Statement, matching};
use super::tokens::Token;

/// How a type came to be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ground {
    /// `new T`, or the standard library's allocator of `T`.
    New,
    /// `new T[n]`.
    NewArray,
    /// `sizeof(T)` added to something: one `T` with a tail.
    SizeWithTail,
    /// `sizeof(T)`, alone or times something.
    Size,
    /// The result is cast or assigned to a `T *`, or returned as one.
    Assigned,
    /// Named among the arguments in some other way.
    Mentioned,
    /// A pointer to it is among the arguments, so it is believed for one object of exactly that size.
    Argument,
}

/// A type that the memory may be of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guess {
    pub element: Element,
    pub ground: Ground,
}

/// All that `statement` of the function `scope` says, the best evidence first.
pub(crate) fn evidence(statement: &Statement, scope: Scope<'_>) -> Vec<Guess> {
    let reader = Reader { statement, scope };
    let assigned = reader.assigned();
    let mut guesses = reader.new_expression();
    let mut sizes = reader.sizes();
    // Of several sizes, the one that the result is assigned as: `p = malloc(sizeof *p + n * sizeof(int))`.
    sizes.sort_by_key(|size| (Some(&size.element) != assigned.as_ref(), size.ground));
    guesses.extend(sizes);
    guesses.extend(assigned.map(|element| Guess { element, ground: Ground::Assigned }));
    guesses.extend(reader.mentioned());
    guesses
}

struct Reader<'a> {
    statement: &'a Statement,
    scope: Scope<'a>,
}

impl Reader<'_> {
    fn word(&self, at: usize) -> &str {
        self.statement.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    /// `new T`, `new (place) T[n]`, `make_unique<T[]>`: the one nearest before the call's place, for
    /// compilers place a `new` at its keyword or at its end.
    fn new_expression(&self) -> Vec<Guess> {
        let is_new = |at: &usize| matches!(self.word(*at), "new" | "make_unique");
        let count = self.statement.tokens.len();
        let found = (0..count.min(self.statement.call + 1)).rev().find(is_new).or_else(|| (0..count).find(is_new));
        found.and_then(|at| self.new_at(at + 1)).into_iter().collect()
    }

    fn new_at(&self, at: usize) -> Option<Guess> {
        let tokens = &self.statement.tokens;
        let at = match self.word(at) {
            "(" => matching(tokens, at) + 1,
            "<" => at + 1,
            _ => at,
        };
        let (element, used) = self.scope.type_name(self.statement.words(at))?;
        let ground = if self.word(at + used) == "[" { Ground::NewArray } else { Ground::New };
        Some(Guess { element, ground })
    }

    /// Every `sizeof` among the call's arguments; of the whole statement if there is none.
    fn sizes(&self) -> Vec<Guess> {
        let sizes_in = |range: std::ops::Range<usize>| -> Vec<Guess> {
            range.filter(|at| self.word(*at) == "sizeof").filter_map(|at| self.size_at(at)).collect()
        };
        let own = sizes_in(self.statement.arguments());
        if own.is_empty() { sizes_in(0..self.statement.tokens.len()) } else { own }
    }

    fn size_at(&self, at: usize) -> Option<Guess> {
        let rest = self.statement.words(at + 1);
        let (element, end) = match rest.first()?.text.as_str() {
            "(" => {
                let close = matching(rest, 0);
                (self.type_or_expression(rest.get(1..close)?)?, at + 2 + close)
            }
            _ => {
                let (element, used) = self.scope.expression(rest)?;
                (element, at + 1 + used)
            }
        };
        let neighbours = [self.word(at.wrapping_sub(1)), self.word(end)];
        let sum = neighbours.contains(&"+") && !neighbours.contains(&"*");
        Some(Guess { element, ground: if sum { Ground::SizeWithTail } else { Ground::Size } })
    }

    fn type_or_expression(&self, tokens: &[Token]) -> Option<Element> {
        let whole = |read: Option<(Element, usize)>| read.filter(|read| read.1 == tokens.len()).map(|read| read.0);
        whole(self.scope.expression(tokens))
            .or_else(|| whole(self.scope.type_name(tokens)))
            // `sizeof(T[8])`: as many of `T`.
            .or_else(|| self.scope.type_name(tokens).filter(|read| tokens[read.1].text == "[").map(|read| read.0))
    }

    /// The type that the call's result is given by a cast, an assignment or a `return`.
    fn assigned(&self) -> Option<Element> {
        let (cast, at) = self.before_call();
        if cast.is_some() {
            return cast;
        }
        let target = match self.word(at.wrapping_sub(1)) {
            "=" => self.target(at - 1),
            "return" => {
                let returned = self.scope.debug.type_of(self.scope.function)?;
                Some(Element::Value(returned))
            }
            _ => None,
        };
        self.scope.pointed_to(&target?)
    }

    /// The cast before the call, if any, and where call and cast begin.
    fn before_call(&self) -> (Option<Element>, usize) {
        let mut at = self.statement.call;
        // `arena->allocate(…)`, `std::malloc(…)`
        while at >= 2 && matches!(self.word(at - 1), "::" | "->" | ".") {
            at -= 2;
        }
        loop {
            match self.word(at.wrapping_sub(1)) {
                ")" => {
                    let Some(open) = (0..at).rev().find(|open| matching(&self.statement.tokens, *open) == at - 1)
                    else {
                        return (None, at);
                    };
                    let cast = self.scope.type_name(&self.statement.tokens[open + 1..at - 1]);
                    if let Some((Element::Pointer(kind), _)) = cast {
                        return (Some(Element::Value(kind)), open);
                    }
                    at = open;
                }
                "(" => match self.static_cast(at - 1) {
                    Some(element) => return (Some(element), at - 1),
                    None => at -= 1,
                },
                _ => return (None, at),
            }
            if at == 0 {
                return (None, 0);
            }
        }
    }

    /// `static_cast<T *>(`, whose parenthesis is at `open`.
    fn static_cast(&self, open: usize) -> Option<Element> {
        let start = (0..open).rev().take(12).find(|at| self.word(*at).ends_with("_cast"))?;
        match self.scope.type_name(self.statement.words(start + 2))? {
            (Element::Pointer(kind), used) if start + 2 + used + 1 == open => Some(Element::Value(kind)),
            _ => None,
        }
    }

    /// What stands before the `=` at `equals`: a declaration's variable, or an expression.
    fn target(&self, equals: usize) -> Option<Element> {
        let tokens = &self.statement.tokens[..equals];
        let last = tokens.last().filter(|token| token.is_name());
        if let (Some(last), true) = (last, self.is_declaration(equals)) {
            return self.scope.debug.variable_type(self.scope.function, &last.text).map(Element::Value);
        }
        (0..equals).find_map(|start| {
            let (element, used) = self.scope.expression(&tokens[start..])?;
            (start + used == equals).then_some(element)
        })
    }

    /// `foo *p =` and `auto p =`, but not `*p =` nor `return *p =`.
    fn is_declaration(&self, equals: usize) -> bool {
        let stars =
            (0..equals.saturating_sub(1)).rev().take_while(|at| matches!(self.word(*at), "*" | "const")).count();
        let before = equals.saturating_sub(2 + stars);
        let word = self.statement.tokens.get(before).filter(|_| equals >= 2 + stars);
        word.is_some_and(|word| {
            (word.is_name() && !matches!(word.text.as_str(), "else" | "do" | "return")) || word.text == ">"
        })
    }

    /// Types named among the arguments, and what the variables there point to: `NEW(struct foo)`,
    /// `posix_memalign(&p, …)`, `ALLOCATE(p)`.
    fn mentioned(&self) -> Vec<Guess> {
        let range = self.statement.arguments();
        let (start, end) = (range.start.min(range.end), range.end);
        (start..end)
            .filter(|at| !matches!(self.word(at.wrapping_sub(1)), "->" | "."))
            .filter_map(|at| self.mentioned_at(at, end))
            .collect()
    }

    fn mentioned_at(&self, at: usize, end: usize) -> Option<Guess> {
        let tokens = &self.statement.tokens[at..end];
        let (element, ground) = match (self.scope.expression(tokens), self.word(at)) {
            // `&p`: the call sets `p`.
            (Some((Element::Pointer(kind), _)), "&") => {
                (self.scope.pointed_to(&Element::Value(kind))?, Ground::Mentioned)
            }
            (Some((element, _)), _) => (self.scope.pointed_to(&element)?, Ground::Argument),
            (None, _) => (self.scope.type_name(tokens)?.0, Ground::Mentioned),
        };
        // `size_t` and the like may be in a cast, but are seldom what memory is for.
        let is_base = matches!(element, Element::Value(kind) if self.scope.debug.is_base(kind));
        (!is_base).then_some(Guess { element, ground })
    }
}
