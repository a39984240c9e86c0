//! What commands may read of a home directory, and where their caches go.

use ostler_core::permission::guarded_names;
use ostler_exec::follow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Toolchains and caches below a home directory: programs and what they have fetched, nothing of the person's.
const TOOLS: &str = "
    .cargo .rustup .npm .nvm .volta .fnm .bun .deno .pnpm-store .yarn .node-gyp .pyenv .virtualenvs .pipx .conda
    miniconda3 anaconda3 .rye .uv .rbenv .rvm .gem .bundle go .m2 .gradle .sdkman .java .jdks .kotlin .sbt .ivy2
    .coursier .dotnet .nuget .ghcup .cabal .stack .opam .elan .julia .mix .hex .asdf .mise .proto .nix-profile
    .nix-defexpr .linuxbrew .juliaup .android .pub-cache .dart .flutter .swiftpm .zig .cache .local/bin .local/lib
    .local/share/mise .local/share/pnpm .local/share/uv .local/share/virtualenvs .local/share/pipx .local/share/fnm
    .local/share/rtx .local/share/man .local/state/nix .config/git .config/npm .config/pip .config/uv .config/go
    .gitconfig .gitignore .gitignore_global .editorconfig .tool-versions .python-version
    .node-version .nvmrc .condarc .rustfmt.toml .clang-format .inputrc .terminfo";

/// Variables that name such directories, wherever they are.
const NAMED_BY: &str = "
    CARGO_HOME RUSTUP_HOME GOPATH GOROOT GOMODCACHE JAVA_HOME JDK_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME
    ANDROID_HOME ANDROID_SDK_ROOT SDKMAN_DIR NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR PNPM_HOME BUN_INSTALL DENO_DIR
    PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX PIPX_HOME POETRY_HOME RBENV_ROOT GEM_HOME COMPOSER_HOME DOTNET_ROOT
    NUGET_PACKAGES STACK_ROOT OPAMROOT MIX_HOME HEX_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR HOMEBREW_PREFIX
    CUDA_HOME SSL_CERT_FILE NODE_EXTRA_CA_CERTS";

/// Caches that are written by every build: moved to the private temporary directory.
const CACHES: [(&str, &str); 8] = [
    ("XDG_CACHE_HOME", "cache"),
    ("GOCACHE", "cache/go-build"),
    ("npm_config_cache", "cache/npm"),
    ("PIP_CACHE_DIR", "cache/pip"),
    ("UV_CACHE_DIR", "cache/uv"),
    ("CCACHE_DIR", "cache/ccache"),
    ("SCCACHE_DIR", "cache/sccache"),
    ("YARN_CACHE_FOLDER", "cache/yarn"),
];

/// These paths free of links, without what leads nowhere. A link in a root could be a command's, so it is not followed.
pub(super) fn real(paths: &[PathBuf], roots: &[PathBuf]) -> Vec<PathBuf> {
    let is_trusted = |link: &Path| !roots.iter().any(|root| link.starts_with(root));
    paths.iter().filter_map(|path| follow(path, is_trusted)).collect()
}

/// What of these exists, free of links. What lies in a root can be read anyway.
pub(super) fn readable(
    home: &Path,
    environment: &[(OsString, OsString)],
    roots: &[PathBuf],
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let below = TOOLS.split_ascii_whitespace().map(|name| home.join(name));
    let is_named = |name: &OsStr| NAMED_BY.split_ascii_whitespace().any(|named| name == named);
    let named = environment.iter().filter(|(name, _)| is_named(name));
    let named = named.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute());
    // Programs that the person's own search path names.
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let programs = path.iter().flat_map(std::env::split_paths).collect::<Vec<_>>();
    let programs = programs.into_iter().filter(|path| path.starts_with(home) && path != home);
    for path in below.filter(|_| home.is_absolute()).chain(named).chain(programs) {
        let in_root = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        if let Some(real) = follow(&path, |link| !in_root(link))
            && !in_root(&real)
            && real != home
            && !home.starts_with(&real)
            && !found.contains(&real)
        {
            found.push(real);
        }
    }
    found
}

/// What is hidden wherever it lies.
pub(super) fn hidden(home: &Path, ours: &[PathBuf]) -> Vec<PathBuf> {
    secrets(home).chain(ours.iter().cloned()).collect()
}

/// The person's secrets, if it is known where the home folder is.
pub(super) fn secrets(home: &Path) -> impl Iterator<Item = PathBuf> {
    guarded_names::secrets(home).filter(|_| home.is_absolute())
}

/// The environment with temporary files and caches in the private directory, and what is built in the project.
pub(super) fn with_temp(
    environment: &mut Vec<(OsString, OsString)>,
    temp: &Path,
    writable: &[PathBuf],
) {
    environment.retain(|(name, value)| {
        name != "CARGO_TARGET_DIR" || writable.iter().any(|root| Path::new(value).starts_with(root))
    });
    let set = [("TMPDIR", ""), ("TEMP", ""), ("TMP", "")].into_iter().chain(CACHES);
    for (name, below) in set {
        environment.retain(|(known, _)| known != name);
        let place = if below.is_empty() { temp.to_owned() } else { temp.join(below) };
        environment.push((name.into(), place.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_can_be_read_and_nothing_else_of_the_home() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().canonicalize().unwrap().join("home");
        for folder in [".cargo/bin", ".ssh", "Documents", "tools/bin", "opt/java", "ws/venv"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        let variable = |name: &str, value: PathBuf| (OsString::from(name), value.into_os_string());
        let path = format!("/usr/bin:{0}/tools/bin:{0}", home.display());
        let environment = [
            variable("JAVA_HOME", home.join("opt/java")),
            variable("SECRET_HOME", home.join("Documents")),
            variable("PATH", path.into()),
            variable("GOPATH", home.clone()),
            variable("CONDA_PREFIX", home.join("ws/venv")),
            variable("VIRTUAL_ENV", home.join("ws/env")),
        ];
        std::os::unix::fs::symlink("../Documents", home.join("ws/env")).unwrap();
        let roots = [home.join("ws")];
        let found = readable(&home, &environment, &roots);
        let names = [".cargo", "opt/java", "tools/bin"].map(|name| home.join(name));
        assert_eq!(found, names);
        let links = [home.join("ws/env"), home.join("ws/venv"), home.join("missing")];
        assert_eq!(real(&links, &roots), [home.join("ws/venv")]);
        let hidden = hidden(&home, &["/x/.ostler".into()]);
        assert!(hidden.contains(&home.join(".ssh")) && hidden.contains(&"/x/.ostler".into()));
        assert!(!found.iter().any(|path| hidden.contains(path)));
    }

    #[test]
    fn caches_follow_the_private_folder() {
        let mut environment = vec![("TMPDIR".into(), "/tmp".into()), ("A".into(), "b".into())];
        environment.push(("CARGO_TARGET_DIR".into(), "/elsewhere".into()));
        with_temp(&mut environment, Path::new("/private"), &["/ws".into()]);
        let get = |name: &str| environment.iter().filter(|(known, _)| known == name).count();
        assert_eq!((get("TMPDIR"), get("GOCACHE"), get("A")), (1, 1, 1));
        assert_eq!(get("CARGO_TARGET_DIR"), 0, "it could not be written to");
        assert!(environment.contains(&("TMPDIR".into(), "/private".into())));
    }
}
