//! The files of one commit of somebody else's repository, without the repository: nothing of it runs, neither while it is
//! fetched nor while its files are written.

use crate::error::WorktreeError;
use crate::git::Git;
use crate::object_id::ObjectId;
use std::path::{Path, PathBuf};

const REFERENCE: &str = "refs/ostler/clone";
/// Characters of a URL and of a reference.
const LONGEST: usize = 1_000;

/// Where to fetch from: a URL or a path, and what, behind a `#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSource {
    url: String,
    /// The only protocol that git may use.
    protocol: &'static str,
    /// A branch, a tag or a commit; none: what the other side has checked out.
    wanted: Option<String>,
}

/// What is written at most.
#[derive(Clone, Copy, Debug)]
pub struct CloneLimits {
    pub files: usize,
    pub bytes: u64,
}

impl GitSource {
    /// `https://…`, `ssh://…`, `git://…`, `user@host:path`, or a directory that is a repository; `#branch` may follow.
    ///
    /// # Errors
    /// In words, on everything else: other transports can run programs.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (url, wanted) = match text.rsplit_once('#') {
            Some((url, wanted)) => (url, Some(wanted.to_owned())),
            None => (text, None),
        };
        if let Some(wanted) = &wanted
            && !is_reference(wanted)
        {
            return Err(format!("\"{wanted}\" is not the name of a branch, a tag or a commit"));
        }
        let is_seen = |c: char| !c.is_control() && !c.is_whitespace() && c != '\\';
        if url.is_empty()
            || url.len() > LONGEST
            || url.starts_with('-')
            || !url.chars().all(is_seen)
        {
            return Err(format!("\"{url}\" is neither a URL nor a path of a repository"));
        }
        let protocol = protocol(url)?;
        Ok(GitSource { url: url.to_owned(), protocol, wanted })
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

fn protocol(url: &str) -> Result<&'static str, String> {
    const KNOWN: &str = "use https://, ssh://, git://, user@host:path or a directory";
    if url.starts_with('/') || url.starts_with("./") || url.starts_with("../") {
        return Ok("file");
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
        if host.is_empty() || host.starts_with('-') || user.starts_with('-') {
            return Err(format!("\"{url}\" names no host"));
        }
        return match scheme {
            "https" if user.is_empty() => Ok("https"),
            "https" => Err("a URL with a user name or a password would be stored; use a credential helper of git".into()),
            "ssh" if !user.contains(':') => Ok("ssh"),
            "git" if user.is_empty() => Ok("git"),
            _ => Err(format!("\"{scheme}://\" is not supported; {KNOWN}")),
        };
    }
    let refused = || Err(format!("\"{url}\" is not supported; {KNOWN}"));
    let Some((host, path)) = url.split_once(':') else { return refused() };
    let plain = |text: &str| {
        !text.is_empty()
            && !text.starts_with('-')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let is_ssh = host.split_once('@').is_some_and(|(user, host)| plain(user) && plain(host));
    // `ext::` and the like name programs.
    let is_plain_path = !path.is_empty() && !path.starts_with([':', '-']);
    if is_ssh && is_plain_path { Ok("ssh") } else { refused() }
}

fn is_reference(text: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-/+".contains(c);
    (1..=LONGEST).contains(&text.len())
        && !text.starts_with(['-', '/', '.', '+'])
        && !text.contains("..")
        && text.chars().all(legal)
}

