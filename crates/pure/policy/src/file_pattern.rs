//! Patterns over file paths as a person writes them in a rule: `./src/**`, `~/notes/*.md`, `//etc/hosts`, `.env`.

use super::access::{PathScope, Workspace};
use crate::tool_facts::KnownTools;
use std::path::{Path, PathBuf};

/// What the beginnings of a pattern stand for.
#[derive(Clone, Copy, Debug)]
pub struct Anchors<'a> {
    /// `./x`, `x/y` and bare names.
    pub cwd: &'a Path,
    /// `~/x`; a home that is not absolute is not known.
    pub home: &'a Path,
    /// `/x`: the directory that the settings file speaks for.
    pub settings: &'a Path,
    /// What a rule can name: what its pattern means depends on the kind of the tool.
    pub tools: &'a KnownTools,
}

impl<'a> Anchors<'a> {
    /// Of what speaks for the working directory.
    pub fn of(workspace: &'a Workspace) -> Self {
        let Workspace { cwd, home, tools, .. } = workspace;
        Anchors { cwd, home, settings: cwd, tools }
    }
}

/// A gitignore-like pattern on absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePattern {
    base: PathBuf,
    parts: Vec<String>,
    /// Written for a working directory that is the whole disk.
    on_whole_disk: bool,
}

impl FilePattern {
    pub fn new(text: &str, anchors: Anchors<'_>) -> Self {
        let (base, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Path::new("/"), rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (anchors.home, rest)
        } else if text == "~" {
            (anchors.home, "")
        } else if let Some(rest) = text.strip_prefix('/') {
            (anchors.settings, rest)
        } else {
            (anchors.cwd, text)
        };
        let mut pattern = FilePattern {
            base: base.to_owned(),
            parts: Vec::new(),
            on_whole_disk: !text.starts_with("//") && base.parent().is_none(),
        };
        if is_bare_name(text) {
            pattern.parts.push("**".into());
        }
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => pattern.climb(),
                part => pattern.parts.push(part.to_owned()),
            }
        }
        pattern
    }

    /// From the text that [`FilePattern::absolute`] gives.
    pub fn from_absolute(text: &str) -> Self {
        let (root, tools) = (Path::new("/"), &KnownTools::default());
        FilePattern::new(text, Anchors { cwd: root, home: root, settings: root, tools })
    }

    /// The whole pattern, which then means the same wherever it is read.
    pub fn absolute(&self) -> String {
        format!("/{}", self.base.join(self.parts.iter().collect::<PathBuf>()).display())
    }

    /// What it says of one directory, said of another.
    pub(crate) fn rebased(&self, from: &Path, to: &Path) -> Vec<FilePattern> {
        if let Ok(below) = self.base.strip_prefix(from) {
            return vec![FilePattern { base: to.join(below), ..self.clone() }];
        }
        let Ok(below) = from.strip_prefix(&self.base) else { return Vec::new() };
        // How many of its parts can stand for the names down to the directory.
        let mut used = self.used_up_to(0);
        for name in below {
            let name = name.to_string_lossy();
            let step = |at: usize| match self.parts.get(at) {
                // It covers a directory above, with everything below.
                None => vec![at],
                Some(part) if part == "**" => self.used_up_to(at),
                Some(part) if match_name(part, &name) => self.used_up_to(at + 1),
                Some(_) => Vec::new(),
            };
            used = used.into_iter().flat_map(step).collect();
            used.sort_unstable();
            used.dedup();
        }
        let rest = |at: usize| self.parts.get(at..).unwrap_or_default().to_vec();
        let pattern = |at| FilePattern { base: to.to_owned(), parts: rest(at), ..self.clone() };
        used.into_iter().map(pattern).collect()
    }

    /// This many, and more where the next part can stand for nothing.
    fn used_up_to(&self, at: usize) -> Vec<usize> {
        let runs = self.parts.iter().skip(at).take_while(|part| *part == "**").count();
        (at..=at + runs).collect()
    }

    fn climb(&mut self) {
        if self.parts.pop().is_none() {
            self.base.pop();
        }
    }

    /// As an allow rule. Who works in `/` has not thereby said yes to the whole disk.
    pub fn allows(&self, path: &Path) -> bool {
        !self.on_whole_disk && self.matches(path)
    }

    pub fn matches(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.base) else { return false };
        // A directory's pattern covers what is below the directory.
        self.compare(below, match_beginning)
    }

    /// The directory or file below which everything it matches lies.
    pub fn start(&self) -> PathBuf {
        let fixed = self.parts.iter().take_while(|part| !part.contains(['*', '?']));
        self.base.join(fixed.collect::<PathBuf>())
    }

    /// The one file or directory that it covers with everything below, if no wildcard leaves that open.
    pub fn place(&self) -> Option<PathBuf> {
        let ends = self.parts.iter().rposition(|part| part != "**").map_or(0, |last| last + 1);
        let fixed = self.parts.get(..ends)?;
        let is_open = |part: &String| part.contains(['*', '?']);
        (!fixed.iter().any(is_open)).then(|| self.base.join(fixed.iter().collect::<PathBuf>()))
    }

    /// It covers what lies below a directory, not the file of that name alone: `./secrets/**`.
    pub fn names_directory(&self) -> bool {
        self.parts.last().is_some_and(|part| part == "**")
    }

    /// False only if nothing that is called so matches, unless a directory above it does.
    pub fn may_end_in(&self, name: &str) -> bool {
        self.parts.last().is_none_or(|part| part == "**" || match_name(part, name))
    }

    /// Something below the directory could match.
    pub fn may_match_below(&self, directory: &Path) -> bool {
        self.may_touch(&PathScope::Tree(directory.to_owned()))
    }

    /// The names it spells out, without wildcards.
    pub fn spelled(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(String::as_str).filter(|part| !part.contains(['*', '?']))
    }

    /// A tree touches a pattern when the pattern could match something below it: when in doubt, yes.
    pub(super) fn may_touch(&self, scope: &PathScope) -> bool {
        match scope {
            PathScope::File(path) => self.matches(path),
            PathScope::Tree(path) => match path.strip_prefix(&self.base) {
                Ok(below) => self.compare(below, may_match_below),
                Err(_) => self.base.starts_with(path),
            },
        }
    }

    /// A pattern of the shell could stand for something that this one matches, whatever exists now.
    pub(super) fn may_meet(&self, place: &Path, glob: &str) -> bool {
        let Ok(below) = place.strip_prefix(&self.base) else { return false };
        let outside = glob.starts_with(['/', '~']) || glob.split('/').any(|part| part == "..");
        let glob: Vec<&str> = glob.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        !outside
            && self.compare(below, |parts, names| {
                let all: Vec<&str> = names.iter().chain(&glob).copied().collect();
                meet(parts, &all)
            })
    }

    fn compare(&self, below: &Path, by: impl Fn(&[&str], &[&str]) -> bool) -> bool {
        let names: Vec<_> = below.iter().map(|name| name.to_string_lossy()).collect();
        let names: Vec<&str> = names.iter().map(|name| name.as_ref()).collect();
        let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        by(&parts, &names)
    }
}

