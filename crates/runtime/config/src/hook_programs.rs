//! Programs of hooks that lie in the project. Whoever works there can rewrite them, so trust covers their content, and a
//! session runs them only as they were when its settings were read.

use crate::SettingsPlaces;
use crate::places::hex_sha256;
use ostler_core::hook::{HookAction, HookProgram, HookSpec, program_path};
use ostler_core::permission::{Anchors, CHANGING, Rule};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Of a program. A larger one counts as missing, and does not run.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes of a text that trust shows; of others it shows the hash.
const MOST_SHOWN: usize = 64 << 10;
/// In a rule, these would stand for other paths.
const SPECIAL: &str = "*?[]{}()!\\,";

/// A program in the project.
pub(crate) struct FoundProgram {
    pub(crate) word: String,
    /// Inside the project, without links in its name.
    pub(crate) path: PathBuf,
    /// None: it is not there, or cannot be read.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl FoundProgram {
    fn sha256(&self) -> Option<String> {
        self.bytes.as_deref().map(hex_sha256)
    }

    /// What trust is about, so that a difference can be shown.
    pub(crate) fn shown(&self) -> Option<Vec<u8>> {
        let bytes = self.bytes.as_ref()?;
        let is_text = bytes.len() <= MOST_SHOWN && std::str::from_utf8(bytes).is_ok();
        Some(if is_text { bytes.clone() } else { format!("sha256 {}\n", hex_sha256(bytes)).into() })
    }
}

/// `root` is the resolved directory of the project.
pub(crate) fn of_hook(hook: &HookSpec, places: &SettingsPlaces, root: &Path) -> Vec<FoundProgram> {
    let found = |word: String| {
        let path = program_path(&word, &places.cwd, &places.project, &places.user_home)?;
        // A link from elsewhere may lead into the project.
        let real = path.canonicalize().ok().filter(|real| real.starts_with(root));
        let is_inside = path.starts_with(root) || path.starts_with(&places.project);
        if real.is_none() && !is_inside {
            return None;
        }
        let bytes = read(&path);
        Some(FoundProgram { word, path: if is_inside { path } else { real? }, bytes })
    };
    hook.program_words().into_iter().filter_map(found).collect()
}

fn read(path: &Path) -> Option<Vec<u8>> {
    // A pipe would be waited for.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MOST_BYTES).then_some(bytes)
}

/// From here on only this content runs.
pub(crate) fn pin(hook: &mut HookSpec, places: &SettingsPlaces, root: &Path) {
    let pinned = |found: FoundProgram| {
        let sha256 = found.sha256();
        HookProgram { word: found.word, sha256 }
    };
    hook.programs = of_hook(hook, places, root).into_iter().map(pinned).collect();
}

/// A hook of the person that would run what nobody has looked at, with all rights.
pub(crate) fn disarm(hook: &mut HookSpec, places: &SettingsPlaces, root: &Path) {
    let Some(program) = of_hook(hook, places, root).into_iter().next().filter(|_| hook.outside)
    else {
        return;
    };
    let why = format!(
        "it runs {} outside the sandbox, which is a file of this project that you have not trusted; \
         `ostler permissions trust` shows it and asks",
        program.path.display()
    );
    hook.action = HookAction::Unavailable { what: hook.what(), why };
}

/// Nothing that works here may change what runs outside the sandbox.
pub(crate) fn protection(
    hook: &HookSpec,
    places: &SettingsPlaces,
    root: &Path,
    anchors: Anchors<'_>,
) -> Vec<Rule> {
    let rule = |found: FoundProgram| {
        let path = found.path.to_str().filter(|path| !path.contains(|c| SPECIAL.contains(c)))?;
        let text = format!("{CHANGING}(/{path})");
        let mut rule = Rule::parse_at(&text, anchors, hook.source.clone()).ok()?;
        rule.reason = Some("a hook runs it outside the sandbox".to_owned());
        Some(rule)
    };
    let all = if hook.outside { of_hook(hook, places, root) } else { Vec::new() };
    all.into_iter().filter_map(rule).collect()
}
