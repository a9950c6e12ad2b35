// SPDX-License-Identifier: MIT OR Apache-2.0
//! By how much results move when an estimated number is wrong, as it was measured and saved.
use serde::{Deserialize, Serialize};

/// The share by which each number was made smaller and larger.
pub const WRONG_BY: f64 = 0.3;

/// Of one number of one profile.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Moves {
    /// The number.
    pub value: f64,
    pub effect: Effect,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// No other value makes a machine: of nothing, or of the bytes of a line.
    NotTried,
    /// No program's time changed.
    None,
    /// None changed by more than by chance.
    AsChance,
    /// In this program the time of an operation changed most, by so many percent; `chance` is what it
    /// changes by in runs that are a little longer.
    Moved { of: String, percent: f64, chance: f64 },
}

impl Effect {
    /// By how many percent beyond chance; what is not known counts most.
    pub fn beyond_chance(&self) -> f64 {
        match self {
            Effect::NotTried => f64::MAX,
            Effect::None | Effect::AsChance => 0.0,
            Effect::Moved { percent, chance, .. } => percent - chance,
        }
    }

    /// The greater of two that programs show.
    pub fn or(self, other: Effect) -> Effect {
        match (&self, &other) {
            (Effect::None, _) => other,
            (Effect::AsChance, Effect::Moved { .. }) => other,
            (Effect::Moved { .. }, Effect::Moved { .. }) if other.beyond_chance() > self.beyond_chance() => other,
            _ => self,
        }
    }

    /// Of a program whose time changed by so many percent, and by `chance` anyway.
    pub fn of(program: &str, percent: f64, chance: f64) -> Effect {
        match percent {
            0.0 => Effect::None,
            _ if percent <= chance => Effect::AsChance,
            _ => Effect::Moved { of: program.into(), percent, chance },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_most_beyond_chance_counts() {
        let moved = |percent| Effect::of("a", percent, 12.0);
        assert_eq!([0.0, 12.0].map(moved), [Effect::None, Effect::AsChance]);
        let all = [moved(20.0), Effect::None, moved(5.0), Effect::of("b", 9.0, 0.0), Effect::of("c", 15.0, 7.5)];
        assert_eq!(all.into_iter().fold(Effect::None, Effect::or), Effect::of("b", 9.0, 0.0));
        assert_eq!(Effect::NotTried.or(moved(90.0)), Effect::NotTried);
        assert_eq!(Effect::None.or(Effect::AsChance).or(Effect::None), Effect::AsChance);
    }
}