/// As in an ignore file: a slash inside ties a pattern to its directory, one at the end does not.
fn is_bare_name(text: &str) -> bool {
    let name = text.trim_end_matches('/');
    !name.contains('/') && !matches!(name, "" | "." | ".." | "~")
}

/// Whether something in the directory `names`, or that directory itself, could match.
fn may_match_below(parts: &[&str], names: &[&str]) -> bool {
    match (parts.split_first(), names.split_first()) {
        (None | Some((&"**", _)), _) | (_, None) => true,
        (Some((part, parts)), Some((name, names))) => {
            match_name(part, name) && may_match_below(parts, names)
        }
    }
}

/// The parts of a pattern that could come next, name by name: work grows with names times parts, whatever the pattern.
struct MatchProgress<'a> {
    parts: &'a [&'a str],
    /// Whether the part of this number could be next; the last one stands for the end.
    next: Vec<bool>,
}

impl<'a> MatchProgress<'a> {
    fn new(parts: &'a [&'a str]) -> Self {
        let mut next = vec![false; parts.len() + 1];
        if let Some(first) = next.first_mut() {
            *first = true;
        }
        MatchProgress { parts, next }
    }

    fn is_done(&self) -> bool {
        self.next.last() == Some(&true)
    }

    /// `**` may stand for nothing.
    fn skip_stars(&mut self) {
        let mut skipped = false;
        for (at, next) in self.next.iter_mut().enumerate() {
            *next |= skipped;
            skipped = *next && self.parts.get(at) == Some(&"**");
        }
    }

    fn enter(&mut self, fits: impl Fn(&str) -> bool) {
        let mut entered = false;
        for (at, next) in self.next.iter_mut().enumerate() {
            let was = *next;
            let part = self.parts.get(at);
            let stays = was && part == Some(&"**");
            *next = entered || stays;
            entered = was && !stays && part.is_some_and(|part| fits(part));
        }
    }
}

