// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program marks its work with, in its language.
use corefold_explain::Explained;

pub struct Marks {
    begin: &'static str,
    end: &'static str,
    pub progress: &'static str,
}

const C: Marks = Marks { begin: "COREFOLD_BEGIN", end: "COREFOLD_END", progress: "COREFOLD_PROGRESS" };
const RUST: Marks =
    Marks { begin: "corefold::begin!()", end: "corefold::end!()", progress: "corefold::progress!(\"name\")" };

impl Marks {
    pub fn of(explained: &Explained) -> Marks {
        let mut files = explained.functions.iter().filter_map(|function| function.file.as_deref());
        if files.any(|file| file.ends_with(".rs")) { RUST } else { C }
    }

    /// What to do about runs that show how threads begin and end rather than what they do.
    pub fn more_work(&self) -> String {
        let Marks { begin, end, .. } = self;
        format!(
            "Give threads more work, or mark the region of interest: {begin} where all threads are at work, {end} where it ends."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corefold_explain::Function;

    #[test]
    fn a_program_is_told_of_its_languages_marks() {
        let mut run = crate::sample::run(4);
        let of = |file: &str| Function { file: Some(file.into()), ..Function::default() };
        run.functions = vec![of("src/pool.c")];
        assert!(Marks::of(&run).more_work().contains("COREFOLD_BEGIN where"));
        run.functions.push(of("src/pool.rs"));
        assert!(Marks::of(&run).more_work().contains("corefold::begin!() where"));
    }
}
