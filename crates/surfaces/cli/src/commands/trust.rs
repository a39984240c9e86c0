//! What the files of a project request, shown before anybody accepts it.

use super::lines::{Lines, is_prompt};
use super::no_key;
use crate::args::RunArgs;
use crate::exit::warn;
use crate::output::visible_text::visible;
use crate::output::write;
use anyhow::Result;
use ostler::config::UntrustedFile;
use ostler_profile::{Environment, Flags, Profile, ProfileError};
use std::fmt::Write;

/// Lines of a difference that are shown of each file.
const MOST: usize = 400;

/// Everything they want, what new ones say, and what has changed since the others were accepted. Nothing of it is obeyed.
pub fn text(files: &[UntrustedFile]) -> String {
    let mut text = String::new();
    for file in files {
        let _ = writeln!(text, "  {}", visible(&file.path.to_string_lossy()));
        for want in &file.wants {
            let _ = writeln!(text, "    {}", visible(want));
        }
        let Some(difference) = &file.difference else { continue };
        let what = if file.is_new { "what it says:" } else { "changed since it was accepted:" };
        let _ = writeln!(text, "    {what}");
        for line in difference.lines().take(MOST) {
            let _ = writeln!(text, "    │ {}", visible(line));
        }
        let more = difference.lines().count().saturating_sub(MOST);
        if more > 0 {
            let _ = writeln!(text, "    and {more} more lines");
        }
    }
    text
}

/// The settings of a run; with `--trust`, what the project's files request is shown and accepted first.
pub fn begin(environment: &Environment, args: &RunArgs) -> Result<Profile, ProfileError> {
    begin_with(environment, args.flags(), args.trust)
}

pub fn begin_with(
    environment: &Environment,
    flags: Flags,
    trusts: bool,
) -> Result<Profile, ProfileError> {
    let profile = Profile::load(environment, flags)?;
    match profile.untrusted() {
        Some(untrusted) if trusts => {
            warn("accepted until it changes:");
            for line in text(&untrusted.files).lines() {
                warn(line);
            }
            profile.trust()
        }
        _ => Ok(profile),
    }
}

/// The same, and a session that is to be continued exists.
pub fn begin_session(environment: &Environment, args: &RunArgs) -> Result<Profile> {
    let profile = begin(environment, args)?;
    no_key::check_continue(&profile, args)?;
    Ok(profile)
}

/// In a session the person is asked once; anything but a plain yes leaves the files without effect.
pub async fn ask(profile: Profile, lines: &mut Lines) -> Result<Profile> {
    let Some(untrusted) = profile.untrusted() else { return Ok(profile) };
    let question = format!(
        "The files of this project request more than you have accepted:\n{}\
         Accept this until it changes? [t]rust / [n]o: ",
        text(&untrusted.files)
    );
    let answer = lines.answer(&question).await?;
    if !lines.are_echoed() || answer.is_none() {
        write("\n")?;
    }
    let answer = answer.unwrap_or_default();
    match answer.trim().to_ascii_lowercase().as_str() {
        "t" | "trust" => return Ok(profile.trust()?),
        "" | "n" | "no" => {}
        // A script that pipes its prompts in knows of no question.
        _ if is_prompt(&answer, &["trust"]) || !lines.are_echoed() => lines.put_back(answer),
        _ => {}
    }
    write("Ignoring them; their deny rules still apply.\n")?;
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_shown_and_nothing_obeyed() {
        let file = |path: &str, wants: &[&str], difference: Option<&str>| UntrustedFile {
            path: path.into(),
            wants: wants.iter().map(|want| (*want).to_owned()).collect(),
            is_new: false,
            difference: difference.map(str::to_owned),
        };
        let new = UntrustedFile { is_new: true, ..file("/p/new", &[], Some("{}\u{202e}\n\n│")) };
        assert_eq!(
            text(&[new]),
            "  /p/new\n    what it says:\n    │ {}\\u{202e}\n    │ \n    │ │\n"
        );
        let files = vec![
            file("/p/.mcp.json", &["starts MCP servers"], None),
            file("/p/a\u{1b}[2J", &["allows Bash(\n[t]rust)"], Some("-a\n+b\u{8}\n")),
        ];
        assert_eq!(
            text(&files),
            "  /p/.mcp.json\n    starts MCP servers\n  /p/a\\u{1b}[2J\n    allows Bash(\\n[t]rust)\n    changed \
             since it was accepted:\n    │ -a\n    │ +b\\u{8}\n"
        );
        let long = "+x\n".repeat(MOST + 3);
        let shown = text(&[file("/p/x", &[], Some(&long))]);
        assert!(shown.ends_with("    and 3 more lines\n"), "{shown}");
    }
}
