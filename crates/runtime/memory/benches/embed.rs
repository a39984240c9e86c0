//! What an embedding costs: `cargo bench -p ostler-memory --bench embed -- model.bin`. Bound: 10 ms an
//! entry on one core. Figures and their machine: docs/memory.md.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for the terminal")]

mod common;

use common::{notes, timed, told};
use ostler_memory::embed::{Embedder, MiniLm};
use std::path::Path;

/// Pieces of an entry: one sentence, two, and the longest that is still a note.
const SIZES: [(usize, usize); 3] = [(14, 26), (35, 45), (55, 65)];
const TEXTS: usize = 200;

fn main() {
    let Some(path) = common::model() else {
        return println!("embedding: no model given");
    };
    let mut model = None;
    let opened = timed(|| model = Some(MiniLm::open(Path::new(&path)).unwrap()));
    let model = model.unwrap();
    println!("model opened in {opened:.1?}");
    let notes = notes();
    for (least, most) in SIZES {
        // Notes put together until they have the size.
        let texts = (0..).map(|n| {
            let some = notes.iter().cycle().skip(n * 7 % notes.len());
            let mut text = String::new();
            for note in some {
                text = format!("{text} {note}");
                if model.pieces(&text) >= least {
                    break;
                }
            }
            text
        });
        let texts: Vec<String> =
            texts.filter(|text| model.pieces(text) <= most).take(TEXTS).collect();
        let pieces: usize = texts.iter().map(|text| model.pieces(text)).sum();
        model.embed(&[&texts[0]]).unwrap();
        let times = texts.iter().map(|text| timed(|| drop(model.embed(&[text]).unwrap())));
        told(&format!("an entry of {} pieces", pieces / texts.len()), times.collect());
    }
}
