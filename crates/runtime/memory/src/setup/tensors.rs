//! The safetensors format: a JSON table of names, then the numbers.

use serde::Deserialize;
use std::collections::HashMap;

pub struct Tensors<'a> {
    table: HashMap<String, TensorEntry>,
    data: &'a [u8],
}

#[derive(Deserialize)]
struct TensorEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'a> Tensors<'a> {
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (size, rest) = bytes.split_at_checked(8)?;
        let size = usize::try_from(u64::from_le_bytes(size.try_into().ok()?)).ok()?;
        let (json, data) = rest.split_at_checked(size)?;
        let mut table: HashMap<String, serde_json::Value> = serde_json::from_slice(json).ok()?;
        table.remove("__metadata__");
        let entry = |(name, value)| Some((name, serde_json::from_value(value).ok()?));
        Some(Tensors { table: table.into_iter().map(entry).collect::<Option<_>>()?, data })
    }

    /// A tensor of 32-bit numbers with exactly this shape.
    pub fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let entry = self.table.get(name).ok_or_else(|| format!("there is no tensor {name}"))?;
        let (from, to) = entry.data_offsets;
        let bytes = self.data.get(from..to).unwrap_or_default();
        let wanted = shape.iter().product::<usize>() * 4;
        if entry.dtype != "F32" || entry.shape != shape || bytes.len() != wanted {
            return Err(format!("the tensor {name} has an unexpected shape"));
        }
        Ok(bytes
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes(four.try_into().unwrap_or_default()))
            .collect())
    }
}
