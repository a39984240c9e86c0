//! Package managers. Not plain: other sources, other places, other interpreters, and subcommands that run or publish.

use super::{LIST, OptionList};

/// A source beside the index: an address, a repository, a file, or a requirement that names one.
fn is_a_source(text: &str) -> bool {
    let value = text.split_once('=').map_or(text, |(_, value)| value);
    let schemes =
        ["git+", "hg+", "svn+", "bzr+", "http:", "https:", "ftp:", "file:", "ssh:", "git:"];
    schemes.iter().any(|scheme| text.starts_with(scheme) || value.starts_with(scheme))
        || text.contains("://")
        || text.contains(" @")
        || text.contains("@ ")
        || text.contains("@git")
        || text.contains("@file")
}

/// Subcommands of cargo that are what they are called, or a well-known one. Another one is a program of its own.
const OF_CARGO: &str = " b bench build c check clean clippy d doc fetch fmt generate-lockfile help info init \
    locate-project metadata new package pkgid r read-manifest remove report rm run search t test tree update vendor \
    verify-project version add audit deny expand hack insta llvm-cov machete miri nextest outdated tarpaulin udeps \
    xtask ";

/// Subcommands of cargo that install, publish, change sources or sign in.
fn of_cargo(text: &str) -> bool {
    let named = [
        "install",
        "uninstall",
        "publish",
        "yank",
        "login",
        "logout",
        "owner",
        "fix",
        "bisect-rustc",
    ];
    text.starts_with('+') || named.contains(&text)
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &[
            "pip install",
            "pip3 install",
            "pip download",
            "pip3 download",
            "pip wheel",
            "pip3 wheel",
        ],
        plain: "-UqvI -r: -c: --upgrade --quiet --verbose --requirement= --constraint= --no-deps --pre --user \
            --no-cache-dir --disable-pip-version-check --no-input --no-color --progress-bar= --break-system-packages \
            --upgrade-strategy= --only-binary= --no-binary= --require-hashes --dry-run --ignore-installed \
            --force-reinstall --prefer-binary --no-build-isolation --no-warn-script-location --retries= --timeout= \
            --ignore-requires-python --no-compile --compile --use-pep517 --version --help",
        refused: is_a_source,
        ..LIST
    },
    OptionList {
        commands: &["pip", "pip3"],
        plain: "-UqvIyVhlfo -r: -c: --upgrade --quiet --verbose --requirement= --constraint= --no-deps --pre --user \
            --no-cache-dir --disable-pip-version-check --no-input --no-color --progress-bar= --break-system-packages --yes \
            --outdated --uptodate --local --format= --files --not-required --exclude= --all --version --help",
        refused: |text| is_a_source(text) || matches!(text, "config" | "cache"),
        ..LIST
    },
    OptionList {
        commands: &[
            "uv",
            "poetry",
            "pdm",
            "hatch",
            "pipenv",
            "rye",
            "conda",
            "mamba",
            "micromamba",
        ],
        plain: "-qvVhyn -r: -c: -n: -G: --quiet --verbose --yes --no-dev --dev --all-extras --extra= --group= --with= \
            --without= --only= --no-root --sync --frozen --locked --offline --no-sync --upgrade --no-cache --dry-run \
            --no-interaction --no-ansi --requirement= --all-groups --tree --outdated --latest --no-deps --name= --json \
            --check --resolution= --no-progress --color= --version --help",
        refused: |text| {
            is_a_source(text)
                || matches!(
                    text,
                    "run"
                        | "tool"
                        | "publish"
                        | "self"
                        | "config"
                        | "source"
                        | "exec"
                        | "shell"
                        | "python"
                        | "env"
                        | "activate"
                )
        },
        ..LIST
    },
    OptionList {
        commands: &[
            "uv run",
            "poetry run",
            "pdm run",
            "hatch run",
            "pipenv run",
            "rye run",
            "conda run",
        ],
        plain: "-qv --quiet --verbose --frozen --locked --offline --no-sync --all-extras --no-dev --dev",
        // What follows is a command of its own.
        refused: |text| !text.starts_with('-'),
        until_operand: 1,
        ..LIST
    },
    OptionList {
        commands: &["cargo"],
        plain: "-vqrhVnd -p: -j: -F: -e: -i: -f: -E: -P: --verbose --quiet --package= --workspace --all --exclude= --lib --bins --bin= \
            --examples --example= --tests --test= --benches --bench= --all-targets --doc --no-run --no-fail-fast \
            --jobs= --release --profile= --features= --all-features --no-default-features --target= --locked --offline \
            --frozen --message-format= --color= --no-deps --keep-going --ignore-rust-version --future-incompat-report \
            --timings --check --list --depth= --edges= --invert? --duplicates --prefix= --format= --charset= --no-dedupe \
            --format-version= --filter-platform= --document-private-items --dry-run --precise= --recursive --dev --build \
            --optional --rename= --limit= --retries= --no-capture --nocapture --failure-output= --success-output= \
            --status-level= --final-status-level= --partition= --test-threads= --run-ignored= --fail-fast --max-fail= \
            --aggressive --update --vers= --edition= --name= --vcs=none --allow-dirty --no-verify --summary --html \
            --ignore-tests --version --help",
        first: Some(|text| !OF_CARGO.contains(&format!(" {text} "))),
        refused: of_cargo,
        ..LIST
    },
    OptionList {
        commands: &["gem", "bundle", "bundler"],
        plain: "-vqN --verbose --quiet --no-document --version= --jobs= --retry= --local --without= --with= --frozen \
            --deployment --all --outdated --help",
        refused: |text| {
            is_a_source(text)
                || matches!(
                    text,
                    "exec"
                        | "config"
                        | "console"
                        | "open"
                        | "push"
                        | "sources"
                        | "cert"
                        | "signin"
                        | "plugin"
                )
        },
        ..LIST
    },
    OptionList {
        commands: &["composer"],
        plain: "-nqvoD --no-interaction --quiet --verbose --no-dev --dev --prefer-dist --optimize-autoloader --no-progress \
            --no-scripts --no-plugins --dry-run --with-all-dependencies --tree --direct --outdated --latest --format= \
            --version --help",
        refused: |text| {
            matches!(
                text,
                "exec"
                    | "run-script"
                    | "run"
                    | "global"
                    | "config"
                    | "create-project"
                    | "init"
                    | "self-update"
            )
        },
        ..LIST
    },
    OptionList {
        commands: &["apt", "apt-get", "apt-cache", "dnf", "yum", "apk", "pacman", "zypper"],
        plain: "-yqv --yes --quiet --verbose --no-install-recommends --assume-yes --installed --upgradable --json --formula \
            --cask --no-cache --version --help",
        refused: |text| is_a_source(text) || text.starts_with('/') || text.starts_with("./"),
        ..LIST
    },
    OptionList {
        // A formula with a slash comes from a tap: code of somebody else.
        commands: &["brew"],
        plain: "-qvnfs1l --quiet --verbose --dry-run --force --formula --formulae --cask --casks --json --json= --versions --installed \
            --greedy --prefix --cellar --cache --full-name --eval-all --desc --name --description --version --help",
        refused: |text| is_a_source(text) || text.contains('/'),
        first: Some(|text| {
            !matches!(
                text,
                "install"
                    | "uninstall"
                    | "remove"
                    | "rm"
                    | "upgrade"
                    | "update"
                    | "outdated"
                    | "list"
                    | "ls"
                    | "leaves"
                    | "info"
                    | "search"
                    | "deps"
                    | "uses"
                    | "desc"
                    | "config"
                    | "doctor"
                    | "cleanup"
                    | "pin"
                    | "unpin"
                    | "link"
                    | "unlink"
                    | "reinstall"
                    | "fetch"
            )
        }),
        ..LIST
    },
];
