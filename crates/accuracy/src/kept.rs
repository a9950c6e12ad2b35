// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulations of former runs, so that one which was stopped goes on where it was: what a simulation says depends on nothing
//! but what its key is made of.
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

pub struct Kept {
    /// The command and its runtime.
    under_test: u64,
    all: Mutex<All>,
}

struct All {
    known: BTreeMap<u64, Value>,
    file: File,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    key: u64,
    value: Value,
}

impl Kept {
    /// `file` is made if there is none. Of `under_test` all bytes count.
    pub fn open(file: &Path, under_test: &[PathBuf]) -> Result<Kept> {
        let mut hasher = DefaultHasher::new();
        for path in under_test {
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?.hash(&mut hasher);
        }
        let written = || {
            std::fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let mut file = File::options().append(true).create(true).open(file)?;
            // The last line may have been cut off.
            file.write_all(b"\n")?;
            Ok::<_, std::io::Error>((text, file))
        };
        let (text, file) = written().with_context(|| format!("cannot write {}", file.display()))?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known = lines.map(|Line { key, value }| (key, value)).collect();
        Ok(Kept { under_test: hasher.finish(), all: Mutex::new(All { known, file }) })
    }

    /// What `simulate` says of this program with these settings, or has said before.
    pub fn or<T: Serialize + DeserializeOwned>(
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
        let line = serde_json::to_string(&Line { key, value: value.clone() })? + "\n";
        let mut all = self.all.lock().expect("nobody panics with it");
        all.file.write_all(line.as_bytes()).context("cannot keep a result")?;
        all.known.insert(key, value);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_is_done_once_for_the_same_input() {
        let place = tempfile::tempdir().unwrap();
        let [file, command, program] = ["kept", "command", "program"].map(|name| place.path().join(name));
        let open = || Kept::open(&file, std::slice::from_ref(&command)).unwrap();
        let says = |kept: &Kept, settings: &[&str], value: f64| kept.or(&program, settings, || Ok(value)).unwrap();
        std::fs::write(&command, "one").unwrap();
        std::fs::write(&program, "a").unwrap();
        let kept = open();
        assert_eq!(says(&kept, &["2 CPUs"], 1.5), 1.5);
        assert_eq!(says(&kept, &["2 CPUs"], 9.0), 1.5);
        assert_eq!(says(&kept, &["4 CPUs"], 2.5), 2.5);

        // Stopped within a line.
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, &text[..text.len() - 4]).unwrap();
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
        let kept = Kept::open(&place.path().join("kept"), &[]).unwrap();
        assert!(kept.or(&program, &[], || anyhow::bail!("no") as Result<f64>).is_err());
        assert_eq!(kept.or(&program, &[], || Ok(1.0)).unwrap(), 1.0);
    }
}
