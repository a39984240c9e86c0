//! The skills as the model is told about them: a line each, within a budget of characters.

use crate::skill::Skill;

/// Characters of one skill's line.
const MOST_OF_ONE: usize = 1_536;
/// Less than this of a description says nothing.
const LEAST: usize = 24;

/// What a line says besides the name.
pub fn one_line(skill: &Skill) -> String {
    let mut text = skill.description.clone();
    if let Some(when) = &skill.when_to_use {
        text += &format!(" {when}");
    }
    if !skill.paths.is_empty() {
        text += &format!(" (for {})", skill.paths.join(", "));
    }
    text
}

/// In the given order, at most `budget` characters. When it is too much all descriptions get shorter, the longest
/// first; then only names are left; then not all of those.
pub fn listing<'a>(skills: impl IntoIterator<Item = &'a Skill>, budget: usize) -> String {
    let rows: Vec<(String, String)> = skills
        .into_iter()
        .map(|skill| {
            let name = format!("- {}", skill.name);
            let room = MOST_OF_ONE.saturating_sub(length(&name) + 2);
            (name, cut(&one_line(skill), room))
        })
        .collect();
    let names: usize = rows.iter().map(|(name, _)| length(name) + 1).sum();
    if names > budget {
        return some_names(&rows, budget);
    }
    let room = share(&rows, budget - names);
    let line = |(name, text): &(String, String)| match cut(text, room) {
        text if text.is_empty() => name.clone(),
        text => format!("{name}: {text}"),
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The most characters that a description may have so that all fit.
fn share(rows: &[(String, String)], budget: usize) -> usize {
    let mut lengths: Vec<usize> =
        rows.iter().map(|(_, text)| length(text)).filter(|length| *length > 0).collect();
    lengths.sort_unstable();
    let mut left = budget;
    for (at, length) in lengths.iter().enumerate() {
        let each = left / (lengths.len() - at);
        // ": " stands before it.
        if length + 2 > each {
            let room = each.saturating_sub(2);
            return if room < LEAST { 0 } else { room };
        }
        left -= length + 2;
    }
    usize::MAX
}

fn some_names(rows: &[(String, String)], budget: usize) -> String {
    let mut out = String::new();
    for (at, (name, _)) in rows.iter().enumerate() {
        let more = format!("- and {} more", rows.len() - at);
        if length(&out) + length(name) + 1 + length(&more) > budget {
            out.push_str(&more);
            break;
        }
        out.push_str(name);
        out.push('\n');
    }
    out
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// At most so many characters, with a mark where some are missing.
fn cut(text: &str, most: usize) -> String {
    if length(text) <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    if most == 0 { String::new() } else { format!("{}…", kept.trim_end()) }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
