// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON document that commands write beside their text, or in its place.
use crate::screen;
use anyhow::Result;
use corefold_driver::save::Output;
use std::path::Path;

/// Where the JSON document goes: looked at before anything is simulated.
pub enum Json {
    /// In place of the text.
    Standard,
    Beside(Option<Output>),
}

impl Json {
    pub fn create(path: Option<&Path>) -> Result<Json> {
        match path {
            Some(path) if path == Path::new("-") => Ok(Json::Standard),
            path => path.map(|path| Output::create(path, "the JSON document")).transpose().map(Json::Beside),
        }
    }

    /// Whether no document is wanted.
    pub fn is_none(&self) -> bool {
        matches!(self, Json::Beside(None))
    }

    /// Prints one or both. A document that cannot be written does not keep the text back.
    pub fn print(self, json: impl FnOnce() -> String, text: impl FnOnce() -> String) -> Result<()> {
        match self {
            Json::Standard => screen::print(&json()),
            Json::Beside(output) => {
                let written = output.map_or(Ok(()), |output| output.write(json().as_bytes()));
                screen::print(&text()).and(written)
            }
        }
    }
}
