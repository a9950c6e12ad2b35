// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the cases and the kit's sources are.
use anyhow::{Context, Result, bail};
use corefold_driver::BadInput;
use std::path::{Path, PathBuf};

/// Names the folder that has `cases` and `kit` in it, instead of looking for it.
pub const VARIABLE: &str = "COREFOLD_SHARE";

pub struct Home(PathBuf);

impl Home {
    /// What [`VARIABLE`] names; else `../share/corefold` beside an installed command; else the clone that the command
    /// was built in.
    pub fn find() -> Result<Home> {
        if let Some(named) = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()) {
            let named = PathBuf::from(named);
            return match complete(&named) {
                true => Ok(Home(named)),
                false => Err(bad_input(format!(
                    "{VARIABLE} names {}, which does not contain cases/ and kit/src/",
                    named.display()
                ))),
            };
        }
        let own = std::env::current_exe().and_then(|own| own.canonicalize()).context("finding corefold's own file")?;
        match places(&own).into_iter().find(|place| complete(place)) {
            Some(place) => Ok(Home(place)),
            None => bail!(
                "no cases found: there is no ../share/corefold beside {}, and the clone it was built in is gone; run \
                 `make install`, or set {VARIABLE} to a clone",
                own.display()
            ),
        }
    }

    pub fn cases(&self) -> Result<Vec<String>> {
        let entries = std::fs::read_dir(self.0.join("cases")).context("reading the folder of cases")?;
        let folders = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|p| p.join("case.toml").is_file());
        let mut names: Vec<_> = folders.filter_map(|p| Some(p.file_name()?.to_str()?.to_owned())).collect();
        names.sort();
        Ok(names)
    }

    pub fn case(&self, name: &str) -> Result<PathBuf> {
        if self.cases()?.iter().any(|known| known == name) {
            return Ok(self.0.join("cases").join(name));
        }
        Err(bad_input(format!("unknown case {name:?}; the cases are: {}", self.cases()?.join(", "))))
    }

    pub fn kit(&self) -> PathBuf {
        self.0.join("kit")
    }

    /// Descriptions of public packages, and what downloads them.
    pub fn suites(&self) -> PathBuf {
        self.0.join("tests/suites")
    }
}

/// Something the user can put right.
fn bad_input(message: String) -> anyhow::Error {
    anyhow::Error::new(BadInput(message))
}

fn complete(place: &Path) -> bool {
    place.join("cases").is_dir() && place.join("kit/src").is_dir()
}

fn places(own: &Path) -> Vec<PathBuf> {
    let installed = own.ancestors().nth(2).map(|prefix| prefix.join("share/corefold"));
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_path_buf);
    [installed, clone].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_copy_goes_before_the_clone() {
        let places = places(Path::new("/usr/local/bin/corefold"));
        assert_eq!(places[0], Path::new("/usr/local/share/corefold"));
        assert!(places[1].join("crates/case/Cargo.toml").is_file());
    }

    #[test]
    fn an_unknown_case_lists_the_known_ones() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("cases/one")).unwrap();
        std::fs::write(root.path().join("cases/one/case.toml"), "").unwrap();
        let home = Home(root.path().into());
        assert_eq!(home.case("two").unwrap_err().to_string(), "unknown case \"two\"; the cases are: one");
        assert!(home.case("one").is_ok());
    }
}
