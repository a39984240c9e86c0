//! Runners of scripts and tests, and readers of manuals. Not plain: other shells, settings, directories and registries,
//! plugins that are loaded first, packages from elsewhere.

use super::{LIST, OptionList};

const RUN: &str = "-sdq --silent --quiet --verbose --loglevel= --if-present --workspaces --include-workspace-root --no-color \
    --color --color= --foreground-scripts --ignore-scripts --no-audit --no-fund --no-progress --progress= \
    --no-update-notifier --production --prod --dev --parallel --recursive --stream --bail --no-bail --coverage --ci \
    --watch --watch=false --watchAll=false --run --runInBand --json --host --mode= --port= --help";

const INSTALL: &str = "-sdqDESPOBf --silent --quiet --verbose --loglevel= --save --save-dev --save-prod --save-exact --save-optional \
    --save-peer --no-save --dev --exact --optional --peer --no-audit --no-fund --legacy-peer-deps --force \
    --ignore-scripts --omit= --include= --only= --production --prod --prefer-offline --offline --no-progress \
    --progress= --no-package-lock --package-lock-only --frozen-lockfile --no-frozen-lockfile --immutable \
    --lockfile-only --dry-run --no-color --color= --workspaces --json --depth= --no-optional --strict-peer-deps \
    --engine-strict --ignore-engines --non-interactive --latest --recursive --workspace-root --no-lockfile --help";

const SHOW: &str = "-agl -sdq --silent --quiet --loglevel= --all --json --long --parseable --depth= --prod --production --dev --omit= \
    --include= --no-color --color= --audit-level= --workspaces --recursive --dry-run --global --level= --groups= --pattern= \
    --help";

/// Not a package of the registry: an address, a repository, a directory, a file, or a package under another's name.
fn is_no_package(text: &str) -> bool {
    let name = match text.strip_prefix('@').and_then(|scoped| scoped.split_once('/')) {
        Some((_, name)) => name,
        None => text,
    };
    name.contains(['/', ':', '\\']) || name.starts_with('.') || name.ends_with(".tgz")
}

/// Names of scripts that a project defines for itself. Another word could be a program.
fn is_no_script(text: &str) -> bool {
    let stem = text.split_once(':').map_or(text, |(stem, _)| stem);
    let named = [
        "test",
        "t",
        "tests",
        "build",
        "lint",
        "start",
        "stop",
        "dev",
        "serve",
        "format",
        "fmt",
        "typecheck",
        "type-check",
        "types",
        "check",
        "ci",
        "e2e",
        "unit",
        "coverage",
        "docs",
        "clean",
        "preview",
        "generate",
        "codegen",
        "validate",
        "verify",
        "prettier",
        "storybook",
        "compile",
        "watch",
        "bench",
    ];
    !named.contains(&stem)
}

