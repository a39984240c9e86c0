//! Which part of the tree a command may see: the most specific mark on a path decides.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::follow::{FollowStop, resolve};
use super::{SHARED, Sandbox, resolver_file};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewMark {
    /// Neither read nor written.
    Closed,
    Readable,
    Writable,
}

/// Marks on paths; what bears none and lies below none is readable.
#[derive(Debug, Default)]
pub(crate) struct TreeView {
    marks: BTreeMap<PathBuf, ViewMark>,
    /// The closed marks that come from `hidden`, and whether each is a directory.
    hidden: BTreeMap<PathBuf, bool>,
}

impl TreeView {
    /// Follows links in what is closed or readable, so that the marks lie on the real places.
    /// Roots bear no links; who opens them makes sure of it.
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        let resolver = resolver_file().filter(|_| sandbox.network);
        Self::build(sandbox, resolver, |path| std::fs::canonicalize(path).ok())
    }

    /// By the names alone, without a look at the file system.
    pub(crate) fn of_names(sandbox: &Sandbox) -> Self {
        Self::build(sandbox, None, |_| None)
    }

    fn build(
        sandbox: &Sandbox,
        resolver: Option<PathBuf>,
        real: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Self {
        let mut view = Self::default();
        let mut mark = |path: PathBuf, kind| view.mark(path, kind, &real);
        let shared = SHARED.iter().map(PathBuf::from).chain([PathBuf::from("/dev")]);
        shared.chain(sandbox.homes.iter().cloned()).for_each(|path| mark(path, ViewMark::Closed));
        resolver.into_iter().for_each(|path| mark(path, ViewMark::Readable));
        // A link in what commands may write, or could have written, must not open what it leads to.
        let named = || sandbox.writable.iter().chain([&sandbox.temp]).chain(&sandbox.readable);
        for path in &sandbox.readable {
            let is_inside = |link: &Path| named().any(|it| it != path && link.starts_with(it));
            if resolve(path, |link| !is_inside(link)) != Err(FollowStop::Link) {
                view.mark(path.clone(), ViewMark::Readable, &real);
            }
        }
        for root in sandbox.writable.iter().chain([&sandbox.temp]) {
            view.marks.insert(root.clone(), ViewMark::Writable);
        }
        for path in &sandbox.hidden {
            view.mark(path.clone(), ViewMark::Closed, &real);
            let target = real(path).unwrap_or_else(|| path.clone());
            let is_dir = target.is_dir();
            view.hidden.insert(target, is_dir);
            view.hidden.entry(path.clone()).or_insert(is_dir);
        }
        view
    }

    /// A name that is a link is marked as well as what it leads to. A missing one is marked too:
    /// it may come to be.
    fn mark(&mut self, path: PathBuf, kind: ViewMark, real: impl Fn(&Path) -> Option<PathBuf>) {
        if let Some(real) = real(&path)
            && real != path
        {
            self.marks.insert(real, kind);
        }
        self.marks.insert(path, kind);
    }

    /// Closes a directory, so that nothing in it is granted along with its parent.
    pub(crate) fn close(&mut self, path: PathBuf) {
        self.marks.insert(path, ViewMark::Closed);
    }

    /// What applies to a path and what lies below it without a mark of its own.
    pub(crate) fn of(&self, path: &Path) -> ViewMark {
        path.ancestors()
            .find_map(|above| self.marks.get(above))
            .copied()
            .unwrap_or(ViewMark::Readable)
    }

    /// What would hold for a path if it bore no mark itself.
    pub(crate) fn around(&self, path: &Path) -> ViewMark {
        path.parent().map_or(ViewMark::Readable, |parent| self.of(parent))
    }

    pub(crate) fn bears_mark(&self, path: &Path) -> bool {
        self.marks.contains_key(path)
    }

    pub(crate) fn marks(&self) -> impl Iterator<Item = (&Path, ViewMark)> {
        self.marks.iter().map(|(path, kind)| (path.as_path(), *kind))
    }

    /// The paths of `hidden`, and what they lead to.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &Path> {
        self.hidden.keys().map(PathBuf::as_path)
    }

    pub(crate) fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.contains_key(path)
    }

    /// Whether something below a path is closed, so that the path cannot be opened as a whole.
    pub(crate) fn has_closed_below(&self, path: &Path) -> bool {
        self.below(path).any(|(_, kind)| kind == ViewMark::Closed)
    }

    /// Whether something below a path can be seen although the path itself is closed.
    pub(crate) fn has_open_below(&self, path: &Path) -> bool {
        self.below(path).any(|(_, kind)| kind != ViewMark::Closed)
    }

    /// Whether a command may list the directories below a path, itself included: nothing but
    /// single files is closed there, and their names are no secret.
    pub(crate) fn is_listable(&self, path: &Path) -> bool {
        let is_file = |mark: &Path| self.hidden.get(mark) == Some(&false);
        self.below(path).all(|(mark, kind)| kind != ViewMark::Closed || is_file(mark))
    }

    fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = (&'a Path, ViewMark)> {
        // Paths are ordered by their parts, so all that lies below follows directly.
        let after = (Bound::Excluded(path), Bound::Unbounded);
        let marks = self.marks.range::<Path, _>(after);
        let marks = marks.map(|(mark, kind)| (mark.as_path(), *kind));
        marks.take_while(move |(mark, _)| mark.starts_with(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Layers;

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_link_that_a_command_can_make_opens_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let at = |name: &str| base.join(name);
        for name in ["home/ws/env", "home/private/bin", "home/tools"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink("tools", at("home/linked")).unwrap();
        let roots = vec![at("home/ws")];
        let named = ["home/ws/env", "home/ws/env/bin", "home/linked"].map(at).to_vec();
        let sandbox = Sandbox {
            writable: roots.clone(),
            readable: named.clone(),
            homes: vec![at("home")],
            hidden: Vec::new(),
            frozen: Vec::new(),
            temp: "/tmp/private".into(),
            network: false,
            layers: Layers::default(),
            bounds: None,
        };
        let reading =
            Sandbox { writable: Vec::new(), readable: [named, roots].concat(), ..sandbox.clone() };
        for target in ["..", "../private"] {
            std::fs::remove_dir(at("home/ws/env")).unwrap_or_default();
            let _ = std::fs::remove_file(at("home/ws/env"));
            std::os::unix::fs::symlink(target, at("home/ws/env")).unwrap();
            for sandbox in [&sandbox, &reading] {
                let view = TreeView::new(sandbox);
                for closed in ["home", "home/private", "home/private/bin"] {
                    assert_eq!(view.of(&at(closed)), ViewMark::Closed, "{target} {closed}");
                }
                assert!(!view.bears_mark(&at("home/ws/env")), "nothing mounts what it leads to");
                assert!(!view.bears_mark(&at("home/ws/env/bin")));
                assert_eq!(view.of(&at("home/tools")), ViewMark::Readable, "another link is fine");
            }
        }
    }

    #[test]
    fn the_most_specific_mark_decides_and_hidden_wins_a_tie() {
        let sandbox = Sandbox {
            writable: paths(&["/nx/u/work", "/srv/x", "/nx/u/tied"]),
            readable: paths(&["/nx/u/.cargo", "/nx/u/work/lib"]),
            homes: paths(&["/nx", "/nx/u"]),
            hidden: paths(&["/nx/u/.ssh", "/nx/u/work/keys", "/nx/u/tied", "/nx/u/.cargo/cred"]),
            frozen: Vec::new(),
            temp: "/tmp/private".into(),
            network: false,
            layers: Layers::default(),
            bounds: None,
        };
        let view = TreeView::new(&sandbox);
        for (path, kind) in [
            ("/", ViewMark::Readable),
            ("/etc/passwd", ViewMark::Readable),
            ("/nx", ViewMark::Closed),
            ("/nx/other", ViewMark::Closed),
            ("/nx/u/.bashrc", ViewMark::Closed),
            ("/nx/u/.cargo/bin/x", ViewMark::Readable),
            ("/nx/u/.cargo/cred", ViewMark::Closed),
            ("/nx/u/work", ViewMark::Writable),
            ("/nx/u/workshop", ViewMark::Closed),
            ("/nx/u/work/src/a", ViewMark::Writable),
            ("/nx/u/work/keys/a", ViewMark::Closed),
            ("/nx/u/tied/a", ViewMark::Closed),
            ("/srv", ViewMark::Readable),
            ("/srv/x/y", ViewMark::Writable),
            ("/tmp", ViewMark::Closed),
            ("/tmp/private/a", ViewMark::Writable),
            ("/run/user/1", ViewMark::Closed),
            ("/dev/sda", ViewMark::Closed),
        ] {
            assert_eq!(view.of(Path::new(path)), kind, "{path}");
        }
        for (path, closed) in [
            ("/", true),
            ("/nx/u/work", true),
            ("/nx/u/.cargo", true),
            ("/srv/x", false),
            ("/srv", false),
            ("/nx/u/.ssh", false),
            ("/var", true),
        ] {
            assert_eq!(view.has_closed_below(Path::new(path)), closed, "{path}");
        }
        assert_eq!(view.around(Path::new("/nx/u/work/keys")), ViewMark::Writable);
        assert_eq!(view.around(Path::new("/nx/u/.ssh")), ViewMark::Closed);
    }
}
