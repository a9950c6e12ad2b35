// SPDX-License-Identifier: MIT OR Apache-2.0
//! For `scripts/same-recordings`, which compares two builds of the runtime.
//!
//! - `recordings pad IN OUT`: a copy of the runtime whose image ends on a multiple of 4 MiB. The addresses of the
//!   libraries that are loaded behind it, and with them the lines that their data lies on, then do not depend on its size.
//! - `recordings text FILE...`: writes FILE.text: the recording as JSON, without what tells builds apart: where in the
//!   runtime an address lies.
use corefold_recording::Run;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;
use std::{env, error::Error, fs};

const ALIGNMENT: u64 = 4 << 20;
/// Shared libraries are above this address, the program below.
const LIBRARIES: u64 = 0x7000_0000_0000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pad", from, to] => pad(from, to),
        ["text", ref files @ ..] => files.iter().try_for_each(|file| text(Path::new(file))),
        _ => Err("recordings pad IN OUT, or recordings text FILE...".into()),
    }
}

fn word(image: &[u8], at: usize, bytes: usize) -> u64 {
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(&image[at..at + bytes]);
    u64::from_le_bytes(word)
}

/// Makes the last loaded segment longer in memory, by zeros. The fields are those of a 64-bit ELF file.
fn pad(from: &str, to: &str) -> Result<(), Box<dyn Error>> {
    let mut image = fs::read(from)?;
    let (headers, size, count) = (word(&image, 0x20, 8), word(&image, 0x36, 2), word(&image, 0x38, 2));
    let is_loaded = |at: &usize| word(&image, *at, 4) == 1;
    let segments = (0..count).map(|n| (headers + n * size) as usize).filter(is_loaded);
    let last = segments.max_by_key(|at| word(&image, at + 0x10, 8)).ok_or("nothing to load")?;
    let memory = ALIGNMENT - word(&image, last + 0x10, 8) % ALIGNMENT;
    if memory < word(&image, last + 0x28, 8) {
        return Err("the runtime's last segment is larger than the alignment".into());
    }
    image[last + 0x28..last + 0x30].copy_from_slice(&memory.to_le_bytes());
    fs::write(to, image)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    Ok(())
}

fn text(file: &Path) -> Result<(), Box<dyn Error>> {
    let Ok(bytes) = fs::read(file) else { return Ok(()) };
    let runs = corefold_recording::decode(&bytes)?;
    let mut shown = Vec::new();
    for run in runs {
        let hidden = around_runtime(&run);
        let mut value = serde_json::to_value(&run)?;
        hide(&mut value, &hidden);
        shown.push(value);
    }
    fs::write(file.with_extension("rec.text"), serde_json::to_string_pretty(&Value::Array(shown))?)?;
    Ok(())
}

/// Where the runtime is: no module of a recording, but between two of them, and no smaller than [`pad`] has made it.
fn around_runtime(run: &Run) -> Range<u64> {
    let libraries = run.modules.windows(2).filter(|pair| pair[0].start >= LIBRARIES);
    let mut gaps = libraries.map(|pair| pair[0].end..pair[1].start);
    gaps.find(|gap| gap.end.saturating_sub(gap.start) >= ALIGNMENT).unwrap_or_default()
}

/// Puts the beginning of `range` in place of all addresses in it.
fn hide(value: &mut Value, range: &Range<u64>) {
    match value {
        Value::Number(number) if number.as_u64().is_some_and(|number| range.contains(&number)) => {
            *value = json!(range.start);
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide(value, range)),
        Value::Object(values) => values.values_mut().for_each(|value| hide(value, range)),
        _ => {}
    }
}
