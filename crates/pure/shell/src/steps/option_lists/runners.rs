//! Test runners and runners of tasks. Not plain: code that is loaded first, other settings, directories and shells,
//! files that are written.

use super::{LIST, OptionList};

/// A reporter, environment or preset that is a file.
fn is_file(text: &str) -> bool {
    let value = match text.split_once('=') {
        Some((option, value)) if option.starts_with('-') => value,
        _ => return false,
    };
    value.starts_with(['.', '/'])
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &["jest", "vitest", "vitest run", "ava", "tap"],
        plain: "-ivubw -t: -g: -f: -h --testNamePattern= --testPathPattern= --testPathPatterns= --grep= --fgrep= --invert --bail \
            --bail= --ci --coverage --coverage=false --no-coverage --verbose --silent --watch --watch=false --watchAll \
            --watchAll=false --run --runInBand --maxWorkers= --maxConcurrency= --onlyChanged --onlyFailures --changedSince= \
            --updateSnapshot --update --passWithNoTests --forceExit --detectOpenHandles --listTests --json --colors --color \
            --no-color --expand --logHeapUsage --showConfig --clearCache --no-cache --timeout= --testTimeout= --retries= \
            --retry= --slow= --parallel --jobs= --recursive --exit --dry-run --forbid-only --no-threads --no-isolate \
            --isolate=false --hideSkippedTests --findRelatedTests --runTestsByPath --shard= --randomize --seed= --version --help",
        ..LIST
    },
    OptionList {
        // Not -u: it names code that defines how tests are written.
        commands: &["mocha"],
        plain: "-ibwcsAC -t: -g: -f: -j: -h --grep= --fgrep= --invert --bail --watch --timeout= --slow= --retries= --parallel \
            --jobs= --recursive --exit --dry-run --forbid-only --forbid-pending --color --no-color --colors --no-colors \
            --check-leaks --full-trace --diff --no-diff --inline-diffs --sort --async-only --reporter= --ui= --list-reporters \
            --list-interfaces --pass-on-failing-test-suite --fail-zero --version --help",
        names: &["--reporter", "--ui"],
        ..LIST
    },
    OptionList {
        commands: &["rspec"],
        plain: "-bdnpw -e: -t: -f: -P: -E: --example= --tag= --format= --backtrace --color --no-color --force-color --fail-fast \
            --fail-fast= --no-fail-fast --only-failures --next-failure --order= --seed= --profile --profile= --dry-run \
            --warnings --pattern= --exclude-pattern= --bisect --version --help",
        ..LIST
    },
    OptionList {
        commands: &["rake"],
        plain: "-nqstvTAPDW -j: -m --dry-run --quiet --silent --trace --verbose --tasks --all --prereqs --describe= --jobs= \
            --multitask --version --help",
        refused: |text| text.contains('='),
        ..LIST
    },
    OptionList {
        commands: &["rails", "bin/rails"],
        plain: "-v --verbose --version --help",
        first: Some(|text| {
            !matches!(
                text.split(':').next(),
                Some("test" | "t" | "routes" | "stats" | "about" | "zeitwerk")
            )
        }),
        ..LIST
    },
    OptionList {
        // Not -f of nox: it names a file of sessions.
        commands: &["nox"],
        plain: "-vlrRxN -e: -s: -k: -t: -p: --verbose --list --sessions= --session= --keywords= --tags= --python= --no-color \
            --force-color --reuse-existing-virtualenvs --no-install --stop-on-first-error --error-on-missing-interpreters \
            --no-error-on-missing-interpreters --json --version --help",
        ..LIST
    },
    OptionList {
        commands: &["tox"],
        plain: "-qvlrap -e: -s: -k: -t: -m: -f: --quiet --verbose --recreate --listenvs --list --sessions= --parallel \
            --skip-missing-interpreters --no-color --colored= --notest --reuse-existing-virtualenvs --version --help",
        first: Some(|text| matches!(text, "exec" | "devenv" | "e" | "d" | "quickstart" | "q")),
        ..LIST
    },
    OptionList {
        commands: &["just", "task", "mask", "invoke", "inv"],
        plain: "-nqvlp --dry-run --dry --quiet --verbose --list --list-all --summary --show= --dump --evaluate --variables --color= \
            --no-color --silent --parallel --force --groups --version --help",
        refused: |text| text.contains('='),
        ..LIST
    },
    OptionList {
        commands: &["pre-commit", "pre-commit run"],
        plain: "-av --all-files --verbose --show-diff-on-failure --files= --color= --hook-stage= --version --help",
        refused: |text| {
            matches!(
                text,
                "install"
                    | "uninstall"
                    | "try-repo"
                    | "autoupdate"
                    | "init-templatedir"
                    | "migrate-config"
            )
        },
        ..LIST
    },
    OptionList {
        commands: &["playwright", "playwright test", "cypress", "cypress run"],
        plain: "-gx -g: -j: --grep= --grep-invert= --project= --workers= --headed --headless --retries= --repeat-each= --timeout= \
            --max-failures= --list --quiet --shard= --last-failed --pass-with-no-tests --spec= --e2e --component \
            --reporter=list --reporter=line --reporter=dot --version --help",
        first: Some(|text| {
            matches!(
                text,
                "install"
                    | "codegen"
                    | "open"
                    | "install-deps"
                    | "uninstall"
                    | "run-server"
                    | "show-trace"
            )
        }),
        ..LIST
    },
    OptionList {
        commands: &[
            "webpack", "vite", "rollup", "esbuild", "parcel", "next", "nuxt", "astro", "remix",
            "tsup", "turbo", "nx", "lerna",
        ],
        plain: "-wdht: --watch --mode= --mode --progress --json --stats --minify --sourcemap --host --port= --open=false --force \
            --logLevel= --clearScreen --emptyOutDir --debug --turbo --turbopack --filter= --projects= --parallel= --parallel \
            --verbose --all --affected --skip-nx-cache --no-cache --dry-run --no-color --bundle --version --help",
        refused: |text| {
            is_file(text)
                || matches!(
                    text,
                    "exec" | "gen" | "g" | "generate" | "migrate" | "publish" | "login" | "link"
                )
        },
        ..LIST
    },
];
