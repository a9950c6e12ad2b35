// SPDX-License-Identifier: MIT OR Apache-2.0
//! A statement's text, cut into labels, directives and instructions as the assembler does.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Label(String),
    /// A directive or an assignment.
    Directive(String),
    Instruction(String),
}

/// Cuts at line ends and semicolons; leaves out comments and nothing else.
pub fn split(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for line in lines(text) {
        add(line.trim(), &mut pieces);
    }
    pieces
}

fn add(mut line: &str, pieces: &mut Vec<Piece>) {
    while let Some((label, rest)) = label(line) {
        pieces.push(Piece::Label(label.to_owned()));
        line = rest.trim_start();
    }
    if line.is_empty() {
        return;
    }
    let text = line.to_owned();
    pieces.push(if line.starts_with('.') || is_assignment(line) {
        Piece::Directive(text)
    } else {
        Piece::Instruction(text)
    });
}

/// The label that a line begins with.
fn label(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    let name = name.trim_end();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '\\' | '@' | '(' | ')');
    (!name.is_empty() && name.chars().all(plain)).then_some((name, rest))
}

fn is_assignment(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$')).trim_start();
    rest.starts_with('=') && !rest.starts_with("==")
}

/// Lines and what semicolons part, without comments.
fn lines(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let last = all.last_mut().expect("there is always one");
        match c {
            '"' => string(&mut rest, last),
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '/' if rest.peek() == Some(&'*') => {
                comment(&mut rest);
                last.push(' ');
            }
            '\n' | ';' => all.push(String::new()),
            '\t' | '\r' => last.push(' '),
            _ => last.push(c),
        }
    }
    all
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn string(rest: &mut Rest, into: &mut String) {
    into.push('"');
    while let Some(c) = rest.next() {
        into.push(c);
        match c {
            '\\' => into.extend(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

fn comment(rest: &mut Rest) {
    let mut star = false;
    for c in rest.by_ref().skip(1) {
        if star && c == '/' {
            return;
        }
        star = c == '*';
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, split};

    #[test]
    fn statements_are_cut_as_the_assembler_does() {
        use Piece::{Directive, Instruction, Label};
        let text = "# 3 \"a.c\" 1\n1:\tlock; xaddl %eax, (%rbx) # not; this\n .ascii \"a;#b\\\"c\" ; 2: 3: nop /* a;\nb */\n\
                    x = 4\n.pushsection .smp_locks,\"a\"\nfoo\\@: incl 8(%rsp)";
        let owned = |piece: &str| piece.to_owned();
        assert_eq!(
            split(text),
            [
                Label(owned("1")),
                Instruction(owned("lock")),
                Instruction(owned("xaddl %eax, (%rbx)")),
                Directive(owned(".ascii \"a;#b\\\"c\"")),
                Label(owned("2")),
                Label(owned("3")),
                Instruction(owned("nop")),
                Directive(owned("x = 4")),
                Directive(owned(".pushsection .smp_locks,\"a\"")),
                Label(owned("foo\\@")),
                Instruction(owned("incl 8(%rsp)")),
            ]
        );
    }

    #[test]
    fn a_segment_is_no_label() {
        let text = "movq %fs:0, %rax";
        assert_eq!(split(text), [Piece::Instruction(text.to_owned())]);
    }
}
