//! JSON as used in policies: one value or a list of values, and objects without duplicate names.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// One value, or a list of values.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T> OneOrMany<T> {
    pub(super) fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

/// A condition's value: a text; a number or boolean is converted to text.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Text(String),
    Flag(bool),
    Number(serde_json::Number),
}

impl fmt::Display for Scalar {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => out.write_str(text),
            Self::Flag(flag) => flag.fmt(out),
            Self::Number(number) => number.fmt(out),
        }
    }
}

/// An object's names and values in their order. A duplicate name is an error, because it is unclear
/// which value counts.
#[derive(Debug, Clone)]
pub(super) struct Pairs<V>(pub(super) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<V> {
    type Value = Pairs<V>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs: Vec<(String, V)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, V>()? {
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(A::Error::custom(format!("{name:?} occurs twice")));
            }
            pairs.push((name, value));
        }
        Ok(Pairs(pairs))
    }
}