/// Writes the files of a commit below `work`, an empty directory of ours, and returns where they are and which commit it is.
///
/// # Errors
/// If it cannot be fetched, has submodules, or is larger than the limits.
pub async fn clone_files(
    git: &Git,
    source: &GitSource,
    work: &Path,
    limits: CloneLimits,
) -> Result<(PathBuf, String), WorktreeError> {
    let (repository, files) = (work.join("repository.git"), work.join("files"));
    let failed = |error: std::io::Error| {
        WorktreeError::Clone(format!("cannot write {}: {error}", work.display()))
    };
    std::fs::create_dir(&files).map_err(failed)?;
    let init =
        git.at(work, "create a repository").args(["init", "--quiet", "--bare", "--template="]);
    init.arg(&repository).success().await?;
    let online = git.with_protocol(source.protocol);
    let wanted = source.wanted.as_deref().unwrap_or("HEAD");
    let fetch = online.at(&repository, "fetch the repository").slow().writing_at_most(limits.bytes);
    let fetch = fetch.args(["fetch", "--quiet", "--no-tags", "--depth=1", "--no-write-fetch-head"]);
    let fetch = fetch.args(["--no-recurse-submodules", "--no-auto-maintenance", "--refmap=", "--"]);
    fetch.arg(&source.url).arg(format!("+{wanted}:{REFERENCE}")).success().await?;
    let found = ObjectId::resolve(git, &repository, REFERENCE).await?;
    let commit =
        found.ok_or_else(|| WorktreeError::Clone("the repository has no commit".into()))?;
    check_tree(git, &repository, &commit.to_string(), limits).await?;
    let plain = git.without_user_settings();
    let read = plain.on_tree(&repository, &files, "read the commit");
    read.args(["read-tree", &commit.to_string()]).success().await?;
    let write = plain.on_tree(&repository, &files, "write the files").writing_at_most(limits.bytes);
    write.args(["checkout-index", "--all", "--quiet"]).success().await?;
    std::fs::remove_dir_all(&repository).map_err(failed)?;
    Ok((files, commit.to_string()))
}

/// Before anything is written.
async fn check_tree(
    git: &Git,
    repository: &Path,
    commit: &str,
    limits: CloneLimits,
) -> Result<(), WorktreeError> {
    let (mut files, mut bytes, mut submodule) = (0usize, 0u64, None);
    let list = git.at(repository, "list the files of the commit").slow();
    let list = list.args(["ls-tree", "-r", "-z", "-l", "--full-tree", commit]);
    list.each(|record| {
        let record = String::from_utf8_lossy(record);
        let (facts, path) = record.split_once('\t').unwrap_or((&record, ""));
        let mut facts = facts.split_whitespace();
        let kind = facts.nth(1).unwrap_or_default();
        if kind == "commit" {
            submodule.get_or_insert_with(|| path.to_owned());
        }
        files += 1;
        bytes += facts.nth(1).and_then(|size| size.parse::<u64>().ok()).unwrap_or(0);
        files <= limits.files && bytes <= limits.bytes
    })
    .await?;
    if let Some(path) = submodule {
        return Err(WorktreeError::Clone(format!(
            "{path:?} is a submodule; submodules are not fetched"
        )));
    }
    if files > limits.files || bytes > limits.bytes {
        let (most, size) = (limits.files, limits.bytes);
        return Err(WorktreeError::Clone(format!(
            "the repository is too large; the limit is {most} files and {size} bytes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transports_that_run_nothing_are_accepted() {
        for (text, protocol) in [
            ("https://example.com/a/b.git", "https"),
            ("https://example.com/a/b.git#v1.2", "https"),
            ("ssh://git@example.com:2222/a.git", "ssh"),
            ("git@example.com:a/b.git#main", "ssh"),
            ("git://example.com/a.git", "git"),
            ("/home/ann/a.git", "file"),
            ("../a.git", "file"),
        ] {
            assert_eq!(
                GitSource::parse(text).map(|source| source.protocol),
                Ok(protocol),
                "{text}"
            );
        }
        for text in [
            "",
            "ext::sh -c 'touch /tmp/x'",
            "ext::sh",
            "file::/a",
            "file:///a.git",
            "fd::7",
            "http://example.com/a.git",
            "ftp://example.com/a.git",
            "transport::https://example.com",
            "--upload-pack=touch x",
            "-u",
            "https://-oProxyCommand=x/a",
            "ssh://-oProxyCommand=x/a",
            "ssh://-oProxyCommand=x@host/a",
            "ssh://user:word@host/a",
            "-oProxyCommand=x@host:a",
            "git@-oProxyCommand=x:a",
            "git@host:-u",
            "git@host::a",
            "host:path",
            "https://user:token@example.com/a.git",
            "https:///a.git",
            "https://example.com/a b",
            "https://example.com/a\nb",
            "https://example.com/a.git#--upload-pack=x",
            "https://example.com/a.git#a..b",
            "https://example.com/a.git#",
            "https://example.com/a.git#+refs/heads/x:refs/heads/y",
            "https://example.com/a\u{1b}[2J",
            "C:\\a",
        ] {
            assert!(GitSource::parse(text).is_err(), "{text}");
        }
    }
}
