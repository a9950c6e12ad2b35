// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of simulations, kept in a file: a suite that was stopped does not simulate again what it has simulated. A result
//! depends on nothing but what its key is made of, and the system's libraries: after an upgrade of these, delete the file.
use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Variables that begin so reach the program, or the command.
const VARIABLES: [&str; 4] = ["COREFOLD_", "GLIBC_", "LD_", "MALLOC_"];

pub struct Kept {
    /// The commands and the runtime, and the environment's part.
    under_test: u64,
    all: Mutex<All>,
}

struct All {
    known: BTreeMap<u64, Value>,
    /// Where they are saved, if they are.
    path: Option<PathBuf>,
    file: Option<File>,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    key: u64,
    value: Value,
}

impl Kept {
    /// Those in the file at `path`, if there is one; without a path, what is simulated is not kept. Of `under_test` all bytes
    /// count.
    pub fn open(path: Option<PathBuf>, under_test: &[PathBuf]) -> Result<Kept> {
        let mut hasher = DefaultHasher::new();
        for path in under_test {
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?.hash(&mut hasher);
        }
        let reaches = |name: &str| VARIABLES.iter().any(|begins| name.starts_with(begins));
        let variables: BTreeMap<_, _> =
            std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(reaches)).collect();
        variables.hash(&mut hasher);
        let bytes = path.as_ref().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        // Whatever has been cut off is no line.
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        let known = lines.map(|Line { key, value }| (key, value)).collect();
        Ok(Kept { under_test: hasher.finish(), all: Mutex::new(All { known, path, file: None }) })
    }

    /// The kept result for this program with these settings; else what `simulate` returns, which is kept from now on.
    pub fn or_simulate<T: Serialize + DeserializeOwned>(
        &self,
        program: &Path,
        settings: &[&str],
        simulate: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let mut hasher = DefaultHasher::new();
        let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
        (self.under_test, bytes, settings).hash(&mut hasher);
        let key = hasher.finish();
        let before = self.all.lock().expect("nobody panics with it").known.get(&key).cloned();
        if let Some(result) = before.and_then(|value| serde_json::from_value(value).ok()) {
            return Ok(result);
        }
        let result = simulate()?;
        let value = serde_json::to_value(&result)?;
        self.all.lock().expect("nobody panics with it").add(Line { key, value })?;
        Ok(result)
    }
}

impl All {
    fn add(&mut self, line: Line) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        // On a line of its own, also where the last was cut off.
        let text = format!("\n{}\n", serde_json::to_string(&line)?);
        let open = || {
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            File::options().append(true).create(true).open(path)
        };
        let file = match self.file.take() {
            Some(file) => Ok(file),
            None => open(),
        };
        // The result is right without.
        match file.and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file)) {
            Ok(file) => self.file = Some(file),
            Err(why) => eprintln!("warning: cannot keep a result in {}: {why}", path.display()),
        }
        self.known.insert(line.key, line.value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_is_done_once_for_the_same_input() {
        let place = tempfile::tempdir().unwrap();
        let [file, command, program] = ["kept", "command", "program"].map(|name| place.path().join(name));
        let open = || Kept::open(Some(file.clone()), std::slice::from_ref(&command)).unwrap();
        let says = |kept: &Kept, settings: &[&str], value: f64| {
            let simulate = || Ok((value, "2.0×".to_owned()));
            kept.or_simulate(&program, settings, simulate).unwrap().0
        };
        std::fs::write(&command, "one").unwrap();
        std::fs::write(&program, "a").unwrap();
        let kept = open();
        assert_eq!(says(&kept, &["2 CPUs"], 1.5), 1.5);
        assert_eq!(says(&kept, &["2 CPUs"], 9.0), 1.5);
        assert_eq!(says(&kept, &["4 CPUs"], 2.5), 2.5);

        // Stopped within a line, and within its letter of two bytes: `×"]}` is its end.
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() - 5]).unwrap();
        assert!(String::from_utf8(std::fs::read(&file).unwrap()).is_err());
        let kept = open();
        assert_eq!(says(&kept, &["2 CPUs"], 9.0), 1.5);
        assert_eq!(says(&kept, &["4 CPUs"], 3.5), 3.5);
        assert_eq!(says(&open(), &["4 CPUs"], 9.0), 3.5);

        std::fs::write(&program, "b").unwrap();
        assert_eq!(says(&open(), &["2 CPUs"], 4.5), 4.5);
        std::fs::write(&program, "a").unwrap();
        std::fs::write(&command, "other").unwrap();
        assert_eq!(says(&open(), &["2 CPUs"], 5.5), 5.5);
    }

    #[test]
    fn what_failed_is_tried_again() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("program");
        std::fs::write(&program, "a").unwrap();
        let kept = Kept::open(None, &[]).unwrap();
        assert!(kept.or_simulate(&program, &[], || anyhow::bail!("no") as Result<f64>).is_err());
        assert_eq!(kept.or_simulate(&program, &[], || Ok(1.0)).unwrap(), 1.0);
    }
}