/// The parts match the names or a beginning of them.
fn match_beginning(parts: &[&str], names: &[&str]) -> bool {
    let mut progress = MatchProgress::new(parts);
    progress.skip_stars();
    for name in names {
        if progress.is_done() {
            return true;
        }
        progress.enter(|part| match_name(part, name));
        progress.skip_stars();
    }
    progress.is_done()
}

/// Two patterns, name by name. A directory alone does not count for what is in it.
fn meet(parts: &[&str], glob: &[&str]) -> bool {
    let mut progress = MatchProgress::new(parts);
    for name in glob {
        progress.skip_stars();
        if progress.is_done() {
            return true;
        }
        progress.enter(|part| names_meet(part, name));
    }
    progress.is_done()
}

fn names_meet(part: &str, glob: &str) -> bool {
    let glob = without_sets(glob);
    let wild = ['*', '?'];
    if !part.contains(wild) {
        // The shell's patterns need the dot of a hidden name spelled out.
        return match_name(&glob, part) && (!part.starts_with('.') || glob.starts_with('.'));
    }
    if !glob.contains(wild) {
        return match_name(part, &glob);
    }
    let ends = |text: &str| {
        let first = text.split(wild).next().unwrap_or_default().to_owned();
        (first, text.rsplit(wild).next().unwrap_or_default().to_owned())
    };
    let ((a, y), (b, z)) = (ends(part), ends(&glob));
    (a.starts_with(&b) || b.starts_with(&a)) && (y.ends_with(&z) || z.ends_with(&y))
}

