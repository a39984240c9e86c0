//! Where the paths of a command lead. Two answers: the disk's, given by the file tools; and [`Lexical`], which goes by
//! the text alone and is used to judge commands of a directory that is not here.

use super::access::{PathScope, Workspace};
use super::commands::TouchKind;
use std::path::{Component, Path, PathBuf};

pub trait Places {
    /// Every place the path can mean, from a directory reached by these changes of directory. None: it cannot be told.
    fn look_up(&self, folder: &[String], path: &str, kind: TouchKind) -> Option<Vec<PathScope>>;

    /// The program that a bare name starts is a system's, not one a project has put in its way.
    fn is_system_program(&self, name: &str) -> bool;

    fn exists(&self, path: &Path) -> bool;

    /// The hash of what a file holds.
    fn content(&self, path: &Path) -> Option<String>;
}

/// Goes by the text: nothing is a link, programs are the system's, and a repository is at each root and nowhere else.
#[derive(Clone, Debug)]
pub struct Lexical<'a> {
    pub workspace: &'a Workspace,
}

impl Places for Lexical<'_> {
    fn look_up(&self, folder: &[String], path: &str, kind: TouchKind) -> Option<Vec<PathScope>> {
        let mut at = self.workspace.cwd.clone();
        for step in folder {
            at = self.join(&at, step)?;
        }
        let top = || self.workspace.roots.iter().find(|root| **root == at).cloned();
        let scope = match kind {
            TouchKind::File => PathScope::File(self.join(&at, path)?),
            TouchKind::Tree | TouchKind::Followed | TouchKind::Listed | TouchKind::Names => {
                PathScope::Tree(self.join(&at, path)?)
            }
            // What it matches lies below its last directory without a pattern.
            TouchKind::Glob => {
                let fixed: Vec<&str> = path
                    .split('/')
                    .take_while(|part| !part.contains(['*', '?', '[', '\\']))
                    .collect();
                let start = if path.starts_with(['/', '~']) { "" } else { "./" };
                PathScope::Tree(self.join(&at, &format!("{start}{}/", fixed.join("/")))?)
            }
            TouchKind::Repository => PathScope::Tree(top()?),
            TouchKind::InRepository => PathScope::File(self.join(&top()?, path)?),
        };
        Some(vec![scope])
    }

    fn is_system_program(&self, _name: &str) -> bool {
        true
    }

    fn exists(&self, _path: &Path) -> bool {
        false
    }

    fn content(&self, _path: &Path) -> Option<String> {
        None
    }
}

impl Lexical<'_> {
    fn join(&self, at: &Path, path: &str) -> Option<PathBuf> {
        let path = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.workspace.home.is_absolute().then_some(&self.workspace.home)?;
                home.join(rest.trim_start_matches('/'))
            }
            Some(_) => return None,
            None => PathBuf::from(path),
        };
        let mut made = at.to_path_buf();
        for part in path.components() {
            match part {
                Component::RootDir => made = PathBuf::from("/"),
                Component::ParentDir => {
                    made.pop();
                }
                Component::Normal(name) => made.push(name),
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_text_alone() {
        let workspace = Workspace {
            cwd: "/ws".into(),
            roots: vec!["/ws".into()],
            home: "/home/dev".into(),
            ..Workspace::default()
        };
        let places = Lexical { workspace: &workspace };
        let file = |path: &str| Some(vec![PathScope::File(path.into())]);
        let tree = |path: &str| Some(vec![PathScope::Tree(path.into())]);
        let src = ["src".to_owned()];
        let table = [
            (&[][..], "a", TouchKind::File, file("/ws/a")),
            (&src, "../b", TouchKind::File, file("/ws/b")),
            (&src, "/etc/x", TouchKind::File, file("/etc/x")),
            (&[], "~/.ssh", TouchKind::Tree, tree("/home/dev/.ssh")),
            (&[], "~root/x", TouchKind::File, None),
            (&src, "a/*.rs", TouchKind::Glob, tree("/ws/src/a")),
            (&src, "*", TouchKind::Glob, tree("/ws/src")),
            (&[], "../*", TouchKind::Glob, tree("/")),
            (&[], "/*", TouchKind::Glob, tree("/")),
            (&[], "", TouchKind::Repository, tree("/ws")),
            (&src, "", TouchKind::Repository, None),
            (&[], "secrets/k", TouchKind::InRepository, file("/ws/secrets/k")),
        ];
        for (folder, path, kind, expected) in table {
            assert_eq!(places.look_up(folder, path, kind), expected, "{folder:?} {path} {kind:?}");
        }
    }
}