fn always(_: &str) -> bool {
    true
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &[
            "npm test",
            "npm t",
            "npm tst",
            "npm start",
            "npm stop",
            "npm restart",
            "npm run",
            "npm run-script",
            "npm rum",
            "npm urn",
            "pnpm test",
            "pnpm t",
            "pnpm start",
            "pnpm run",
            "pnpm run-script",
            "yarn run",
            "yarn test",
            "yarn start",
            "bun test",
            "bun run",
        ],
        plain: RUN,
        // `npm run env -- X` runs X.
        refused: |text| text == "env",
        ..LIST
    },
    OptionList {
        commands: &[
            "npm install",
            "npm i",
            "npm in",
            "npm ins",
            "npm inst",
            "npm add",
            "npm ci",
            "npm clean-install",
            "npm ic",
            "npm install-clean",
            "npm install-test",
            "npm it",
            "npm cit",
            "npm update",
            "npm up",
            "npm upgrade",
            "npm uninstall",
            "npm un",
            "npm remove",
            "npm rm",
            "npm r",
            "npm unlink",
            "npm dedupe",
            "npm ddp",
            "npm prune",
            "npm rebuild",
            "npm rb",
            "pnpm install",
            "pnpm i",
            "pnpm add",
            "pnpm update",
            "pnpm up",
            "pnpm remove",
            "pnpm rm",
            "pnpm uninstall",
            "pnpm un",
            "pnpm dedupe",
            "pnpm prune",
            "pnpm rebuild",
            "pnpm fetch",
            "yarn install",
            "yarn add",
            "yarn remove",
            "yarn upgrade",
            "yarn up",
            "yarn dedupe",
            "bun install",
            "bun i",
            "bun add",
            "bun remove",
            "bun rm",
            "bun update",
        ],
        plain: INSTALL,
        refused: is_no_package,
        ..LIST
    },
    OptionList {
        commands: &[
            "npm ls",
            "npm list",
            "npm la",
            "npm ll",
            "npm outdated",
            "npm view",
            "npm show",
            "npm info",
            "npm v",
            "npm audit",
            "npm fund",
            "npm why",
            "npm explain",
            "npm root",
            "npm prefix",
            "npm ping",
            "npm whoami",
            "npm doctor",
            "npm query",
            "npm search",
            "npm sbom",
            "npm find-dupes",
            "npm pack",
            "npm pkg get",
            "npm config get",
            "npm config list",
            "npm config ls",
            "npm get",
            "npm dist-tag ls",
            "npm cache verify",
            "pnpm ls",
            "pnpm list",
            "pnpm la",
            "pnpm ll",
            "pnpm outdated",
            "pnpm why",
            "pnpm audit",
            "pnpm root",
            "pnpm licenses",
            "pnpm store status",
            "yarn list",
            "yarn why",
            "yarn outdated",
            "yarn info",
            "yarn audit",
            "yarn licenses",
            "yarn workspaces list",
            "yarn npm audit",
            "yarn npm info",
            "bun outdated",
            "bun pm ls",
        ],
        plain: SHOW,
        refused: |text| text == "fix" || is_no_package(text),
        ..LIST
    },
    OptionList {
        commands: &["npm"],
        plain: "-vh -sdq --silent --quiet --version --help --no-color",
        // Every subcommand that is harmless has a list.
        first: Some(always),
        ..LIST
    },
    OptionList {
        commands: &["pnpm", "yarn"],
        plain: "-vhr --recursive --silent --version --help --no-color --parallel --stream --frozen-lockfile --immutable \
            --offline --prefer-offline --production --non-interactive --ignore-scripts --ignore-engines --force --json \
            --coverage --watch --watch=false --ci --run --runInBand --verbose --bail --filter= -F:",
        first: Some(is_no_script),
        // `pnpm -r exec X`
        refused: |text| matches!(text, "exec" | "dlx" | "create"),
        ..LIST
    },
    OptionList {
        commands: &["bun"],
        plain: "-vh --version --revision --help",
        first: Some(always),
        ..LIST
    },
    OptionList {
        commands: &["pytest", "py.test"],
        plain: "-xqvslh -k: -m: -n: -r: -W: -V --verbose --quiet --exitfirst --maxfail= --lf --last-failed --ff --failed-first \
            --nf --new-first --sw --stepwise --stepwise-skip --sw-skip --tb= --durations= --durations-min= --co \
            --collect-only --no-header --no-summary --color= --code-highlight= --disable-warnings \
            --disable-pytest-warnings --showlocals --no-showlocals --capture= --show-capture= --full-trace --verbosity= \
            --setup-show --setup-only --setup-plan --fixtures --fixtures-per-test --markers --strict --strict-markers \
            --strict-config --ignore= --ignore-glob= --deselect= --cache-clear --cache-show --import-mode= \
            --doctest-modules --doctest-glob= --doctest-continue-on-collection-errors --runxfail --trace-config \
            --continue-on-collection-errors --pyargs --log-level= --log-cli-level= --log-format= --no-cov --cov --cov= \
            --cov-report= --cov-branch --cov-append --cov-fail-under= --cov-context= --numprocesses= --dist= \
            --maxprocesses= --forked --timeout= --timeout-method= --session-timeout= --reruns= --reruns-delay= --count= \
            --asyncio-mode= --anyio-mode= --random-order --randomly-seed= --randomly-dont-reorganize --seed= --snapshot-update \
            --benchmark-* !--benchmark-save* !--benchmark-storage* !--benchmark-json* !--benchmark-cprofile* \
            --hypothesis-* --create-db --reuse-db --nomigrations --no-migrations --migrations --headed --slow --runslow \
            --run-slow --integration --testmon --picked --junitxml= --junit-xml= --junit-prefix= --report-log= --exitstatus \
            --version --help",
        refused: |text| text.starts_with('@') || text.contains("annotate:") && text.contains(".."),
        ..LIST
    },
    OptionList {
        commands: &["man", "apropos", "whatis"],
        plain: "-kfwaW -s: -S: --where --path --apropos --whatis --all --sections= --regex --wildcard --names-only \
            --version --usage --help",
        refused: |text| text.contains('/') || text.contains('<'),
        ..LIST
    },
    OptionList {
        commands: &["docker", "podman", "nerdctl"],
        plain: "-aqnfls --all --quiet --filter= --format= --no-trunc --tail= --since= --until= --timestamps --follow --no-stream \
            --size --last= --latest --details --time= --signal= --force --digests --human --type= --version --help",
        first: Some(|text| {
            !matches!(
                text,
                "ps" | "images"
                    | "logs"
                    | "inspect"
                    | "version"
                    | "info"
                    | "stats"
                    | "top"
                    | "port"
                    | "diff"
                    | "history"
                    | "search"
                    | "events"
                    | "container"
                    | "image"
                    | "network"
                    | "volume"
                    | "system"
                    | "start"
                    | "stop"
                    | "restart"
                    | "kill"
                    | "rm"
                    | "rmi"
                    | "pull"
                    | "tag"
                    | "rename"
                    | "wait"
                    | "pause"
                    | "unpause"
            )
        }),
        refused: |text| {
            matches!(
                text,
                "run"
                    | "create"
                    | "exec"
                    | "build"
                    | "cp"
                    | "export"
                    | "save"
                    | "load"
                    | "import"
                    | "push"
                    | "connect"
                    | "commit"
                    | "update"
                    | "dial-stdio"
            )
        },
        ..LIST
    },
];