/// `[ab]` as `?`.
pub(super) fn without_sets(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        match after.get(1..).and_then(|more| more.split_once(']')) {
            Some((_, behind)) => {
                out.push('?');
                rest = behind;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

/// `*` and `?` within one name. Linear: only the last star is ever retried.
pub(super) fn match_name(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == name;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || Some(c) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition: a star pair takes any number of names, tried one after the other.
    fn naive(parts: &[&str], names: &[&str]) -> bool {
        match parts.split_first() {
            None => true,
            Some((&"**", rest)) => (0..=names.len()).any(|n| naive(rest, &names[n..])),
            Some((part, rest)) => names
                .split_first()
                .is_some_and(|(name, names)| match_name(part, name) && naive(rest, names)),
        }
    }

    fn naive_meet(parts: &[&str], glob: &[&str]) -> bool {
        match (parts.split_first(), glob.split_first()) {
            (None, _) => true,
            (_, None) => false,
            (Some((&"**", rest)), _) => (0..glob.len()).any(|n| naive_meet(rest, &glob[n..])),
            (Some((part, parts)), Some((name, glob))) => {
                names_meet(part, name) && naive_meet(parts, glob)
            }
        }
    }

    #[test]
    fn a_rule_says_of_a_copy_what_it_says_of_the_directory() {
        let tools = KnownTools::default();
        let (from, to) = (Path::new("/home/me/work/repo"), Path::new("/home/me/.ostler/t"));
        let anchors =
            Anchors { cwd: from, home: Path::new("/home/me"), settings: from, tools: &tools };
        let files = ["x", "src/a.rs", "src/deep/b.rs", "repo/x", ".env", "sub/.env", "work/repo/x"];
        for text in [
            "./src/**",
            "src/*.rs",
            ".env",
            "/x",
            "//home/me/work/repo/x",
            "//home/*/work/*/src/**",
            "~/work/**",
            "~/work",
            "~/**/repo/x",
            "~/**/x",
            "**/.env",
            "//**/repo/**/x",
            "~/other/**",
            "../other/x",
            "../*/x",
            "~/work/repo",
            "//home/**/work/**/src/deep/*",
        ] {
            let pattern = FilePattern::new(text, anchors);
            let copies = pattern.rebased(from, to);
            for file in files {
                let expected = pattern.matches(&from.join(file));
                let found = copies.iter().any(|copy| copy.matches(&to.join(file)));
                assert_eq!(found, expected, "{text} {file}: {copies:?}");
            }
        }
    }

    #[test]
    fn all_short_patterns_mean_what_the_definition_says() {
        let words = |kinds: &[&'static str]| {
            let mut all: Vec<Vec<&'static str>> = vec![Vec::new()];
            let mut from = 0;
            while all.last().is_some_and(|longest| longest.len() < 4) {
                let end = all.len();
                for at in from..end {
                    let longer = |kind: &&'static str| [all[at].as_slice(), &[*kind]].concat();
                    let longer: Vec<_> = kinds.iter().map(longer).collect();
                    all.extend(longer);
                }
                from = end;
            }
            all
        };
        let (patterns, paths) = (words(&["**", "a", "*"]), words(&["a", "b"]));
        for parts in &patterns {
            for names in &paths {
                assert_eq!(
                    match_beginning(parts, names),
                    naive(parts, names),
                    "{parts:?} {names:?}"
                );
                assert_eq!(meet(parts, names), naive_meet(parts, names), "{parts:?} {names:?}");
            }
        }
    }

    /// Tried one after the other, these would take longer than anybody lives.
    #[test]
    fn many_stars_on_a_deep_path_end() {
        let cwd = Path::new("/ws");
        let anchors = Anchors { cwd, home: cwd, settings: cwd, tools: &KnownTools::default() };
        let pattern = FilePattern::new(&format!("./{}b", "**/a/".repeat(20)), anchors);
        let path = cwd.join("a/".repeat(2_000));
        assert!(!pattern.matches(&path) && pattern.matches(&path.join("b")));
        assert!(!pattern.may_meet(&path, "a*") && pattern.may_meet(&path, "*"));
    }

    #[test]
    fn a_pattern_without_wildcards_names_one_place() {
        let cwd = Path::new("/ws");
        let (home, tools) = (Path::new("/home/dev"), KnownTools::default());
        let anchors = Anchors { cwd, home, settings: cwd, tools: &tools };
        for (rule, expected, directory) in [
            ("./.env", Some("/ws/.env"), false),
            ("./secrets/**", Some("/ws/secrets"), true),
            ("./a/b/", Some("/ws/a/b"), false),
            ("~/notes/x.md", Some("/home/dev/notes/x.md"), false),
            ("//etc/ssl/**", Some("/etc/ssl"), true),
            ("./**", Some("/ws"), true),
            ("**", Some("/ws"), true),
            (".env", None, false),
            ("*.pem", None, false),
            ("./a/*/b", None, false),
            ("./**/x/**", None, true),
        ] {
            let pattern = FilePattern::new(rule, anchors);
            assert_eq!(pattern.place(), expected.map(PathBuf::from), "{rule}");
            assert_eq!(pattern.names_directory(), directory, "{rule}");
        }
    }

    #[test]
    fn patterns_that_can_mean_the_same_file() {
        let cwd = Path::new("/ws");
        let (home, tools) = (Path::new("/home/dev"), KnownTools::default());
        let anchors = Anchors { cwd, home, settings: cwd, tools: &tools };
        for (rule, place, glob, expected) in [
            ("./secrets/**", "/ws", "s*/key.pem", true),
            ("./secrets/**", "/ws", "secret?/key.pem", true),
            ("./secrets/**", "/ws", "[s]ecrets/a", true),
            ("./secrets/**", "/ws", "./*/key.pem", true),
            ("./secrets/**", "/ws", "*", false),
            ("./secrets/**", "/ws", "src/*.rs", false),
            ("./secrets/**", "/ws/secrets", "*", true),
            ("./secrets/**", "/ws/src", "s*/key.pem", false),
            (".env", "/ws", ".e*", true),
            (".env", "/ws", "a/.e*", true),
            (".env", "/ws", "*", false),
            ("./**/*.pem", "/ws", "src/*.rs", false),
            ("./**/*.pem", "/ws", "src/*.p*", true),
        ] {
            let pattern = FilePattern::new(rule, anchors);
            assert_eq!(pattern.may_meet(Path::new(place), glob), expected, "{rule} {place} {glob}");
        }
    }
}
