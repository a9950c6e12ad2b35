// SPDX-License-Identifier: MIT OR Apache-2.0
//! From TOML to entries: each number with its line, its unit and where it comes from.
use crate::{Error, keys, nearest};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a number comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Source(String),
    /// Nobody measured it; says what it was estimated from.
    Estimated(String),
}

impl Origin {
    pub fn words(&self) -> &str {
        match self {
            Origin::Source(words) | Origin::Estimated(words) => words,
        }
    }
}

/// `section.key = { value = …, unit = …, source = … }`.
#[derive(Debug)]
pub struct Entry {
    pub key: String,
    pub line: usize,
    pub value: f64,
    pub unit: String,
    pub origin: Origin,
}

#[derive(Debug)]
pub struct Text {
    pub name: String,
    pub description: String,
    pub entries: Vec<Entry>,
}

/// A file while it is read: knows how to say where something is wrong.
pub struct Reader<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

type Field<'a> = (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>);

impl Reader<'_> {
    pub fn read(&self) -> Result<Text, Error> {
        let document = DeTable::parse(self.text).map_err(|e| self.syntax(&e))?;
        let (mut name, mut description, mut entries) = (None, None, Vec::new());
        for (key, value) in document.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", v) => name = Some(self.words("name", value.span(), v)?),
                ("description", v) => description = Some(self.words("description", value.span(), v)?),
                (section, DeValue::Table(table)) => self.section(section, table, &mut entries)?,
                (other, _) => return Err(self.unknown(key.span(), other)),
            }
        }
        Ok(Text {
            name: name.ok_or_else(|| self.missing("name"))?,
            description: description.ok_or_else(|| self.missing("description"))?,
            entries,
        })
    }

    pub fn missing(&self, key: &str) -> Error {
        Error::file(self.file, format!("{key} is missing"))
    }

    pub fn at(&self, line: usize, what: String) -> Error {
        Error::line(self.file, line, what)
    }

    fn section(&self, section: &str, table: &DeTable<'_>, entries: &mut Vec<Entry>) -> Result<(), Error> {
        for (key, value) in table {
            let name = format!("{section}.{}", key.get_ref());
            if keys::find(&name).is_none() && keys::turbo(&name).is_none() {
                return Err(self.unknown(key.span(), &name));
            }
            entries.push(self.entry(name, key.span(), value)?);
        }
        Ok(())
    }

    fn entry(&self, key: String, place: Range<usize>, value: &Spanned<DeValue<'_>>) -> Result<Entry, Error> {
        let DeValue::Table(fields) = value.get_ref() else {
            return Err(self.wrong(place, &key, "must be a table: { value = …, unit = \"…\", source = \"…\" }"));
        };
        let (mut number, mut unit, mut source, mut estimated) = (None, None, None, None);
        for field in fields {
            match field.0.get_ref().as_ref() {
                "value" => number = Some(self.number(&key, field)?),
                "unit" => unit = Some(self.field_words(&key, field)?),
                "source" => source = Some(self.field_words(&key, field)?),
                "estimated" => estimated = Some(self.field_words(&key, field)?),
                other => {
                    return Err(self.wrong(field.0.span(), &key, &format!("unknown field {other:?}")));
                }
            }
        }
        let lacks = |what: &str| self.wrong(place.clone(), &key, what);
        let origin = match (source, estimated) {
            (Some(source), None) => Origin::Source(source),
            (None, Some(from)) => Origin::Estimated(from),
            (None, None) => {
                return Err(lacks(
                    "needs \"source\" (where the value is published) or \"estimated\" (what it is estimated from)",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(lacks("has both \"source\" and \"estimated\": give one of them"));
            }
        };
        Ok(Entry {
            line: self.line(place.start),
            value: number.ok_or_else(|| lacks("has no \"value\""))?,
            unit: unit.ok_or_else(|| lacks("has no \"unit\""))?,
            origin,
            key,
        })
    }

    fn number(&self, key: &str, (_, value): Field<'_>) -> Result<f64, Error> {
        let digits = match value.get_ref() {
            DeValue::Integer(n) if n.radix() == 10 => n.as_str(),
            DeValue::Float(n) => n.as_str(),
            _ => return Err(self.wrong(value.span(), key, "\"value\" must be a number")),
        };
        match digits.parse::<f64>() {
            Ok(n) if n.is_finite() => Ok(n),
            _ => Err(self.wrong(value.span(), key, "\"value\" must be a finite number")),
        }
    }

    fn field_words(&self, key: &str, (field, value): Field<'_>) -> Result<String, Error> {
        self.words(&format!("{key}: {:?}", field.get_ref()), value.span(), value.get_ref())
    }

    fn words(&self, what: &str, place: Range<usize>, value: &DeValue<'_>) -> Result<String, Error> {
        match value {
            DeValue::String(s) if !s.trim().is_empty() => Ok(s.to_string()),
            DeValue::String(_) => Err(self.at(self.line(place.start), format!("{what} must not be empty"))),
            _ => Err(self.at(self.line(place.start), format!("{what} must be text in quotes"))),
        }
    }

    fn unknown(&self, place: Range<usize>, key: &str) -> Error {
        let hint = match nearest(key, keys::names().chain(["name", "description"])) {
            Some(near) => format!("did you mean {near}?"),
            None => "a profile describes only the machine".to_string(),
        };
        self.wrong(place, key, &format!("unknown key; {hint}"))
    }

    fn wrong(&self, place: Range<usize>, key: &str, what: &str) -> Error {
        self.at(self.line(place.start), format!("{key}: {what}"))
    }

    fn syntax(&self, e: &toml::de::Error) -> Error {
        let what = e.message().trim().replace('\n', "; ");
        match e.span() {
            Some(span) => self.at(self.line(span.start), what),
            None => Error::file(self.file, what),
        }
    }

    fn line(&self, offset: usize) -> usize {
        let end = offset.min(self.text.len());
        1 + self.text.as_bytes()[..end].iter().filter(|&&b| b == b'\n').count()
    }
}
