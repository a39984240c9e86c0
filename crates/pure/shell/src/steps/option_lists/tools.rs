//! Checkers, formatters, test runners and converters. Not plain: plugins, hooks, other configuration, changes in place.

use super::{LIST, OptionList, Style};

/// Operands of ImageMagick that name a script, a file of words, a command or a host.
fn of_magick(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let named = [
        "msl:",
        "mvg:",
        "ephemeral:",
        "https:",
        "http:",
        "ftp:",
        "url:",
        "vid:",
        "win:",
        "x:",
        "show:",
        "print:",
        "text:",
        "file:",
    ];
    text.starts_with(['@', '|'])
        || text.contains(":@")
        || text.contains(":|")
        || named.iter().any(|name| text.starts_with(name))
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &[
            "pylint",
            "flake8",
            "mypy",
            "pyright",
            "basedpyright",
            "pyflakes",
            "pycodestyle",
            "bandit",
            "vulture",
        ],
        plain: "-qvrV -j: -d: -e: -E -f: -m: -p: --disable= --enable= --errors-only --reports= --output-format= --jobs= --score= \
            --max-line-length= --select= --ignore= --extend-ignore= --extend-select= --exclude= --count --statistics \
            --show-source --strict --ignore-missing-imports --no-error-summary --pretty --show-error-codes --no-color-output \
            --follow-imports= --python-version= --namespace-packages --explicit-package-bases --warn-* --disallow-* --no-* \
            --package= --module= --verbose --quiet --outputjson --stats --level= --version --help",
        ..LIST
    },
    OptionList {
        commands: &["black", "isort", "autopep8", "yapf", "ruff", "ruff check", "ruff format"],
        plain: "-qvlSpr -l: -t: --fix --check --check-only --diff --quiet --verbose --line-length= --target-version= --skip-* --fast \
            --safe --color --no-color --select= --ignore= --extend-select= --extend-ignore= --exclude= --extend-exclude= \
            --output-format= --statistics --exit-zero --no-cache --show-files --preview --profile= --recursive --version --help",
        ..LIST
    },
    OptionList {
        commands: &[
            "eslint",
            "tslint",
            "stylelint",
            "prettier",
            "biome",
            "biome check",
            "biome lint",
            "standard",
            "xo",
        ],
        plain: "-ql --quiet --ext= --check --list-different --max-warnings= --no-color --color --format= --no-eslintrc \
            --report-unused-disable-directives --no-error-on-unmatched-pattern --ignore-pattern= --no-inline-config \
            --log-level= --loglevel= --parser=typescript --parser=babel --parser=json --tab-width= --single-quote --no-semi \
            --print-width= --version --help",
        // A formatter can be a file.
        names: &["--format"],
        ..LIST
    },
    OptionList {
        commands: &[
            "rubocop",
            "golangci-lint",
            "staticcheck",
            "shellcheck",
            "hadolint",
            "yamllint",
            "markdownlint",
            "actionlint",
        ],
        plain: "-vqlDLx -s: -e: -f: -S: -d: -P: -L --format= --only= --except= --display-cop-names --parallel --no-color --level= \
            --no-progress --severity= --shell= \
            --exclude= --include= --enable= --disable= --timeout= --fast --verbose --quiet --strict --version --help",
        ..LIST
    },
    OptionList {
        // Not -d: a setting of PHP can name code that runs first. A standard can be a directory of code.
        commands: &["phpstan", "phpunit", "psalm", "phpcs", "phpcbf"],
        plain: "-vqns -l: --no-progress --no-interaction --testdox --stop-on-failure --stop-on-error --colors --colors= --filter= \
            --testsuite= --group= --exclude-group= --standard= --severity= --level= --memory-limit= --error-format= --report= \
            --list-tests --list-suites --no-coverage --no-cache --threads= --show-info= --no-color --ansi --no-ansi --debug \
            --verbose --quiet --version --help",
        names: &["--standard", "--error-format", "--report"],
        ..LIST
    },
    OptionList {
        commands: &["clang-tidy", "clang-format", "cppcheck", "iwyu", "astyle", "indent"],
        style: Style::OneDash,
        plain: "-p: -checks: -quiet -header-filter: -style=llvm -style=google -style=file -dry-run -n -Werror --enable=* --std=* \
            --language=* --quiet --error-exitcode=* --inline-suppr --suppress=* --force -j* -q -v -I* -D* --max-configs=* \
            --platform=* --xml -version -help",
        ..LIST
    },
    OptionList {
        commands: &["tsc", "vue-tsc"],
        style: Style::OneDash,
        plain: "--noEmit --pretty --pretty=* --skipLibCheck --strict -p: --project: --listFiles --showConfig --incremental \
            --target: --module: --jsx: --lib: --moduleResolution: --esModuleInterop --noErrorTruncation --diagnostics \
            -v --version -h --help -b --build",
        ..LIST
    },
    OptionList {
        commands: &["pandoc"],
        plain: "-sN -f: -t: -r: -w: -o: -M: -V: --standalone --toc --from= --to= --output= --wrap= --columns= --number-sections \
            --metadata= --variable= --highlight-style= --list-* --version --help",
        refused: |text| text.ends_with(".lua") || text.contains("://"),
        ..LIST
    },
    OptionList {
        commands: &[
            "pdflatex", "xelatex", "lualatex", "latex", "tex", "pdftex", "luatex", "latexmk",
            "bibtex", "biber",
        ],
        style: Style::OneDash,
        plain: "-interaction=* -halt-on-error -file-line-error -output-directory=* -outdir=* -jobname=* -synctex=* -pdf -quiet \
            -silent -c -C -f -g -draftmode -version -no-shell-escape",
        refused: |text| text.starts_with('\\') || text.starts_with('&') || text.starts_with('|'),
        ..LIST
    },
    OptionList {
        commands: &["convert", "magick", "mogrify", "identify", "composite", "montage"],
        style: Style::OneDash,
        plain: "-resize: -quality: -rotate: -crop: -strip -auto-orient -format: -verbose -ping -density: -background: -flatten \
            -gravity: -extent: -colorspace: -depth: -alpha: -flip -flop -trim -version -thumbnail: -geometry: -delay: -loop:",
        refused: of_magick,
        ..LIST
    },
    OptionList {
        commands: &["dot", "neato", "fdp", "circo", "twopi"],
        style: Style::OneDash,
        plain: "-T* -K* -G* -N* -E* -o* -v -q* -V",
        ..LIST
    },
    OptionList {
        commands: &["fzf", "sk", "peco"],
        plain: "-im0 -f: -q: -d: -n: -1 --filter= --query= --exact --no-sort --reverse --multi --select-1 --exit-0 --version --help",
        ..LIST
    },
    OptionList {
        commands: &["ag", "ack", "ugrep", "ug", "sift", "pt"],
        plain: "-ilLnrRcwvHhQsSuao0 -A: -B: -C: -m: -G: -g: -e: --ignore-case --files-with-matches --count --literal --nocolor \
            --no-color --nogroup --hidden --ignore= --ignore-dir= --type= --smart-case --word-regexp --version --help",
        ..LIST
    },
    OptionList {
        commands: &["cloc", "scc", "tokei", "sloccount"],
        plain: "-w -e: -t: -s: -f: -i: --by-file --quiet --json --csv --md --sum-one --exclude-dir= --include-lang= --exclude-lang= \
            --vcs=git --exclude= --files --sort= --output= --hidden --no-ignore --version --help",
        ..LIST
    },
    OptionList {
        commands: &["sphinx-build", "mkdocs", "hugo", "jekyll", "mdbook", "doxygen"],
        plain: "-qvEanW -b: -j: -d: -s: -D --quiet --verbose --strict --clean --dirty --draft --drafts --buildDrafts --minify \
            --keep-going --version --help",
        ..LIST
    },
    OptionList {
        commands: &["ffmpeg", "ffprobe", "ffplay"],
        style: Style::OneDash,
        plain: "-i: -y -n -hide_banner -loglevel: -v: -c: -c:v: -c:a: -codec: -vf: -af: -ss: -t: -to: -r: -s: -b:v: -b:a: -crf: \
            -preset: -an -vn -f: -map: -vframes: -frames:v: -q:v: -q:a: -pix_fmt: -threads: -shortest -show_streams \
            -show_format -show_entries: -select_streams: -of: -print_format: -movflags: -version",
        refused: |text| {
            let text = text.to_ascii_lowercase();
            [
                "concat:", "http:", "https:", "file:", "subfile", "tcp:", "udp:", "pipe:", "data:",
                "crypto", "movie=",
            ]
            .iter()
            .any(|start| text.contains(start))
        },
        ..LIST
    },
];
